"""The agent's answer to one steered message: what it said at the end of the turn that took it."""

import sqlite3
import time
from typing import Any

from cuekit.errors import CuekitError, InvalidState, TimedOut
from cuekit.launch import events, notify
from cuekit.model.activity import Activity
from cuekit.panes.evidence import Taken, after, in_order, last_taken
from cuekit.panes.steer import Receipt
from cuekit.paths import Home
from cuekit.store import tasks

RECHECK_S = 1.0
GUESS_S = 1.0  # an idle agent that no event says the end of: how long to wait for such a word


def await_answer(
    db: sqlite3.Connection,
    home: Home,
    task_id: str,
    receipt: Receipt,
    since: int,
    deadline: float | None,
) -> str | None:
    """Wait for the end of the turn that took a message; the agent's last words then.

    `since` is the number of the last event before the message. Raises TimedOut at the deadline
    (monotonic seconds), InvalidState (`not_taken`, `approval_required`), CuekitError
    (`turn_failed`, `turn_interrupted`).
    """
    if receipt.state not in ("submitted", "queued"):
        raise InvalidState(
            f"the message to {task_id} was {receipt.state}, so no answer can be waited for",
            code="not_taken",
            hint=f"cuekit task attach {task_id}",
            details={"receipt": receipt.state, "warnings": receipt.warnings},
        )
    idle_since: float | None = None
    end_since: float | None = None
    with notify.Waiter([home.run(task_id)]) as waiter:
        while True:
            task = tasks.get(db, task_id)
            if task is None:
                raise InvalidState(f"the task {task_id} was deleted meanwhile", code="task_ended")
            found = in_order(events.read(task.task_dir, since))
            ours = _taken_by(found, receipt)
            end = _turn_end(found, ours.seq) if ours else None
            now = time.monotonic()
            end_since = (end_since or now) if end is not None else None
            # The end of a turn that ran before may not be ours: claude 2.1.332 tells of a message
            # when it queues it, and again 0.3 s after that turn's end, when it takes it.
            sure = ours is not None and (ours.begins_turn or task.ended)
            if end is not None and (sure or now - (end_since or now) >= GUESS_S):
                return outcome(end, task)
            if task.ended:
                return task.summary
            refuse_waiting(task)
            # Without hooks no event ends a turn: then an agent that stays idle is at its end.
            idle = task.activity == Activity.IDLE and receipt.state == "submitted"
            idle_since = (idle_since or now) if idle and (ours or not _has_hooks(found)) else None
            if idle_since is not None and now - idle_since > GUESS_S and _worked(found):
                return task.summary
            left = RECHECK_S if deadline is None else deadline - now
            if left <= 0:
                raise TimedOut(
                    f"the agent of {task_id} has not answered yet",
                    hint=f"the message was {receipt.state}; cuekit task wait {task_id}",
                    details={"receipt": receipt.state, "turn": receipt.turn},
                )
            waiter.wait(min(RECHECK_S if end is None else GUESS_S / 4, left))


def _taken_by(found: list[dict[str, Any]], receipt: Receipt) -> Taken | None:
    told = last_taken(found, receipt.texts)
    if told is None and receipt.seq is not None:
        return Taken(receipt.turn, receipt.evidence or "", receipt.seq)
    return told


def _turn_end(found: list[dict[str, Any]], taken_in: int) -> dict[str, Any] | None:
    return next((e for e in after(found, taken_in) if e["kind"] == "turn_completed"), None)


def _has_hooks(found: list[dict[str, Any]]) -> bool:
    return any(event["kind"] == "prompt_accepted" for event in found)


def _worked(found: list[dict[str, Any]]) -> bool:
    return any(e["kind"] == "status" and e.get("activity") == Activity.WORKING for e in found)


def outcome(end: dict[str, Any], task: tasks.Task) -> str | None:
    """The agent's words at the end of a turn. Raises CuekitError for one that ended badly."""
    outcome = end.get("outcome")
    words = end.get("message")
    if outcome == "completed":
        return words if isinstance(words, str) else task.summary
    raise CuekitError(
        f"the agent's turn ended as {outcome}" + (f": {words}" if words else ""),
        code=f"turn_{outcome}",
        hint=f"cuekit task attach {task.task_id}",
        retryable=True,
    )


def refuse_waiting(task: tasks.Task) -> None:
    """Raise InvalidState (`approval_required`) while the agent waits for somebody."""
    if task.activity in (Activity.WAITING_APPROVAL, Activity.WAITING_INPUT):
        raise InvalidState(
            f"the agent of {task.task_id} asks for something: {task.activity_detail or 'a dialog'}",
            code="approval_required",
            hint=f"cuekit task attach {task.task_id}, then cuekit task wait {task.task_id}",
            details={"activity": task.activity},
        )
