"""`recover` and `task resume` over tasks in a known state: what is listed, and what is refused."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from cuekit.model.lifecycle import Status
from tests.support.command_line import CommandLine, cli

__all__ = ["cli"]

ID = "01a22f73-c4cf-4b13-8d75-01416ac25a6f"
LOST = {"code": "supervisor_lost", "message": "the task's supervisor was killed"}
AT = time.time() - 60


def lost(cli: CommandLine, task_id: str, **values: Any) -> Path:
    given = {"agent_kind": "codex", "error": LOST, "completed_at": AT, "agent_session_id": ID}
    return cli.task(task_id, Status.FAILED, **(given | {"mode": "interactive"} | values))


def test_what_was_broken_off_is_listed_and_nothing_else(cli: CommandLine) -> None:
    lost(cli, "t_first000")
    lost(cli, "t_second00", error={"code": "tmux_gone", "message": "the server was killed"})
    lost(cli, "t_failed00", error={"code": "agent_failed", "message": "the agent exited with 2"})
    cli.task("t_well0000", Status.COMPLETED)
    cli.task("t_cancel00", Status.CANCELLED)
    lost(cli, "t_over0000")
    cli.task("t_after000", Status.COMPLETED, resumed_from="t_over0000")
    found = cli.json("recover")["tasks"]
    assert [one["task_id"] for one in found] == ["t_second00", "t_first000"]
    assert found[1] == {
        "task_id": "t_first000",
        "agent_kind": "codex",
        "mode": "interactive",
        "cwd": str(cli.project),
        "summary": None,
        "agent_session_id": ID,
        "resumable": True,
        "problem": None,
        "error": LOST,
    }
    assert cli.error("recover", "t_over0000") == (4, "already_resumed")
    assert cli.error("recover", "t_failed00") == (3, "not_lost")
    assert cli.error("recover", "t_nonesuch") == (3, "task_not_found")


def test_each_reason_why_one_cannot_go_on_is_told(cli: CommandLine) -> None:
    (cli.user / ".claude" / "projects").mkdir(parents=True)
    place = cli.user / "place"
    place.mkdir()
    lost(cli, "t_folder00", cwd=place)
    lost(cli, "t_unknown0", agent_session_id=None)
    lost(cli, "t_session0", agent_kind="claude-code")
    lost(cli, "t_shell000", agent_kind="shell", agent_session_id=None)
    shutil.rmtree(place)
    expected = {
        "t_folder00": "folder_gone",
        "t_unknown0": "resume_unknown",
        "t_session0": "agent_session_gone",
        "t_shell000": "resume_unsupported",
    }
    found = {one["task_id"]: one for one in cli.json("recover")["tasks"]}
    assert {task_id: one["problem"]["code"] for task_id, one in found.items()} == expected
    assert not any(one["resumable"] for one in found.values())
    assert found["t_unknown0"]["problem"]["hint"].endswith("codex resume")
    text = cli.out("recover")
    assert "the folder of t_folder00 is gone" in " ".join(text.split())
    for task_id, code in expected.items():
        assert cli.error("recover", task_id) == (4, code)
        assert cli.error("task", "resume", task_id, "go on") == (4, code)
    assert cli.json("recover", "--all") == {"tasks": [], "failed": []}


@pytest.mark.parametrize("fork", [False, True])
def test_a_conversation_that_runs_in_another_task_is_not_resumed(
    cli: CommandLine, fork: bool
) -> None:
    import fcntl

    lost(cli, "t_first000")
    cli.task("t_second00", Status.RUNNING, agent_kind="codex", agent_session_id=ID)
    with open(Path(cli.home.run("t_second00"), "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as its supervisor does
        words = ["task", "resume", "t_first000", "go on", *(["--fork"] if fork else [])]
        status, code = cli.error(*words)
    # a fork goes on to the start, where there is no agent on this PATH
    assert (status, code) == ((1, "agent_not_installed") if fork else (4, "still_running"))


def test_all_are_looked_at_before_the_first_is_started(cli: CommandLine) -> None:
    lost(cli, "t_first000")
    lost(cli, "t_unknown0", agent_session_id=None)
    assert cli.error("recover", "t_first000", "t_unknown0") == (4, "resume_unknown")


def test_what_could_not_be_started_is_told_with_status_1(cli: CommandLine) -> None:
    lost(cli, "t_first000")
    done = cli.run("recover", "--all", "--format", "json", env={"PATH": "/usr/bin:/bin"})
    assert (done.returncode, '"agent_not_installed"' in done.stdout) == (1, True)
    assert len(cli.json("recover")["tasks"]) == 1
    text = cli.run("recover", "--all", env={"PATH": "/usr/bin:/bin"}).stdout
    assert text.startswith("t_first000 was not gone on with: 'codex'")
