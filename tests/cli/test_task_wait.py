"""`task wait`: what counts, how it wakes, and its exit status."""

import json
import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from cuekit.launch import notify
from cuekit.model.lifecycle import Status
from cuekit.store import db, tasks
from tests.support.command_line import CommandLine, cli
from tests.support.wait import wait_until

__all__ = ["cli"]

A, B = "t_aaaaaaaa", "t_bbbbbbbb"
NOW, NOT_YET, OTHERWISE = 0, 5, 6


@pytest.mark.parametrize(
    ("status", "activity", "turn", "words", "outcome"),
    [
        (Status.RUNNING, "working", 1, [], NOT_YET),
        (Status.RUNNING, "unknown", 0, [], NOT_YET),
        (Status.RUNNING, "idle", 0, [], NOT_YET),  # started, and no turn begun
        (Status.RUNNING, "idle", 1, [], NOW),
        (Status.RUNNING, "waiting_approval", 1, [], NOW),
        (Status.RUNNING, "waiting_input", 0, [], NOW),
        (Status.INPUT_REQUIRED, "unknown", 1, [], NOW),
        (Status.RUNNING, "idle", 1, ["--until", "idle"], NOW),
        (Status.RUNNING, "idle", 1, ["--after", "1"], NOT_YET),
        (Status.RUNNING, "idle", 2, ["--after", "1"], NOW),
        (Status.RUNNING, "idle", 2, ["--until", "idle", "--after", "2"], NOT_YET),
        (Status.RUNNING, "waiting_approval", 1, ["--until", "idle"], NOT_YET),
        (Status.RUNNING, "waiting_approval", 1, ["--until", "approval"], NOW),
        (Status.RUNNING, "waiting_input", 0, ["--until", "approval"], NOW),
        (Status.RUNNING, "idle", 1, ["--until", "approval"], NOT_YET),
        (Status.RUNNING, "idle", 1, ["--until", "terminal"], NOT_YET),
        (Status.COMPLETED, "idle", 1, ["--until", "terminal"], NOW),
        (Status.COMPLETED, "working", 1, ["--until", "idle", "--after", "9"], NOW),
        (Status.FAILED, "unknown", 0, [], OTHERWISE),
        (Status.CANCELLED, "unknown", 0, ["--until", "approval"], OTHERWISE),
        (Status.TIMED_OUT, "unknown", 0, ["--until", "idle"], OTHERWISE),
    ],
)
def test_what_is_waited_for(
    cli: CommandLine, status: Status, activity: str, turn: int, words: list[str], outcome: int
) -> None:
    cli.task(A, status, mode="interactive", activity=activity, turn=turn)
    done = cli.run("task", "wait", A, "--timeout", "50ms", "--format", "json", *words)
    assert (done.returncode, json.loads(done.stdout)["status"]) == (outcome, status)


def test_a_batch_task_is_waited_for_until_its_end(cli: CommandLine) -> None:
    cli.task(A, Status.RUNNING, mode="batch", activity="idle", turn=1)
    assert cli.run("task", "wait", A, "--timeout", "50ms").returncode == NOT_YET


class Waiting:
    """A running `task wait`."""

    def __init__(self, cli: CommandLine, *words: str) -> None:
        self.cli = cli
        self.child = subprocess.Popen(
            [sys.executable, "-m", "cuekit", "task", "wait", *words, "--format", "json"],
            env=cli.env,
            cwd=cli.project,
            stdout=subprocess.PIPE,
        )
        ids = [word for word in words if word.startswith("t_")]
        wait_until(lambda: all(self.waiters(task_id) for task_id in ids), 20, "it waits")

    def waiters(self, task_id: str) -> list[str]:
        return os.listdir(Path(self.cli.home.run(task_id), "waiters"))

    def move(self, task_id: str, status: Status, *, wake: bool = True) -> None:
        with closing(db.open_store(self.cli.home)) as store:
            assert tasks.move(store, task_id, status)
        if wake:
            notify.wake(self.cli.home.run(task_id))

    def outcome(self) -> tuple[int, list[tuple[str, str]], float]:
        """Exit status, the tasks with their states, and the seconds until then."""
        started = time.monotonic()
        out, _ = self.child.communicate(timeout=30)
        found = json.loads(out)
        views = found.get("tasks", [found])
        states = [(view["task_id"], view["status"]) for view in views]
        return self.child.returncode, states, time.monotonic() - started


def test_it_wakes_at_once_when_the_task_ends(cli: CommandLine) -> None:
    cli.task(A, Status.RUNNING)
    waiting = Waiting(cli, A)
    waiting.move(A, Status.COMPLETED)
    status, states, seconds = waiting.outcome()
    assert (status, states) == (0, [(A, "completed")])
    assert seconds < 0.9  # sooner than it looks by itself
    assert waiting.waiters(A) == []


def test_it_sees_a_change_that_nobody_told_it_of(cli: CommandLine) -> None:
    cli.task(A, Status.RUNNING)
    waiting = Waiting(cli, A)
    waiting.move(A, Status.FAILED, wake=False)
    status, states, _ = waiting.outcome()
    assert (status, states) == (6, [(A, "failed")])


def test_it_waits_for_all_or_for_the_first(cli: CommandLine) -> None:
    cli.task(A, Status.RUNNING)
    cli.task(B, Status.RUNNING)
    every, first = Waiting(cli, A, B), Waiting(cli, A, B, "--first")
    every.move(B, Status.COMPLETED)
    assert first.outcome()[:2] == (0, [(B, "completed")])
    assert every.child.poll() is None
    every.move(A, Status.CANCELLED)
    assert every.outcome()[:2] == (6, [(A, "cancelled"), (B, "completed")])


def test_a_task_that_is_deleted_meanwhile_is_not_found(cli: CommandLine) -> None:
    cli.task(A, Status.RUNNING)
    cli.task(B, Status.RUNNING)
    waiting = Waiting(cli, A, B)
    waiting.move(A, Status.COMPLETED)
    assert cli.json("task", "delete", A) == {"removed": [A], "kept": []}
    waiting.child.communicate(timeout=30)
    assert waiting.child.returncode == 3


def test_an_idle_agent_whose_turn_failed_is_told_with_its_words(cli: CommandLine) -> None:
    cli.task(
        A,
        Status.RUNNING,
        mode="interactive",
        activity="idle",
        turn=1,
        last_turn="failed",
        turn_error="500 from the model",
    )
    view = cli.json("task", "wait", A)
    assert view["error"] == {
        "code": "turn_failed",
        "message": "500 from the model",
        "hint": f"cuekit task steer {A} MESSAGE goes on with it",
        "retryable": True,
        "details": {"turn": 1},
    }
