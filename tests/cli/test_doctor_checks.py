"""Each look of the doctor at cuekit's own things: it tells of the fault, and --fix mends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cuekit.launch import child_reports, events
from cuekit.model.approval import RuleScope
from cuekit.model.lifecycle import Status
from cuekit.model.report import Report, ReportType
from cuekit.model.rule import Effect, Rule
from cuekit.service import doctor_mcp
from cuekit.service.doctor_check import Situation
from cuekit.store import db, rules, tasks
from tests.support.command_line import CommandLine, cli
from tests.support.wait import wait_until

__all__ = ["cli"]

MINUTE_AGO = time.time() - 60
TOKEN = "f" * 64


def doctor(cli: CommandLine, *words: str) -> dict[str, dict[str, Any]]:
    """The checks by name; agents are left out of the PATH, and no socket's path is too long."""
    env = {"PATH": "/usr/bin:/bin", "CUEKIT_TMUX_SOCKET": f"{tempfile.gettempdir()}/no-server"}
    done = cli.run("doctor", *words, "--format", "json", env=env)
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert done.returncode == (0 if report["ok"] else 1)
    return {check["name"]: check for check in report["checks"]}


def mended(cli: CommandLine, name: str) -> str:
    """The check warns, --fix mends it and says how, and after that all is well; what it said."""
    before = doctor(cli)[name]
    assert (before["state"], before["fix"]) == ("warning", "cuekit doctor --fix")
    fixed = doctor(cli, "--fix")[name]
    assert (fixed["state"], fixed["detail"][:8], fixed["fix"]) == ("ok", "mended: ", None)
    again = doctor(cli, "--fix")[name]
    assert (again["state"], again["detail"].startswith("mended")) == ("ok", False)
    return str(fixed["detail"])


def ended(cli: CommandLine, task_id: str = "t_ended000", **values: Any) -> Path:
    folder = cli.task(task_id, Status.COMPLETED, completed_at=MINUTE_AGO, **values)
    (folder.parent / ".gitignore").write_text("*\n")
    return folder


def test_a_healthy_place_has_nothing_to_tell(cli: CommandLine) -> None:
    ended(cli)
    os.chmod(cli.home.root, 0o700)
    doctor(cli, "--fix")
    states = {name: check["state"] for name, check in doctor(cli).items()}
    # no agent is on this PATH, and no terminal reads this
    assert [n for n, state in states.items() if state != "ok"] == ["terminal", "agents"]


def test_files_that_others_can_read_are_closed_and_the_users_own_are_left(cli: CommandLine) -> None:
    ended(cli)
    home = Path(cli.home.root)
    os.chmod(home, 0o755)
    os.chmod(home / "state.db", 0o644)
    log = Path(cli.home.run("t_ended000"), "title")
    log.write_text("x")
    log.chmod(0o604)
    (home / "agents").mkdir()
    by_hand = home / "agents" / "mine.md"
    by_hand.write_text("---\nid: mine\n---\nWork.\n")
    by_hand.chmod(0o644)
    checked_out = home / "worktrees" / "t_ended000" / "README.md"
    checked_out.parent.mkdir(parents=True, mode=0o700)
    checked_out.parent.parent.chmod(0o700)
    checked_out.write_text("x")
    checked_out.chmod(0o644)
    outside = cli.user / "shared"
    outside.write_text("x")
    outside.chmod(0o644)
    (home / "link").symlink_to(outside)

    mended(cli, "privacy")
    modes = [path.stat().st_mode & 0o777 for path in (home, home / "state.db", log)]
    assert modes == [0o700, 0o600, 0o600]
    left = [path.stat().st_mode & 0o777 for path in (by_hand, outside, checked_out)]
    assert left == [0o644] * 3


def test_reports_left_as_files_are_taken_up_with_the_token_checked(cli: CommandLine) -> None:
    folder = ended(cli, token_sha256=child_reports.fingerprint(TOKEN))
    good = Report(ReportType.PROGRESS, "half is done", None, None)
    child_reports.drop(str(folder), "t_ended000", TOKEN, good)
    child_reports.drop(str(folder), "t_ended000", "0" * 64, good)
    detail = mended(cli, "reports")
    assert detail.startswith("mended: 1 reports were taken up")
    assert list((folder / "reports").iterdir()) == []
    said = [event for event in events.read(str(folder)) if event["kind"] == "report"]
    assert [event["message"] for event in said] == ["half is done"]


def test_a_torn_event_log_is_cut_to_its_last_whole_line(cli: CommandLine) -> None:
    folder = ended(cli)
    events.append(str(folder), "t_ended000", "error", {"message": "x"})
    log = folder / events.FILE_NAME
    whole = log.read_bytes()
    log.write_bytes(whole + b'{"seq": 2, "time": "20')
    mended(cli, "event_logs")
    assert log.read_bytes() == whole


def test_a_missing_ignore_file_is_written_and_nothing_through_a_link(cli: CommandLine) -> None:
    folder = cli.task("t_ended000", Status.COMPLETED, completed_at=MINUTE_AGO)
    elsewhere = cli.user / "elsewhere"
    elsewhere.mkdir()
    linked = elsewhere / "project"
    linked.mkdir()
    cli.task("t_linked00", Status.COMPLETED, completed_at=MINUTE_AGO, cwd=linked)
    (linked / ".cuekit").rename(elsewhere / "moved")
    (linked / ".cuekit").symlink_to(elsewhere / "moved")
    mended(cli, "gitignore")
    assert (folder.parent / ".gitignore").read_text() == "*\n"
    assert not (elsewhere / "moved" / "tasks" / ".gitignore").exists()


def test_a_run_folder_without_a_task_is_removed(cli: CommandLine) -> None:
    ended(cli)
    left = Path(cli.home.run("t_nobodys0"))
    left.mkdir()
    os.utime(left, (0, 0))
    mended(cli, "run_folders")
    assert not left.exists()


def test_a_run_that_was_broken_off_is_settled_and_told_of(cli: CommandLine) -> None:
    cli.task("t_broken00", Status.RUNNING, socket_path=cli.env["CUEKIT_TMUX_SOCKET"])
    checks = doctor(cli)
    assert checks["tasks"]["detail"] == (
        "none is active; settled now, as their runs were over: t_broken00"
    )
    assert checks["lost_tasks"] == {
        "name": "lost_tasks",
        "state": "warning",
        "detail": "broken off, and not gone on with: t_broken00 (cannot go on)",
        "fix": "cuekit recover",
    }


def test_a_sidecar_that_outlived_its_task_is_named(cli: CommandLine) -> None:
    ended(cli)
    mark = {"CUEKIT_TASK_ID": "t_ended000", "CUEKIT_HOME": cli.home.root}
    unknown = {"CUEKIT_TASK_ID": "t_unknown0", "CUEKIT_HOME": cli.home.root}
    foreign = {"CUEKIT_TASK_ID": "t_foreign0", "CUEKIT_HOME": "/elsewhere"}
    words = [sys.executable, "-c", "import time; time.sleep(60)", "cuekit.sidecar"]
    left = [subprocess.Popen(words, env={**os.environ, **env}) for env in (mark, unknown, foreign)]
    try:
        wait_until(lambda: "t_unknown0" in doctor(cli)["strays"]["detail"], 10)
        found = doctor(cli)["strays"]
    finally:
        for process in left:
            process.kill()
            process.wait(10)
    assert f"{left[0].pid}, a sidecar of t_ended000" in found["detail"]
    assert "t_foreign0" not in found["detail"]
    assert found["fix"] == f"kill {left[0].pid} {left[1].pid}"


def test_children_that_are_too_deep_or_without_their_parent_are_named(cli: CommandLine) -> None:
    from cuekit.service.doctor_tasks import depth

    cli.task("t_parent00", Status.COMPLETED, completed_at=MINUTE_AGO)
    cli.task("t_child000", Status.RUNNING, parent_task_id="t_parent00", depth=1)
    with closing(db.open_store(cli.home)) as store:
        found = depth(store)
        assert (found.state, found.fix) == ("warning", "cuekit task status t_child000")
        cli.task("t_deep0000", Status.RUNNING, depth=3)
        found = depth(store)
        assert (found.state, found.fix) == ("warning", "cuekit task cancel t_deep0000")
        for task_id in ("t_child000", "t_deep0000"):
            tasks.move(store, task_id, Status.CANCELLED)
        assert depth(store).state == "ok"


def test_the_server_of_an_active_task_that_is_gone_is_named(cli: CommandLine) -> None:
    from cuekit.service.doctor_tasks import servers

    cli.task("t_running0", Status.RUNNING, socket_path=str(cli.user / "gone"))
    with closing(db.open_store(cli.home)) as store:
        found = servers(store, Situation(cli.env, str(cli.project)))
    assert (found.state, str(cli.user / "gone") in found.detail) == ("warning", True)


def rule(rule_id: str, scope_ref: str, scope: RuleScope = RuleScope.PROJECT, **fields: Any) -> Rule:
    empty = dict.fromkeys(("agent_kind", "tool", "command", "path", "risk"))
    values = {"effect": Effect.ALLOW, "made_by": "user", "made_at": 1.0, **empty, **fields}
    return Rule(rule_id=rule_id, scope=scope, scope_ref=scope_ref, **values)


def test_rules_about_what_is_gone_and_rules_that_allow_much_are_named(cli: CommandLine) -> None:
    here = str(cli.project)
    ended(cli)
    stored = [
        rule("r_gone0000", "/gone", command="git status"),
        rule("r_notask00", "t_removed0", RuleScope.TASK, command="git status"),
        rule("r_ended000", "t_ended000", RuleScope.TASK, tool="shell"),
        rule("r_shell000", here, tool="shell"),
        rule("r_python00", here, tool="shell", command="python3 -c *"),
        rule("r_root0000", here, tool="write", path="/**"),
        rule("r_risk0000", here, risk="destructive"),
        rule("r_denied00", here, effect=Effect.DENY, tool="shell"),
        rule("r_good0000", here, tool="shell", command="git status"),
        rule("r_inside00", here, tool="write", path=f"{here}/**"),
    ]
    with closing(db.open_store(cli.home)) as store:
        for one in stored:
            rules.insert(store, one)
    checks = doctor(cli)
    gone, wide = checks["rules.gone"], checks["rules.wide"]
    assert gone["detail"].endswith(": r_gone0000, r_notask00")
    assert gone["fix"] == "cuekit approval rules remove r_gone0000"
    assert "r_shell000 allows every use of shell" in wide["detail"]
    assert "r_python00 allows 'python3 -c *'" in wide["detail"]
    assert "r_root0000 allows it anywhere below /" in wide["detail"]
    assert "and 1 more" in wide["detail"]
    cli.run(*gone["fix"].split()[1:])
    assert doctor(cli)["rules.gone"]["detail"].endswith(": r_notask00")


def test_each_file_of_configuration_has_its_line(cli: CommandLine) -> None:
    users, project = Path(cli.home.config), cli.project / ".cuekit.yaml"
    users.parent.mkdir(mode=0o700)
    project.write_text("submit:\n  modle: gpt\n")
    assert doctor(cli)["config.user"]["state"] == "ok"
    broken = doctor(cli)["config.project"]
    assert (broken["state"], f"{project}:2" in broken["detail"]) == ("failure", True)

    users.write_text("submit: [\n")
    checks = doctor(cli)
    assert (checks["config.user"]["state"], checks["config.project"]["state"]) == (
        "failure",
        "warning",
    )
    assert str(users) in checks["config.user"]["detail"]

    users.unlink()
    project.write_text("adapters:\n  codex:\n    command: [./mine]\n")
    asked = doctor(cli)["config.trust"]
    assert (asked["state"], asked["fix"]) == ("warning", f"cuekit trust {cli.project}")
    cli.run(*asked["fix"].split()[1:])
    checks = doctor(cli)
    assert "config.trust" not in checks
    assert checks["config.project"]["detail"].endswith("its content is trusted")
    project.write_text("adapters:\n  codex:\n    command: [./other]\n")
    changed = doctor(cli)["trust.changed"]
    assert (changed["state"], changed["fix"]) == ("warning", f"cuekit trust {cli.project}")


def test_trust_in_a_folder_that_is_gone_is_told_and_its_command_takes_it_back(
    cli: CommandLine,
) -> None:
    place = cli.user / "old"
    place.mkdir()
    cli.run("trust", str(place))
    place.rmdir()
    gone = doctor(cli)["trust.gone"]
    assert (gone["state"], gone["fix"]) == ("warning", f"cuekit trust revoke {place}")
    assert cli.run(*gone["fix"].split()[1:]).returncode == 0
    assert "trust.gone" not in doctor(cli)


def test_a_record_of_trust_that_is_broken_is_a_failure(cli: CommandLine) -> None:
    Path(cli.home.root).mkdir(mode=0o700)
    Path(cli.home.trust).write_text("{")
    assert doctor(cli)["trust"]["state"] == "failure"


def test_a_bad_role_is_named_and_the_others_stay(cli: CommandLine) -> None:
    folder = cli.project / ".cuekit" / "agents"
    folder.mkdir(parents=True)
    (folder / "bad.md").write_text("no front matter\n")
    (folder / "reviewer.md").write_text("---\nid: reviewer\n---\nNo.\n")
    found = cli.run("doctor", "--format", "json").stdout
    checks = [c for c in json.loads(found)["checks"] if c["name"] == "profiles"]
    assert [c["state"] for c in checks] == ["warning", "warning"]
    assert str(folder / "bad.md") in checks[0]["detail"]
    assert checks[1]["fix"] == f"cuekit trust {cli.project}"


def test_a_hook_whose_program_is_missing_is_named(cli: CommandLine) -> None:
    users = Path(cli.home.config)
    users.parent.mkdir(mode=0o700)
    users.write_text("hooks:\n  completed: [no-such-program-here]\n")
    found = doctor(cli)["hooks"]
    assert (found["state"], "no-such-program-here of hooks.completed" in found["detail"]) == (
        "warning",
        True,
    )
    users.write_text("hooks:\n  completed: [true]\n".replace("[true]", "['true']"))
    assert doctor(cli)["hooks"]["state"] == "ok"


def test_rules_of_the_configuration_are_looked_at_too(cli: CommandLine) -> None:
    users = Path(cli.home.config)
    users.parent.mkdir(mode=0o700)
    users.write_text("approvals:\n  rules:\n    - {effect: allow, tool: shell}\n")
    found = doctor(cli)["rules.configured"]
    assert (found["state"], "allows every use of shell" in found["detail"]) == ("warning", True)
    users.write_text("approvals:\n  rules:\n    - {effect: allow, command: 'sudo *'}\n")
    assert doctor(cli)["rules.configured"]["state"] == "failure"
    users.write_text("approvals:\n  rules:\n    - {effect: allow, command: git status}\n")
    assert "rules.configured" not in doctor(cli)


ENTRIES = {
    "codex": (".codex/config.toml", '[mcp_servers.cuekit]\ncommand = "{}"\nargs = ["--mcp"]\n'),
    "claude": (".claude.json", '{{"mcpServers": {{"cuekit": {{"command": "{}"}}}}}}'),
    "gemini": (".gemini/settings.json", '{{"mcpServers": {{"cuekit": {{"command": "{}"}}}}}}'),
    "opencode": (
        ".config/opencode/opencode.json",
        '{{"mcp": {{"cuekit": {{"command": ["{}", "--mcp"]}}}}}}',
    ),
}


@pytest.mark.parametrize("client", ENTRIES)
def test_whether_a_client_knows_of_the_server_is_told_from_its_file(
    client: str, tmp_path: Path
) -> None:
    situation = Situation({"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, str(tmp_path))
    name, text = ENTRIES[client]
    file = tmp_path / name

    def found() -> tuple[str, str, str | None]:
        check = doctor_mcp.registration(client, situation)
        return check.state, check.detail, check.fix

    assert found() == ("ok", f"{client} does not know of cuekit (cuekit mcp add {client})", None)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.format("/bin/sh"))
    assert found()[:2] == ("ok", f"{file} starts /bin/sh" + " --mcp" * ('"--mcp"' in text))
    file.write_text(text.format("/gone/cuekit"))
    said = f"{file} starts /gone/cuekit, which cannot be run"
    assert found() == ("warning", said, f"cuekit mcp add {client}")
    file.write_text("\x00 no such format, with a secret sk-made-up")
    state, detail, fix = found()
    assert (state, "sk-made-up" in detail, fix) == ("warning", False, f"{client} mcp list")


def test_a_project_of_claudes_and_a_file_with_comments_are_read(tmp_path: Path) -> None:
    here = os.path.realpath(tmp_path)
    entry = {"mcpServers": {"cuekit": {"command": "/bin/sh"}}}
    (tmp_path / ".claude.json").write_text(json.dumps({"projects": {here: entry}}))
    (tmp_path / ".gemini").mkdir()
    with_comments = '{\n  // mine\n  "mcpServers": {\n    "cuekit": {"command": "x"}\n  }\n}\n'
    (tmp_path / ".gemini" / "settings.json").write_text(with_comments)
    situation = Situation({"HOME": str(tmp_path), "PATH": "/bin"}, here)
    claude, gemini = (doctor_mcp.registration(name, situation) for name in ("claude", "gemini"))
    assert claude.detail == f"{here}/.claude.json starts /bin/sh"
    assert gemini.detail == f"is named in {here}/.gemini/settings.json"


def test_a_python_without_the_package_of_the_server_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert doctor_mcp.package().state == "ok"
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    found = doctor_mcp.package()
    assert (found.name, found.state) == ("mcp", "failure")


def test_a_damaged_store_is_one_failure_and_no_crash_of_the_others(cli: CommandLine) -> None:
    ended(cli)
    for name in ("state.db-wal", "state.db-shm"):
        Path(cli.home.root, name).unlink(missing_ok=True)
    Path(cli.home.database).write_bytes(b"no database at all " * 4096)
    states = {name: check["state"] for name, check in doctor(cli, "--fix").items()}
    assert states["store"] == "failure"
    assert [n for n, s in states.items() if s == "failure"] == ["store"]


def test_a_failure_that_stays_gives_status_1_with_fix_too(cli: CommandLine) -> None:
    (cli.project / ".cuekit.yaml").write_text("submit: [\n")
    done = cli.run("doctor", "--fix")
    assert done.returncode == 1
    assert "FAIL  config.project" in done.stdout
