"""Supervised tasks whose agent, sidecar, store or disk does not do as it should.

The agent here is a stand-in that speaks codex's protocol and misbehaves as it is told; the
command line, the supervisor, the sidecar, tmux and the store are the real ones.
"""

import fcntl
import os
import signal
import sqlite3
import stat
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cuekit.errors import CuekitError
from cuekit.launch import events as event_log
from cuekit.model.approval import Decision, DecisionKind
from cuekit.service import approvals
from cuekit.store.tasks import Task
from tests.support.wait import wait_until
from tests.support.workplace import Workplace

STAND_IN = Path(__file__).parents[1] / "unit" / "protocols" / "codex_stand_in.py"


def start(place: Workplace, behaviour: str, **values: Any) -> str:
    """A supervised task whose codex is the stand-in."""
    folder = place.root / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / "codex"
    program.write_text(
        '#!/bin/sh\ncase "$1" in --version) echo codex-cli 0.171.0; exit;; esac\n'
        f'case "$*" in *--help*) exit 0;; esac\nexec "{sys.executable}" "{STAND_IN}" {behaviour}\n'
    )
    program.chmod(0o755)
    if not place.env["PATH"].startswith(str(folder)):
        place.env["PATH"] = f"{folder}:{place.env['PATH']}"
    return place.submit("hello", agent_kind="codex", mode="supervised", **values)


def events(place: Workplace, task_id: str, kind: str) -> list[dict[str, Any]]:
    found = event_log.read(place.task(task_id).task_dir)
    return [event for event in found if event["kind"] == kind]


def screen(place: Workplace, task_id: str) -> str:
    return place.server.screen(f"=cuekit-task-{task_id}:")


def turn_over(place: Workplace, task_id: str) -> Task:
    wait_until(
        lambda: place.task(task_id).last_turn is not None,
        40,
        lambda: f"{place.task(task_id)}\n{screen(place, task_id)}",
    )
    return place.task(task_id)


def asked(place: Workplace, task_id: str) -> dict[str, Any]:
    def look() -> list[dict[str, Any]]:
        return approvals.list_approvals(place.env, task=task_id)

    wait_until(look, 30, lambda: str(place.task(task_id)))
    return look()[0]


def running(place: Workplace, task_id: str, words: str) -> list[int]:
    """The processes of a task with these words in their command line."""
    found = []
    for pid in place.carriers(task_id):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if words.encode() in line:
            found.append(pid)
    return found


def test_garbage_is_kept_and_the_turn_goes_on(workplace: Workplace) -> None:
    task_id = start(workplace, "garbage")
    assert turn_over(workplace, task_id).last_turn == "completed"
    raw = [event["native"] for event in events(workplace, task_id, "raw")]
    assert "not json" in str(raw)
    assert "no/such/notification" in str(raw)


def test_half_a_line_and_an_end_fail_the_task_with_the_reason(workplace: Workplace) -> None:
    task_id = start(workplace, "half")
    task = workplace.ended(task_id, 40)
    assert (task.status, task.last_turn) == ("failed", "failed")
    assert "exit status 3" in str(task.error), task.error
    assert "item/agentMessage/delta" in str(events(workplace, task_id, "raw"))


def test_fifty_megabytes_in_one_line_are_one_event(workplace: Workplace) -> None:
    task_id = start(workplace, "big")
    assert turn_over(workplace, task_id).last_turn == "completed"
    (text,) = events(workplace, task_id, "assistant_text")
    assert len(text["text"]) == 50_000_000


def test_a_decision_that_is_not_offered_leaves_the_request_waiting(workplace: Workplace) -> None:
    task_id = start(workplace, "asks_permissions")
    request = asked(workplace, task_id)
    always = Decision(DecisionKind.ALLOW_ALWAYS, scope="task")
    with pytest.raises(CuekitError) as refused:
        approvals.decide(request["approval_id"], always, workplace.env)
    assert refused.value.code == "not_offered"
    pane = f"=cuekit-task-{task_id}:"
    wait_until(lambda: "n: deny" in screen(workplace, task_id), 10)
    assert "a: always" not in screen(workplace, task_id)
    wait_until(lambda: _note_after_key(workplace, pane, task_id), 10)
    assert asked(workplace, task_id)["state"] == "pending"


def _note_after_key(place: Workplace, pane: str, task_id: str) -> bool:
    place.server.run("send-keys", "-l", "-t", pane, "a")
    try:
        wait_until(lambda: "that is no answer here" in screen(place, task_id), 2)
    except AssertionError:
        return False
    return True


def test_a_killed_sidecar_abandons_the_request_and_leaves_no_agent(workplace: Workplace) -> None:
    task_id = start(workplace, "dies_asking")
    request = asked(workplace, task_id)
    (sidecar,) = running(workplace, task_id, "cuekit.sidecar")
    agents = running(workplace, task_id, "codex_stand_in")
    assert agents
    os.kill(sidecar, signal.SIGKILL)
    task = workplace.ended(task_id)
    assert task.status == "failed"
    assert (task.error or {})["code"] == "agent_killed"
    wait_until(lambda: not running(workplace, task_id, "codex_stand_in"), 10)
    shown = approvals.show(request["approval_id"], workplace.env)
    assert shown["state"] == "abandoned"
    with pytest.raises(CuekitError) as late:
        approvals.decide(request["approval_id"], Decision(DecisionKind.ALLOW), workplace.env)
    assert late.value.code == "approval_over"


def test_a_killed_agent_abandons_the_request_and_fails_the_task(workplace: Workplace) -> None:
    task_id = start(workplace, "dies_asking")
    request = asked(workplace, task_id)
    for pid in running(workplace, task_id, "codex_stand_in"):
        os.kill(pid, signal.SIGKILL)
    task = workplace.ended(task_id)
    assert (task.status, task.last_turn) == ("failed", "failed")
    assert "signal 9" in str(task.error), task.error
    assert approvals.show(request["approval_id"], workplace.env)["state"] == "abandoned"
    (resolved,) = events(workplace, task_id, "approval_resolved")
    assert (resolved["state"], resolved["decision"]) == ("abandoned", None)


def test_a_store_that_is_locked_for_seconds_loses_nothing(workplace: Workplace) -> None:
    task_id = start(workplace, "dies_asking")
    request = asked(workplace, task_id)
    with closing(sqlite3.connect(workplace.home.database, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        decider = workplace.command("approval", "allow", request["approval_id"])
        with pytest.raises(Exception, match="timed out"):
            decider.wait(3)
        assert events(workplace, task_id, "approval_resolved") == []
        db.execute("COMMIT")
    decider.communicate(timeout=20)
    assert decider.returncode == 0
    task = turn_over(workplace, task_id)
    assert task.last_turn == "completed"
    assert "accept" in str(task.summary)


def test_events_that_cannot_be_written_are_kept_and_written_later(workplace: Workplace) -> None:
    task_id = start(workplace, "dies_asking")
    request = asked(workplace, task_id)
    with open(Path(workplace.task(task_id).task_dir, event_log.FILE_NAME), "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        approvals.decide(request["approval_id"], Decision(DecisionKind.ALLOW), workplace.env)
        assert turn_over(workplace, task_id).last_turn == "completed"
        wait_until(lambda: "kept until they can" in screen(workplace, task_id), 10)
        assert events(workplace, task_id, "turn_completed") == []
    wait_until(lambda: "are written again" in screen(workplace, task_id), 10)
    kinds = [event["kind"] for event in event_log.read(workplace.task(task_id).task_dir)]
    tail = kinds[kinds.index("approval_resolved") :]
    assert tail == ["approval_resolved", "assistant_text", "turn_completed"]


def test_two_deciders_in_the_same_moment_are_told_apart(workplace: Workplace) -> None:
    task_id = start(workplace, "dies_asking")
    approval_id = asked(workplace, task_id)["approval_id"]
    deciders = [workplace.command("approval", verb, approval_id) for verb in ("allow", "deny")]
    said = [decider.communicate(timeout=30) for decider in deciders]
    assert sorted(decider.returncode for decider in deciders) == [0, 4], said
    turn_over(workplace, task_id)
    assert len(events(workplace, task_id, "approval_resolved")) == 1


def test_nobody_else_can_read_what_is_private(workplace: Workplace) -> None:
    task_id = start(workplace, "dies_asking")
    asked(workplace, task_id)
    run = Path(workplace.home.run(task_id))
    private = [Path(workplace.home.root), run, *run.rglob("*"), Path(workplace.home.database)]
    private += Path(workplace.task(task_id).task_dir).iterdir()
    for path in private:
        mode = path.stat().st_mode
        assert stat.S_IMODE(mode) & 0o077 == 0, (path, oct(mode))
