"""The tools over the SDK's own client: each does what its command does."""

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from cuekit.launch import processes
from cuekit.model.approval import ApprovalRequest, Risk
from cuekit.store import approvals, db
from tests.support.git import make_repository
from tests.support.mcp_client import Tools, talk
from tests.support.repository import mark_repository
from tests.support.wait import wait_until
from tests.support.workplace import Workplace

ALLOWED = "mcp: {shell: allow}\n"
SLEEP = {"objective": "echo ready; read answer; echo got=$answer", "agent_kind": "shell"}


def allow(place: Workplace, text: str = ALLOWED) -> None:
    """The user's own configuration."""
    Path(place.home.root).mkdir(exist_ok=True)
    Path(place.home.config).write_text(text)


def test_the_list_of_tools_is_small_and_marks_what_changes_things(workplace: Workplace) -> None:
    async def say(tools: Tools) -> Any:
        return await tools.session.list_tools()

    listed = talk(workplace.env, workplace.project, say)
    assert len(listed.model_dump_json(by_alias=True, exclude_none=True)) < 25_000
    marks = {
        tool.name: (tool.annotations.read_only_hint, tool.annotations.destructive_hint)
        for tool in listed.tools
    }
    reading = {"get_status", "list", "wait", "get_result"}
    destroying = {"cancel_tasks", "cleanup"}
    assert marks == {name: (name in reading, name in destroying) for name in marks}
    assert set(marks) == reading | destroying | {
        "submit_task",
        "submit_tasks",
        "steer_task",
        "finish_task",
        "report",
        "resolve_approval",
        "resume_task",
    }
    assert all(tool.description.startswith("Use ") for tool in listed.tools)


def test_a_parent_submits_waits_steers_and_reads_the_result(workplace: Workplace) -> None:
    allow(workplace)

    async def say(tools: Tools) -> None:
        made = await tools.ok("submit_task", **SLEEP, labels=["a"], name="sleeper")
        task_id = made["task_id"]
        (view,) = (await tools.ok("get_status", task_ids=[task_id]))["tasks"]
        assert (view["status"], view["labels"], view["name"]) == ("running", ["a"], "sleeper")
        waited = await tools.ok("wait", task_ids=[task_id], timeout="300ms")
        assert (waited["state"], waited["tasks"][0]["task_id"]) == ("running", task_id)
        done = await tools.ok("steer_task", task_id=task_id, message="it's; $HOME")
        assert (done["ok"], done["task_id"]) == (True, task_id)
        (ended,) = await tools.until_reached(task_id, until="terminal")
        assert ended["status"] == "completed"
        result = await tools.ok("get_result", task_id=task_id)
        assert (result["final"], "got=it's; $HOME" in result["summary"]) == (True, True)
        events = await tools.ok("list", kind="events", task_id=task_id)
        assert events["events"][-1]["kind"] == "run_finished"
        page = await tools.ok("list", kind="events", task_id=task_id, limit=1)
        rest = await tools.ok("list", kind="events", task_id=task_id, since=page["next_since"])
        assert page["events"] + rest["events"] == events["events"]
        listed = await tools.session.list_resources()
        uris = [str(one.uri) for one in listed.resources]
        assert uris == [f"cuekit://tasks/{task_id}/{what}" for what in ("transcript", "events")]
        text = [await tools.read(uri) for uri in uris]
        assert "got=it's; $HOME" in text[0]
        assert '"run_finished"' in text[1].splitlines()[-1]
        removed = await tools.ok("cleanup", dry_run=True)
        assert removed == {"removed": [task_id], "kept": []}
        assert (await tools.ok("cleanup", task_ids=[task_id]))["removed"] == [task_id]

    talk(workplace.env, workplace.project, say)


def test_a_connection_is_a_session_of_its_own(workplace: Workplace) -> None:
    allow(workplace)
    other = workplace.submit("true")
    workplace.ended(other)

    async def say(tools: Tools) -> str:
        here = (await tools.ok("list", kind="sessions"))["this_session"]
        mine = (await tools.ok("submit_task", objective="true", agent_kind="shell"))["task_id"]
        await tools.until_reached(mine)
        (own,) = (await tools.ok("list", kind="tasks"))["tasks"]
        assert (own["task_id"], own["session_id"]) == (mine, here)
        every = (await tools.ok("list", kind="tasks", all=True))["tasks"]
        assert {task["task_id"] for task in every} == {mine, other}
        below = (await tools.ok("list", kind="tasks", cwd=str(workplace.project)))["tasks"]
        assert {task["task_id"] for task in below} == {mine, other}
        sessions = (await tools.ok("list", kind="sessions"))["sessions"]
        assert (len(sessions), sessions[0]["session_id"]) == (2, here)
        assert (await tools.ok("cleanup"))["removed"] == [mine]
        return str(here)

    first, second = (talk(workplace.env, workplace.project, say) for _ in range(2))
    assert first != second


def test_several_are_all_checked_before_the_first_starts(workplace: Workplace) -> None:
    allow(workplace)
    true = {"objective": "true", "agent_kind": "shell"}

    async def say(tools: Tools) -> None:
        for bad, code in (
            ({"objective": " ", "agent_kind": "shell"}, "empty_objective"),
            ({**true, "cwd": "/nonesuch"}, "no_such_folder"),
            ({**true, "agent_kind": "cofex"}, "unknown_agent_kind"),
            ({**true, "objectives": "x"}, "invalid_arguments"),
            ({**true, "timeout": "5 parsecs"}, "bad_duration"),
        ):
            assert await tools.error("submit_tasks", tasks=[true, bad]) == code
        assert (await tools.ok("list", kind="tasks", all=True))["tasks"] == []
        made = await tools.ok("submit_tasks", tasks=[true, true])
        assert made["failed"] == []
        ids = [task["task_id"] for task in made["tasks"]]
        views = await tools.until_reached(*ids, until="terminal")
        assert [view["status"] for view in views] == ["completed", "completed"]

    talk(workplace.env, workplace.project, say)


def test_what_is_wrong_is_named(workplace: Workplace) -> None:
    async def say(tools: Tools) -> None:
        for name, arguments, code in (
            ("submit_task", {}, "invalid_arguments"),
            ("submit_task", {"objective": 7}, "invalid_arguments"),
            ("submit_task", {"objective": "x", "as_command": True}, "invalid_arguments"),
            ("submit_task", {"objective": "x", "trust": True}, "invalid_arguments"),
            ("submit_task", {"objective": "x", "mode": "turbo"}, "invalid_arguments"),
            ("submit_task", {"objective": "x", "keep": 1}, "invalid_arguments"),
            ("submit_tasks", {"tasks": []}, "invalid_arguments"),
            ("get_status", {"task_ids": []}, "invalid_arguments"),
            ("get_status", {"task_ids": ["t_nonesuch"]}, "task_not_found"),
            ("wait", {"task_ids": ["t_nonesuch"]}, "task_not_found"),
            ("wait", {"task_ids": ["t_nonesuch"], "timeout": "soon"}, "bad_duration"),
            ("list", {"kind": "events"}, "invalid_arguments"),
            ("list", {"kind": "tasks", "limit": 0}, "invalid_arguments"),
            ("list", {"kind": "tasks", "cursor": "x"}, "bad_cursor"),
            ("steer_task", {"task_id": "t_nonesuch", "message": "x"}, "task_not_found"),
            (
                "steer_task",
                {"task_id": "t_nonesuch", "message": "x", "force": True},
                "invalid_arguments",
            ),
            ("cancel_tasks", {"task_ids": ["t_nonesuch"]}, "task_not_found"),
            ("report", {"type": "progress", "message": "x"}, "no_child_token"),
            ("resolve_approval", {"approval_id": "a_x", "decision": "allow"}, "parents_may_not"),
            ("resume_task", {"task_id": "t_nonesuch", "message": "x"}, "task_not_found"),
            ("nonesuch", {}, "unknown_tool"),
        ):
            failed, value = await tools.call(name, arguments)
            assert (failed, value["error"]["code"]) == (True, code), (name, arguments)
        roles = (await tools.ok("list", kind="agent_profiles"))["agent_profiles"]
        assert {"worker", "reviewer"} <= {role["id"] for role in roles}
        kinds = (await tools.ok("list", kind="adapters"))["adapters"]
        assert "codex" in {adapter["agent_kind"] for adapter in kinds}
        for uri in ("cuekit://tasks/t_nonesuch/events", "cuekit://tasks/../events", "file:///x"):
            with pytest.raises(Exception, match=r"t_nonesuch|no resource"):
                await tools.session.read_resource(uri)
        assert (await tools.ok("list", kind="tasks"))["tasks"] == []

    talk(workplace.env, workplace.project, say)


def test_shell_needs_the_users_own_word(workplace: Workplace) -> None:
    project_file = workplace.project / ".cuekit.yaml"
    project_file.write_text("mcp: {shell: allow}\nsubmit: {agent_kind: shell}\n")
    mark_repository(workplace.project)
    done = workplace.command("trust", "--format", "json")
    assert (done.communicate(timeout=30), done.returncode)[1] == 0

    async def say(tools: Tools) -> tuple[str, str]:
        named = await tools.error("submit_task", objective="touch x", agent_kind="shell")
        return named, await tools.error("submit_task", objective="touch x")

    asked = talk(workplace.env, workplace.project, say)
    assert asked == ("shell_not_allowed", "shell_not_allowed")
    assert not (workplace.project / "x").exists()


def test_a_parent_decides_what_it_submitted_itself_and_only_if_the_user_lets_it(
    workplace: Workplace,
) -> None:
    allow(workplace)
    others = workplace.submit("read stop")

    def ask(task_id: str) -> str:
        request = ApprovalRequest("shell", "shell", "sh", {"command": "make"}, cwd="/")
        me = processes.identity(os.getpid())
        with closing(db.open_store(workplace.home)) as store:
            return approvals.insert(store, task_id, request, Risk.EXECUTE, me)

    async def say(tools: Tools) -> None:
        mine = (await tools.ok("submit_task", **SLEEP))["task_id"]
        approval, another, foreign = ask(mine), ask(mine), ask(others)
        yes = {"approval_id": approval, "decision": "allow"}
        assert await tools.error("resolve_approval", **yes) == "parents_may_not"
        allow(workplace, "mcp: {shell: allow}\napprovals: {parents: allow}\n")
        theirs = {"approval_id": foreign, "decision": "allow"}
        assert await tools.error("resolve_approval", **theirs) == "not_of_this_session"
        decided = await tools.ok("resolve_approval", **yes)
        here = (await tools.ok("list", kind="sessions"))["this_session"]
        assert (decided["state"], decided["decided_by"]) == ("decided", f"parent:{here}")
        assert await tools.error("resolve_approval", **yes) == "already_decided"
        always = {"approval_id": another, "decision": "allow_always", "scope": "project"}
        assert await tools.error("resolve_approval", **always) == "wrong_scope"
        waiting = (await tools.ok("list", kind="approvals"))["approvals"]
        assert {one["approval_id"] for one in waiting} == {another, foreign}
        assert (await tools.ok("cancel_tasks", task_ids=[mine]))["tasks"][0][
            "status"
        ] == "cancelled"

    talk(workplace.env, workplace.project, say)


def test_a_server_within_a_task_acts_as_that_task(workplace: Workplace) -> None:
    """Though its client passes no variable of cuekit's on: as codex does."""
    allow(workplace)
    others = workplace.submit("read stop")
    note = workplace.project / "given"
    child = workplace.submit(f"env >{note.name}.new; mv {note.name}.new {note.name}; read stop")
    wait_until(note.exists, 20, "the child writes")
    pairs = (line.partition("=") for line in note.read_text().splitlines())
    env = {**workplace.env, **{name: value for name, _, value in pairs if "CUEKIT" in name}}

    async def say(tools: Tools) -> None:
        done = await tools.ok("report", type="help_requested", message="over MCP")
        assert (done["task_id"], done["state"]) == (child, "stored")
        for task_id in (child, others):
            for name, more in (("steer_task", {"message": "x"}), ("finish_task", {})):
                assert await tools.error(name, task_id=task_id, **more) == "child_may_not"
            assert await tools.error("cancel_tasks", task_ids=[task_id]) == "child_may_not"
        below = (await tools.ok("submit_task", **SLEEP))["task_id"]
        assert workplace.task(below).parent_task_id == child
        assert (await tools.ok("steer_task", task_id=below, message="x"))["ok"] is True
        await tools.until_reached(below)

    hiding = ("CUEKIT_TASK_ID", "CUEKIT_CHILD_TOKEN", "CUEKIT_TASK_DIR", "CUEKIT_HOME")
    talk(env, workplace.project, say, hiding=hiding)
    assert workplace.status(child)["reported"]["message"] == "over MCP"


def test_delegation_ends_two_levels_down(workplace: Workplace) -> None:
    allow(workplace)
    first = workplace.submit("read stop")
    env = {**workplace.env, "CUEKIT_TASK_ID": first}

    async def deeper(tools: Tools) -> str:
        return str((await tools.ok("submit_task", **SLEEP))["task_id"])

    async def too_deep(tools: Tools) -> str:
        return await tools.error("submit_task", **SLEEP)

    second = talk(env, workplace.project, deeper)
    third = talk({**env, "CUEKIT_TASK_ID": second}, workplace.project, deeper)
    bottom = {**env, "CUEKIT_TASK_ID": third}
    assert talk(bottom, workplace.project, too_deep) == "too_deep"


def test_names_that_are_no_text_do_not_end_the_connection(workplace: Workplace) -> None:
    home = workplace.root / os.fsdecode(b"bad-\xff-home")

    async def say(tools: Tools) -> None:
        failed, value = await tools.call("submit_task", SLEEP)
        assert (failed, "/bad-?-home/" in value["error"]["hint"]) == (True, True)
        assert (await tools.ok("list", kind="tasks"))["tasks"] == []

    talk({**workplace.env, "CUEKIT_HOME": str(home)}, workplace.project, say)


def test_calls_side_by_side_do_not_wait_for_one_another(workplace: Workplace) -> None:
    allow(workplace)

    async def say(tools: Tools) -> list[str]:
        task_id = (await tools.ok("submit_task", **SLEEP))["task_id"]
        states: list[str] = []

        async def wait() -> None:
            waited = await tools.ok("wait", task_ids=[task_id], until="terminal")
            states.append(waited["state"])

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(wait)
            await tools.ok("get_status", task_ids=[task_id])
            await tools.ok("steer_task", task_id=task_id, message="go on")
        return states

    assert talk(workplace.env, workplace.project, say) == ["reached"] * 5


def test_a_parent_gives_its_child_a_worktree(workplace: Workplace) -> None:
    allow(workplace)
    make_repository(workplace.project)

    async def say(tools: Tools) -> None:
        task = {"objective": "echo x > new", "agent_kind": "shell", "worktree": ""}
        made = await tools.ok("submit_task", **task)
        task_id, tree = made["task_id"], made["worktree"]
        assert tree["path"] == f"{workplace.project}/.cuekit/worktrees/{task_id}"
        await tools.until_reached(task_id, until="terminal")
        result = await tools.ok("get_result", task_id=task_id)
        assert result["files_changed"] == [{"path": f"{tree['path']}/new", "kind": "add"}]
        assert (result["files_changed_source"], result["worktree"]) == ("git", tree)
        done = await tools.ok("cleanup", task_ids=[task_id])
        (kept,) = done["kept"]
        assert "changes that are not committed: new" in kept["reason"]
        code = await tools.error("submit_task", **task | {"worktree": "main"})
        assert code == "branch_checked_out"

    talk(workplace.env, workplace.project, say)
