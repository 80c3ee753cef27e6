"""Killing cuekit at every step: each task tells the truth after, and nothing runs unowned."""

import contextlib
import os
import random
import signal
import time
from pathlib import Path

import pytest

from cuekit import faults, files
from cuekit.model.task import tmux_session_name
from cuekit.store.tasks import Task
from tests.support.wait import wait_until
from tests.support.workplace import Workplace

RANDOM_KILLS = int(os.environ.get("CUEKIT_TEST_KILLS", "200"))
LONGEST_SUBMIT = 0.6  # seconds; the moments are spread over this
TRUTHS = {
    ("running", None),
    ("completed", None),
    ("failed", "never_started"),
}


def submit_and_die(workplace: Workplace, objective: str, point: str) -> None:
    workplace.env["CUEKIT_FAULT"] = point
    try:
        started = workplace.command("task", "submit", "--agent-kind", "shell", objective)
        started.communicate(timeout=60)
    finally:
        del workplace.env["CUEKIT_FAULT"]
    assert started.returncode == -signal.SIGKILL, point


def is_settled(workplace: Workplace) -> bool:
    """Whether no supervisor is still on its way to its start."""
    return all(
        task.status != "queued" or not files.is_locked(f"{workplace.home.run(task.task_id)}/lock")
        for task in workplace.tasks()
    )


def truth(task: Task) -> tuple[str, str | None]:
    return str(task.status), task.error["code"] if task.error else None


def check_that_all_is_owned(workplace: Workplace, processes: set[str]) -> None:
    known = {task.task_id: task for task in workplace.tasks()}
    for task_id in processes:
        assert task_id in known, f"processes of {task_id}, which no task has"
        assert known[task_id].status == "running", task_id
    running = {tmux_session_name(one) for one, task in known.items() if task.status == "running"}
    wait_until(
        lambda: set(workplace.server.sessions()) <= running, 20, "sessions without a task to close"
    )


def running_task_ids(workplace: Workplace) -> set[str]:
    """The task ids in the environments of live processes, of this home folder alone."""
    found = set()
    home = f"CUEKIT_HOME={workplace.home.root}".encode()
    for entry in Path("/proc").iterdir():
        try:
            pairs = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if home in pairs:
            found |= {pair[15:].decode() for pair in pairs if pair.startswith(b"CUEKIT_TASK_ID=")}
    return found


@pytest.mark.parametrize("point", faults.POINTS)
def test_a_submit_killed_at_a_named_step_leaves_a_task_that_tells_the_truth(
    workplace: Workplace, point: str
) -> None:
    submit_and_die(workplace, "sleep 100", point)
    # A pane that was made goes on by itself, so its supervisor may be at work for a moment more.
    wait_until(
        lambda: is_settled(workplace) and all(t.status != "queued" for t in workplace.tasks()), 10
    )
    found = [truth(task) for task in workplace.tasks()]
    if point == "submit.resolved":
        assert found == []
    elif point in ("submit.session_started", "submit.child_seen"):
        assert found == [("running", None)]
    else:
        assert found == [("failed", "never_started")]
    check_that_all_is_owned(workplace, running_task_ids(workplace))
    for path in Path(workplace.home.root).rglob("environment"):
        raise AssertionError(f"{path} may hold secrets")
    workplace.ended(workplace.submit("true"))


@pytest.mark.timeout(300)
def test_submits_killed_at_random_moments_leave_nothing_untold(workplace: Workplace) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    left = RANDOM_KILLS
    while left > 0:
        batch = []
        for _ in range(min(4, left)):
            started = workplace.command("task", "submit", "--agent-kind", "shell", "sleep 1000")
            batch.append((started, time.monotonic() + chance.random() * LONGEST_SUBMIT))
        left -= len(batch)
        for started, moment in sorted(batch, key=lambda one: one[1]):
            time.sleep(max(0.0, moment - time.monotonic()))
            started.kill()
            started.communicate(timeout=30)
        wait_until(
            lambda: all(task.status != "queued" for task in workplace.tasks()),
            20,
            lambda: str([truth(task) for task in workplace.tasks()]),
        )
        found = workplace.tasks()
        assert {truth(task) for task in found} <= TRUTHS | {("cancelled", None)}
        check_that_all_is_owned(workplace, running_task_ids(workplace))
        workplace.cancel(*[task.task_id for task in found if task.status == "running"])
    assert running_task_ids(workplace) == set()


def test_a_supervisor_killed_at_random_moments_is_always_told(workplace: Workplace) -> None:
    chance = random.Random()
    for _ in range(10):
        task_id = workplace.submit("sleep 0.05; echo done")
        supervisor = workplace.task(task_id).supervisor
        time.sleep(chance.random() * 0.15)
        with contextlib.suppress(ProcessLookupError, TypeError):
            os.kill(supervisor["pid"], signal.SIGKILL)  # type: ignore[index]
        task = workplace.ended(task_id)
        assert truth(task) in {("completed", None), ("failed", "supervisor_lost")}
        wait_until(lambda one=task_id: workplace.carriers(one) == [], 5)  # type: ignore[misc]
