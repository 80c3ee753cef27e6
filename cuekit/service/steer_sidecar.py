"""`task steer` for a supervised task: the message goes to the sidecar, and over the protocol."""

import sqlite3
import time
from collections.abc import Mapping
from typing import Any

from cuekit.errors import CuekitError, InvalidState, TimedOut
from cuekit.launch import events, notify
from cuekit.model.activity import Activity
from cuekit.paths import Home
from cuekit.service import settle
from cuekit.service.answer import outcome, refuse_waiting
from cuekit.store import inbox, tasks
from cuekit.store.tasks import Task

RECEIPT_S = 60.0  # the agent may be starting, and its machine loaded
RECHECK_S = 1.0


def steer(
    home: Home,
    db: sqlite3.Connection,
    environ: Mapping[str, str],
    task: Task,
    text: str,
    *,
    interrupt: bool,
    when_idle: bool,
    deadline: float | None,
) -> dict[str, Any]:
    """Give the sidecar a message and wait for its receipt.

    Raises InvalidState (`task_ended`, `dialog_open` while an approval waits and the message would
    have to wait for it), TimedOut, and the error that the agent's side gave.
    """
    run_dir = home.run(task.task_id)
    with notify.Waiter([run_dir]) as waiter:
        if when_idle:
            _await_idle(home, db, environ, task.task_id, waiter, deadline)
        number = inbox.put(db, task.task_id, "steer", {"text": text, "interrupt": interrupt})
        notify.wake(run_dir)
        limit = time.monotonic() + RECEIPT_S
        if deadline is not None:
            limit = min(limit, deadline)
        while True:
            message = inbox.get(db, number)
            if message is not None and message.receipt is not None:
                return _receipt(message.receipt)
            _require_live(db, task.task_id)
            if time.monotonic() >= limit:
                raise TimedOut(
                    f"the sidecar of {task.task_id} has not said what became of the message",
                    hint=f"cuekit task events {task.task_id}",
                )
            waiter.wait(min(RECHECK_S, limit - time.monotonic()))
            settle.reconcile(home, db, environ)


def interrupt(
    home: Home, db: sqlite3.Connection, environ: Mapping[str, str], task: Task
) -> dict[str, Any]:
    """End the running turn; the receipt."""
    run_dir = home.run(task.task_id)
    with notify.Waiter([run_dir]) as waiter:
        number = inbox.put(db, task.task_id, "interrupt", {})
        notify.wake(run_dir)
        limit = time.monotonic() + RECEIPT_S
        while time.monotonic() < limit:
            message = inbox.get(db, number)
            if message is not None and message.receipt is not None:
                return _receipt(message.receipt)
            _require_live(db, task.task_id)
            waiter.wait(RECHECK_S)
            settle.reconcile(home, db, environ)
    raise TimedOut(f"the sidecar of {task.task_id} does not answer", hint="cuekit task cancel")


def await_answer(
    home: Home,
    db: sqlite3.Connection,
    environ: Mapping[str, str],
    task_id: str,
    receipt: dict[str, Any],
    deadline: float | None,
) -> str | None:
    """Wait for the end of the turn that takes a message; the agent's last words then.

    Raises TimedOut, InvalidState (`approval_required`), CuekitError (`turn_failed`,
    `turn_interrupted`).
    """
    number = int(receipt["answered_by_end"])
    with notify.Waiter([home.run(task_id)]) as waiter:
        while True:
            task = tasks.get(db, task_id)
            ends = (
                [e for e in events.read(task.task_dir) if e["kind"] == "turn_completed"]
                if task
                else []
            )
            if task is not None and len(ends) >= number:
                return outcome(ends[number - 1], task)
            task = _require_live(db, task_id)
            refuse_waiting(task)
            left = RECHECK_S if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise TimedOut(
                    f"the agent of {task_id} has not answered yet",
                    hint=f"cuekit task wait {task_id}",
                )
            waiter.wait(min(RECHECK_S, left))
            settle.reconcile(home, db, environ)


def _receipt(receipt: dict[str, Any]) -> dict[str, Any]:
    error = receipt.get("error")
    if not error:
        return receipt
    raise CuekitError(
        str(error.get("message")),
        code=str(error.get("code")),
        hint=error.get("hint"),
        details=error.get("details"),
    )


def _require_live(db: sqlite3.Connection, task_id: str) -> Task:
    task = tasks.get(db, task_id)
    if task is None or task.ended:
        raise InvalidState(
            f"the task {task_id} has ended: {task.status if task else 'deleted'}",
            code="task_ended",
            hint=f"cuekit task result {task_id}",
        )
    return task


def _await_idle(
    home: Home,
    db: sqlite3.Connection,
    environ: Mapping[str, str],
    task_id: str,
    waiter: notify.Waiter,
    deadline: float | None,
) -> None:
    while _require_live(db, task_id).activity != Activity.IDLE:
        left = RECHECK_S if deadline is None else deadline - time.monotonic()
        if left <= 0:
            raise TimedOut(f"the agent of {task_id} did not become idle", hint="nothing was sent")
        waiter.wait(min(RECHECK_S, left))
        settle.reconcile(home, db, environ)
