"""A git worktree for a child: made, shown, gone on with, and taken away without losing work."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from cuekit import files
from cuekit.config import trust
from cuekit.errors import CuekitError
from cuekit.service import cleanup, doctor_worktrees, lookup
from cuekit.service.doctor_check import Situation
from cuekit.service.request import SubmitRequest
from cuekit.service.result import result
from cuekit.service.submit import resolve, submit
from cuekit.store.listing import Filter
from tests.support.git import commit, git, make_repository
from tests.support.tmux import TmuxServer
from tests.support.workplace import Workplace

IDENTITY = "git config user.name Ann; git config user.email ann@example.com; "


@pytest.fixture
def place(workplace: Workplace) -> Workplace:
    make_repository(workplace.project, **{"sub/b.txt": "b\n"})
    return workplace


def run(place: Workplace, objective: str, **values: Any) -> str:
    """A task in a worktree that has ended; its id."""
    task_id = place.submit(objective, **({"worktree": ""} | values))
    place.ended(task_id)
    return task_id


def tree_of(place: Workplace, task_id: str) -> Path:
    return place.project / ".cuekit" / "worktrees" / task_id


def worktrees(place: Workplace) -> list[str]:
    listed = git(place.project, "worktree", "list", "--porcelain").splitlines()
    return [line.removeprefix("worktree ") for line in listed if line.startswith("worktree ")][1:]


def branches(place: Workplace) -> list[str]:
    return git(place.project, "branch", "--format=%(refname:short)").splitlines()


def delete(place: Workplace, task_id: str, **values: bool) -> tuple[list[str], list[str]]:
    done = cleanup.delete([task_id], place.env, **values)
    return done.removed, [it["reason"] for it in done.kept]


def refusal(place: Workplace, **values: Any) -> CuekitError:
    said: dict[str, Any] = {"objective": "true", "agent_kind": "shell", "worktree": ""}
    said |= {"cwd": str(place.project)} | values
    with pytest.raises(CuekitError) as caught:
        submit(SubmitRequest(**said), place.env)
    assert place.tasks() == []
    return caught.value


def test_the_child_works_in_a_worktree_and_its_files_stay_at_the_origin(place: Workplace) -> None:
    task_id = run(place, "pwd; git branch --show-current", cwd=str(place.project / "sub"))
    tree = tree_of(place, task_id)
    task = place.task(task_id)
    assert place.transcript(task_id).decode().split("\r\n")[:2] == [
        str(tree / "sub"),
        f"cuekit/{task_id}",
    ]
    assert task.cwd == str(tree / "sub")
    assert task.task_dir == str(place.project / "sub" / ".cuekit" / "tasks" / task_id)
    wanted = {
        "path": str(tree),
        "branch": f"cuekit/{task_id}",
        "origin": str(place.project),
    }
    assert place.status(task_id)["worktree"] == wanted
    listed = place.command("task", "list", "--format", "json").communicate(timeout=60)[0]
    assert [it["worktree"] for it in json.loads(listed)["tasks"]] == [wanted]
    assert git(place.project, "status", "--porcelain") == ""


def test_the_result_tells_what_changed_committed_or_not(place: Workplace) -> None:
    task_id = run(
        place,
        IDENTITY + "echo three >> a.txt; git commit -qam more; git mv sub/b.txt c.txt; "
        "printf 'x\\ny' > 'new file'; ln -s /etc/passwd link; rm -f gone",
    )
    tree = tree_of(place, task_id)
    found = result(task_id, place.env)
    assert found["files_changed"] == [
        {"path": f"{tree}/a.txt", "kind": "update"},
        {"path": f"{tree}/c.txt", "kind": "rename", "from": f"{tree}/sub/b.txt"},
        {"path": f"{tree}/link", "kind": "add"},
        {"path": f"{tree}/new file", "kind": "add"},
    ]
    assert found["files_changed_source"] == "git"
    assert found["files_changed_note"] is None
    assert found["diff_stat"] == {"files": 4, "insertions": 4, "deletions": 0}
    said = place.command("task", "result", task_id).communicate(timeout=60)[0]
    assert "diff        4 files, +4 -0\n" in said
    assert f"worktree    {tree} on cuekit/{task_id}" in said


def test_names_of_every_kind_are_told_and_act_on_nothing(place: Workplace) -> None:
    tree = tree_of(place, task_id := run(place, "true"))
    names = [b"two\nlines", b'"quoted"', b"\xff raw", "päth".encode(), b"-dash", b"t\tab \\ "]
    for name in names:
        (Path(os.fsdecode(os.fsencode(tree) + b"/" + name))).write_text("x")
    found = result(task_id, place.env)
    wanted = [f"{tree}/{name.decode('utf-8', 'backslashreplace')}" for name in sorted(names)]
    assert [it["path"] for it in found["files_changed"]] == wanted
    done = place.command("task", "result", task_id, "--format", "json")
    assert json.loads(done.communicate(timeout=60)[0])["files_changed"] == found["files_changed"]
    said = place.command("task", "result", task_id).communicate(timeout=60)[0]
    assert sum(line.startswith("  changed") for line in said.splitlines()) == len(names)


def test_an_untouched_worktree_goes_with_its_task_and_its_branch(place: Workplace) -> None:
    task_id = run(place, "true")
    assert worktrees(place) == [str(tree_of(place, task_id))]
    assert delete(place, task_id, dry_run=True) == ([task_id], [])
    assert worktrees(place) == [str(tree_of(place, task_id))]
    assert delete(place, task_id) == ([task_id], [])
    assert (worktrees(place), branches(place)) == ([], ["main"])
    assert not tree_of(place, task_id).exists()


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("work", ["echo x > new", "rm a.txt", "echo x >> a.txt; git add a.txt"])
def test_what_is_not_committed_is_kept(place: Workplace, work: str, dry_run: bool) -> None:
    task_id = run(place, work)
    tree = tree_of(place, task_id)
    name = "new" if "new" in work else "a.txt"
    reason = f"its worktree {tree} has changes that are not committed: {name}"
    assert delete(place, task_id, dry_run=dry_run) == ([], [reason])
    assert tree.exists()
    assert place.task(task_id).ended
    said = place.command("task", "delete", task_id).communicate(timeout=60)[0]
    assert "--discard-worktree" in said


def test_commits_that_are_nowhere_else_are_kept_until_they_are_merged(place: Workplace) -> None:
    task_id = run(place, IDENTITY + "echo x > new; git add new; git commit -qm new")
    reason = f"its branch cuekit/{task_id} has 1 commit that is on no other branch or remote"
    wanted = Filter(session_id=place.task(task_id).session_id)
    kept = cleanup.cleanup(place.env, wanted=wanted).kept
    assert kept == [{"task_id": task_id, "reason": reason}]
    git(place.project, "merge", "-q", f"cuekit/{task_id}")
    assert cleanup.cleanup(place.env, wanted=wanted).removed == [task_id]
    assert (worktrees(place), branches(place)) == ([], ["main"])


def test_a_detached_commit_is_kept(place: Workplace) -> None:
    work = "git checkout -q --detach; git commit -q --allow-empty -m lost"
    task_id = run(place, IDENTITY + work)
    assert "1 commit that is on no other branch" in delete(place, task_id)[1][0]


def test_all_of_it_can_be_discarded(place: Workplace) -> None:
    task_id = run(
        place, IDENTITY + "git commit -q --allow-empty -m x; echo x > new; echo y >> a.txt"
    )
    done = place.command("task", "delete", task_id, "--discard-worktree")
    assert done.communicate(timeout=60)[0] == f"removed {task_id}\n"
    assert (worktrees(place), branches(place)) == ([], ["main"])


def test_ignored_files_go_with_the_worktree(place: Workplace) -> None:
    (place.project / ".gitignore").write_text("build\n")
    commit(place.project, "ignore")
    task_id = run(place, "mkdir build; echo x > build/x")
    assert delete(place, task_id) == ([task_id], [])
    assert not tree_of(place, task_id).exists()


def test_an_existing_branch_is_checked_out_and_never_deleted(place: Workplace) -> None:
    git(place.project, "branch", "topic")
    task_id = run(place, IDENTITY + "git commit -q --allow-empty -m x", worktree="topic")
    assert place.status(task_id)["worktree"]["branch"] == "topic"
    assert delete(place, task_id) == ([task_id], [])
    assert branches(place) == ["main", "topic"]
    assert git(place.project, "log", "-1", "--format=%s", "topic") == "x"


def test_a_new_branch_is_named_by_the_caller_or_after_the_task(place: Workplace) -> None:
    first = run(place, "true", worktree="new/topic")
    second = run(place, "true", name="fix the  login!")
    third = run(place, "true", name="fix the  login!")
    named = [place.status(it)["worktree"]["branch"] for it in (first, second, third)]
    assert named == ["new/topic", "cuekit/fix-the-login", f"cuekit/{third}"]


@pytest.mark.parametrize(
    "branch",
    [
        "-b",
        "--force",
        "a..b",
        "a b",
        "refs/heads/x",
        "HEAD",
        "@{-1}",
        "@",
        "x.lock",
        "a~1",
        "x\x01",
    ],
)
def test_a_bad_name_of_a_branch_makes_nothing(place: Workplace, branch: str) -> None:
    error = refusal(place, worktree=branch)
    assert (error.code, error.exit_status) == ("bad_branch", 2)
    assert error.message == f"{branch!r} is no name of a branch"
    assert (worktrees(place), branches(place)) == ([], ["main"])


def test_a_branch_that_is_checked_out_is_refused_by_its_place(place: Workplace) -> None:
    error = refusal(place, worktree="main")
    assert (error.code, error.exit_status) == ("branch_checked_out", 4)
    assert error.message == f"the branch 'main' is checked out in {place.project}"


def test_names_that_exclude_one_another_are_refused(place: Workplace) -> None:
    git(place.project, "branch", "cuekit")
    assert refusal(place).code == "branch_conflict"
    assert refusal(place, worktree="main/x").code == "branch_conflict"
    git(place.project, "branch", "a/b")
    assert refusal(place, worktree="a").code == "branch_conflict"


def test_a_branch_of_a_remote_is_not_taken_for_a_new_name(place: Workplace) -> None:
    git(place.project, "update-ref", "refs/remotes/origin/topic", "HEAD")
    error = refusal(place, worktree="origin/topic")
    assert (error.code, error.hint) == ("bad_branch", "git branch topic origin/topic")
    task_id = run(place, "true", worktree="topic")
    assert place.task(task_id).warnings == [
        "topic is a new branch from HEAD, not from origin/topic"
    ]


def test_a_place_without_a_checkout_is_refused(workplace: Workplace) -> None:
    assert refusal(workplace).code == "no_repository"
    git(workplace.project, "init", "-q", "-b", "main")
    assert refusal(workplace).code == "no_commit"
    assert refusal(workplace, cwd=str(workplace.project / ".git")).code == "bare_repository"
    bare = workplace.root / "bare"
    bare.mkdir()
    git(bare, "init", "-q", "--bare")
    assert refusal(workplace, cwd=str(bare)).code == "bare_repository"


def test_a_submodule_is_refused_and_one_below_is_told(place: Workplace, tmp_path: Path) -> None:
    other = make_repository(tmp_path / "other")
    add = ("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "below")
    git(place.project, *add)
    commit(place.project, "submodule")
    assert refusal(place, cwd=str(place.project / "below")).code == "in_submodule"
    task_id = run(place, "true")
    assert any("submodules are empty" in it for it in place.task(task_id).warnings)
    assert delete(place, task_id) == ([task_id], [])


def test_a_folder_that_is_in_no_commit_is_refused(place: Workplace) -> None:
    (place.project / "build").mkdir()
    error = refusal(place, cwd=str(place.project / "build"))
    assert (error.code, error.hint) == (
        "not_in_commit",
        f"--cwd {place.project}, or commit the folder",
    )


def test_a_branch_whose_folder_is_a_link_out_of_it_is_refused(place: Workplace) -> None:
    git(place.project, "checkout", "-q", "-b", "evil")
    git(place.project, "rm", "-rq", "sub")
    (place.project / "sub").symlink_to("/etc")
    commit(place.project, "link")
    git(place.project, "checkout", "-q", "main")
    error = refusal(place, worktree="evil", cwd=str(place.project / "sub"))
    assert error.code == "not_in_commit"


def test_a_link_in_the_place_of_the_worktrees_is_not_followed(place: Workplace) -> None:
    elsewhere = place.root / "elsewhere"
    elsewhere.mkdir()
    (place.project / ".cuekit").symlink_to(elsewhere)
    task_id = run(place, "pwd")
    assert place.status(task_id)["worktree"]["path"] == f"{place.home.root}/worktrees/{task_id}"
    assert list(elsewhere.iterdir()) == []
    assert delete(place, task_id) == ([task_id], [])


def test_git_that_is_missing_is_named(place: Workplace) -> None:
    tools = place.root / "tools"
    tools.mkdir()
    for name in ("tmux", "sh"):
        (tools / name).symlink_to(str(shutil.which(name)))
    place.env["PATH"] = str(tools)
    assert refusal(place).code == "git_missing"
    task_id = place.submit("exec /bin/true")  # without a worktree nothing needs git
    place.ended(task_id)
    assert result(task_id, place.env)["files_changed_source"] is None


def test_a_dry_run_tells_what_would_be_made(place: Workplace) -> None:
    base = git(place.project, "rev-parse", "HEAD")
    request = SubmitRequest("true", "shell", cwd=str(place.project), worktree="topic", dry_run=True)
    found = submit(request, place.env)["worktree"]
    assert found == {
        "path": str(place.project / ".cuekit" / "worktrees" / "t_dryrun00"),
        "branch": "topic",
        "origin": str(place.project),
        "new_branch": True,
        "base": base,
    }
    assert (worktrees(place), branches(place)) == ([], ["main"])


def test_a_worktree_from_a_worktree_stands_beside_it(place: Workplace) -> None:
    first = run(place, "true")
    second = run(place, "true", cwd=str(tree_of(place, first)))
    assert place.task(second).worktree["path"] == str(tree_of(place, second))  # type: ignore[index]
    assert place.task(second).session_id == place.task(first).session_id
    assert files.project_of(str(tree_of(place, first) / "sub")) == str(place.project)


def test_a_worktree_that_other_tasks_were_run_in_stays(place: Workplace) -> None:
    first = run(place, "true")
    inside = run(place, "true", cwd=str(tree_of(place, first)), worktree=None)
    assert delete(place, first) == ([], [f"in its worktree other tasks were run: {inside}"])
    assert cleanup.delete([inside, first], place.env).removed == [inside, first]


def test_a_start_that_fails_leaves_no_worktree(place: Workplace) -> None:
    place.env["CUEKIT_TMUX_SOCKET"] = str(place.root / ("long" * 40))
    request = SubmitRequest("true", "shell", cwd=str(place.project), worktree="topic")
    with pytest.raises(CuekitError):
        submit(request, place.env)
    assert (worktrees(place), branches(place), place.tasks()) == ([], ["main"], [])


@pytest.mark.parametrize("fault", ["submit.task_folder_made", "submit.worktree_made"])
def test_a_submit_killed_around_the_making_leaves_what_delete_removes(
    place: Workplace, fault: str
) -> None:
    place.env["CUEKIT_FAULT"] = fault
    submitted = place.command("task", "submit", "--agent-kind", "shell", "true", "--worktree")
    submitted.communicate(timeout=60)
    del place.env["CUEKIT_FAULT"]
    (task,) = place.tasks()
    assert (task.status, task.error and task.error["code"]) == ("failed", "never_started")
    assert worktrees(place) == ([task.worktree["path"]] if "worktree" in fault else [])  # type: ignore[index]
    assert delete(place, task.task_id) == ([task.task_id], [])
    assert (worktrees(place), branches(place)) == ([], ["main"])


def test_a_worktree_that_git_was_killed_in_the_middle_of_is_removed(place: Workplace) -> None:
    place.env["CUEKIT_FAULT"] = "submit.worktree_made"
    place.command("task", "submit", "--agent-kind", "shell", "true", "--worktree").communicate()
    del place.env["CUEKIT_FAULT"]
    (task,) = place.tasks()
    tree = tree_of(place, task.task_id)
    # As git leaves it: locked, no index yet, and some of the files.
    admin = place.project / ".git" / "worktrees" / task.task_id
    (admin / "locked").write_text("initializing")
    (admin / "index").unlink()
    (tree / "a.txt").unlink()
    assert delete(place, task.task_id) == ([task.task_id], [])
    assert (worktrees(place), branches(place)) == ([], ["main"])


def test_a_worktree_that_somebody_removed_is_no_hindrance(place: Workplace) -> None:
    task_id = run(place, "true")
    shutil.rmtree(tree_of(place, task_id))
    assert result(task_id, place.env)["files_changed_note"] == (
        f"the worktree is not there any more: {tree_of(place, task_id)}"
    )
    assert delete(place, task_id) == ([task_id], [])
    assert (worktrees(place), branches(place)) == ([], ["main"])


def test_a_worktree_that_points_elsewhere_is_not_touched(place: Workplace) -> None:
    task_id = run(place, "true")
    other = make_repository(place.root / "other")
    (tree_of(place, task_id) / ".git").write_text(f"gitdir: {other}/.git\n")
    assert "does not belong to" in delete(place, task_id)[1][0]
    assert (other / ".git").exists()


def hostile(place: Workplace) -> Path:
    """Let the repository's own configuration name programs wherever git would run one."""
    mark = place.root.parent / "mark"
    program = place.root.parent / "evil"
    program.write_text(f"#!/bin/sh\necho \"${{0##*/}}\" >> '{mark}'\nexec cat\n")
    program.chmod(0o755)
    for name in ("filter.evil.clean", "filter.evil.smudge", "filter.other.process"):
        git(place.project, "config", name, f"'{program}'")
    git(place.project, "config", "filter.evil.required", "true")
    git(place.project, "config", "filter.other.required", "true")
    for name in ("core.fsmonitor", "diff.external", "diff.evil.command", "diff.evil.textconv"):
        git(place.project, "config", name, f"'{program}'")
    for name in ("core.pager", "core.editor", "core.sshCommand", "gpg.program", "hook.x.command"):
        git(place.project, "config", name, f"'{program}'")
    git(place.project, "config", "hook.x.event", "post-checkout")
    hooks = place.project / ".git" / "hooks"
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        (hooks / name).write_text(program.read_text())
        (hooks / name).chmod(0o755)
    attributes = place.project / ".git" / "info" / "attributes"
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text("* filter=evil diff=evil\nnew filter=other\n")
    return mark


def test_a_hostile_repository_runs_nothing_without_trust(place: Workplace) -> None:
    mark = hostile(place)
    task_id = run(place, "true")
    tree = tree_of(place, task_id)
    (tree / "a.txt").write_text("changed\n")
    (tree / "new").write_text("new\n")
    os.utime(tree / "sub" / "b.txt", (1, 1))
    found = result(task_id, place.env)
    assert [it["kind"] for it in found["files_changed"]] == ["update", "add"]
    assert found["diff_stat"] == {"files": 2, "insertions": 2, "deletions": 2}
    assert len(delete(place, task_id)[1]) == 1
    plain = run(place, "echo x >> a.txt", worktree=None)
    assert result(plain, place.env)["files_changed_source"] == "git"
    assert delete(place, task_id, discard_worktree=True) == ([task_id], [])
    assert not mark.exists()
    git(place.project, "worktree", "add", "-q", str(place.root.parent / "by-hand"))
    assert {"post-checkout", "evil"} <= set(mark.read_text().split())  # as git itself does


def test_the_filters_of_a_trusted_folder_run_at_the_checkout_alone(place: Workplace) -> None:
    log = place.root.parent / "log"
    git(place.project, "config", "filter.up.smudge", f"echo smudge >> '{log}'; tr a-z A-Z")
    git(place.project, "config", "filter.up.clean", f"echo clean >> '{log}'; tr A-Z a-z")
    (place.project / ".gitattributes").write_text("*.txt filter=up\n")
    commit(place.project, "attributes")
    log.unlink()
    untrusted = run(place, "cat a.txt")
    assert b"one" in place.transcript(untrusted)
    assert any("filters are off" in it for it in place.task(untrusted).warnings)
    assert not log.exists()
    trusted = run(place, "cat a.txt", trust=True)
    assert b"ONE" in place.transcript(trusted)
    assert "smudge" in log.read_text()
    log.unlink()
    assert result(trusted, place.env)["files_changed"] == []
    assert delete(place, trusted) == ([trusted], [])
    assert not log.exists()


def test_git_variables_of_the_caller_lead_nowhere_else(place: Workplace) -> None:
    other = make_repository(place.root / "other")
    place.env |= {"GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other)}
    task_id = place.submit("true", worktree="")
    del place.env["GIT_DIR"], place.env["GIT_WORK_TREE"]
    place.ended(task_id)
    assert worktrees(place) == [str(tree_of(place, task_id))]


def test_trust_and_configuration_are_those_of_the_origin(place: Workplace) -> None:
    (place.project / ".cuekit.yaml").write_text("submit: {timeout: 77s}\n")
    request = SubmitRequest("true", "shell", cwd=str(place.project), worktree="")
    assert not resolve(request, place.home, place.env, None).trusted
    trust.give(place.home, str(place.project))
    resolved = resolve(request, place.home, place.env, None)
    assert (resolved.trusted, resolved.spec.timeout_s) == (True, 77.0)
    assert resolved.cwd.startswith(str(place.project / ".cuekit" / "worktrees"))


def test_the_command_line_takes_the_option_with_and_without_a_branch(
    place: Workplace, tmux_server: TmuxServer
) -> None:
    submit = ("task", "submit", "--agent-kind", "shell", "--format", "json")
    for words, branch in (
        (("true", "--worktree"), "cuekit/t_"),
        (("--worktree", "topic", "true"), "topic"),
        (("--worktree=named", "true"), "named"),
        (("--worktree", "--", "true"), "cuekit/t_"),
    ):
        out, err = place.command(*submit, *words).communicate(timeout=60)
        assert err == ""
        assert json.loads(out)["worktree"]["branch"].startswith(branch)
    eaten = place.command(*submit, "--worktree", "fix the tests").communicate(timeout=60)[1]
    assert json.loads(eaten)["error"]["code"] in ("bad_branch", "usage", "no_terminal")


def test_a_task_that_is_resumed_goes_on_in_the_same_worktree(place: Workplace) -> None:
    first = run(place, "echo x > new", cwd=str(place.project / "sub"))
    worktree = place.task(first).worktree
    second = place.submit(
        "pwd; cat new",
        cwd=str(place.project / "sub"),
        in_worktree=worktree,
        resumed_from=first,
    )
    place.ended(second)
    tree = tree_of(place, first)
    assert place.transcript(second).decode().split("\r\n")[:2] == [str(tree / "sub"), "x"]
    assert place.task(second).worktree == worktree
    assert Path(place.task(second).task_dir).is_relative_to(place.project / "sub" / ".cuekit")
    assert delete(place, first) == ([first], [])  # the other task has the worktree still
    assert "not committed: sub/new" in delete(place, second)[1][0]
    shutil.rmtree(tree)
    error = refusal_of_resume(place, worktree, second)
    assert (error.code, error.exit_status) == ("worktree_gone", 4)


def refusal_of_resume(place: Workplace, worktree: Any, task_id: str) -> CuekitError:
    with pytest.raises(CuekitError) as caught:
        place.submit("true", in_worktree=worktree, resumed_from=task_id)
    return caught.value


def test_in_a_plain_checkout_git_tells_what_a_task_changed(place: Workplace) -> None:
    task_id = run(place, "echo x > new; rm a.txt", worktree=None)
    found = result(task_id, place.env)
    assert found["files_changed"] == [
        {"path": f"{place.project}/a.txt", "kind": "delete"},
        {"path": f"{place.project}/new", "kind": "add"},
    ]
    assert found["files_changed_source"] == "git"
    assert found["diff_stat"] == {"files": 2, "insertions": 1, "deletions": 2}
    assert (found["files_changed_note"], found["worktree"]) == (None, None)


def test_what_had_changed_before_the_start_is_told_apart(place: Workplace) -> None:
    (place.project / "a.txt").write_text("mine\n")
    (place.project / "sub" / "b.txt").write_text("mine\n")
    (place.project / "draft").write_text("mine\n")
    task_id = run(place, "echo theirs >> a.txt; rm draft; echo x > new", worktree=None)
    found = result(task_id, place.env)
    assert found["files_changed"] == [
        {"path": f"{place.project}/a.txt", "kind": "update"},
        {"path": f"{place.project}/draft", "kind": "delete"},
        {"path": f"{place.project}/new", "kind": "add"},
    ]
    assert found["files_changed_note"] == (
        "of the 3 files that had changed before the start, those are told that changed again"
    )
    assert found["diff_stat"] is None


def test_what_changed_after_the_end_is_not_the_tasks(place: Workplace) -> None:
    task_id = run(place, "echo x > new", worktree=None)
    late = place.project / "late"
    late.write_text("mine\n")
    end = place.task(task_id).completed_at or 0.0
    os.utime(late, (end + 60, end + 60))
    found = result(task_id, place.env)
    assert [it["path"] for it in found["files_changed"]] == [f"{place.project}/new"]
    assert found["files_changed_note"] == "1 files that changed after the end are left out"


def test_a_repository_without_a_commit_is_compared_with_nothing(workplace: Workplace) -> None:
    git(workplace.project, "init", "-q", "-b", "main")
    task_id = run(workplace, "echo x > new; git add new", worktree=None)
    found = result(task_id, workplace.env)
    assert found["files_changed"] == [{"path": f"{workplace.project}/new", "kind": "add"}]


def test_the_doctor_tells_of_worktrees_and_tasks_without_one_another(place: Workplace) -> None:
    kept, lost = run(place, "true"), run(place, "true")
    stray = tree_of(place, "t_strayone")
    git(place.project, "worktree", "add", "-q", str(stray))
    assert checks(place) == {
        "stale_worktrees": f"worktrees that no task of this store has: {stray}"
    }
    shutil.rmtree(tree_of(place, lost))
    assert checks(place)["gone_worktrees"] == f"the folder of the worktree is gone: {lost}"
    git(place.project, "worktree", "remove", str(stray))
    assert delete(place, lost) == ([lost], [])
    assert checks(place) == {"stale_worktrees": "1, each with its task"}
    assert tree_of(place, kept).exists()


def checks(place: Workplace) -> dict[str, str]:
    situation = Situation(place.env, str(place.project))
    with lookup.settled_store(place.env) as (home, db):
        return {it.name: it.detail for it in doctor_worktrees.worktrees(db, home, situation)}


def test_a_submit_that_is_repeated_with_its_key_makes_no_second_worktree(place: Workplace) -> None:
    asked = {"worktree": "topic", "idempotency_key": "once"}
    first = place.submit("sleep 100", **asked)
    assert place.submit("sleep 100", **asked) == first
    assert worktrees(place) == [str(tree_of(place, first))]
    with pytest.raises(CuekitError) as caught:
        place.submit("sleep 200", **asked)
    assert caught.value.code == "idempotency_conflict"
    with pytest.raises(CuekitError) as caught:
        place.submit("sleep 100", worktree="topic", idempotency_key="twice")
    assert caught.value.code == "branch_checked_out"


def test_what_is_removed_by_itself_has_no_worktree(place: Workplace) -> None:
    with_one, without = run(place, "true"), run(place, "true", worktree=None)
    with lookup.settled_store(place.env) as (home, db):
        done = cleanup.remove_some(home, db, Filter(), 0.0, place.env, most=20)
    assert done.removed == [without]
    assert tree_of(place, with_one).exists()
