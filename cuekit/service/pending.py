"""Approvals that wait: which a task has, and the end of those that nobody can answer any more."""

import sqlite3
from typing import Any

from cuekit.model.times import rfc3339
from cuekit.paths import Home


def any_pending(db: sqlite3.Connection) -> bool:
    """Whether any approval waits at all; costs next to nothing."""
    found = db.execute("SELECT 1 FROM approval WHERE state = 'pending' LIMIT 1").fetchone()
    return found is not None


def of_task(db: sqlite3.Connection, task_id: str) -> list[dict[str, Any]]:
    """What a task waits for, oldest first, as its status view shows it."""
    rows = db.execute(
        "SELECT approval_id, tool, risk, requested_at FROM approval"
        " WHERE task_id = ? AND state = 'pending' ORDER BY requested_at",
        (task_id,),
    )
    return [
        {
            "approval_id": row["approval_id"],
            "tool": row["tool"],
            "risk": row["risk"],
            "requested_at": rfc3339(row["requested_at"]),
        }
        for row in rows
    ]


def settle(home: Home, db: sqlite3.Connection) -> None:
    """End as abandoned each request whose asker is gone, or whose task has ended.

    The agent cannot be answered then, and nothing may be allowed later.
    """
    if not any_pending(db):
        return
    from cuekit.launch import processes
    from cuekit.store import approvals, tasks

    for approval in approvals.listed(db, state="pending", most=10_000):
        task = tasks.get(db, approval.task_id)
        if task is None or task.ended:
            _abandon(home, db, approval, "the task has ended")
        elif approval.asker is not None and not processes.alive(approval.asker):
            _abandon(home, db, approval, "the process that asked is gone")


def _abandon(home: Home, db: sqlite3.Connection, approval: Any, why: str) -> None:
    from contextlib import suppress

    from cuekit.launch import events, notify
    from cuekit.model.approval import ApprovalState
    from cuekit.store import approvals, tasks

    if not approvals.close(db, approval.approval_id, ApprovalState.ABANDONED, why):
        return  # somebody was first
    task = tasks.get(db, approval.task_id)
    if task is not None:
        values = {
            "approval_id": approval.approval_id,
            "state": str(ApprovalState.ABANDONED),
            "decision": None,
            "decided_by": None,
            "how": why,
        }
        with suppress(OSError):  # the folder may be gone or the disk full
            events.append(task.task_dir, task.task_id, "approval_resolved", values)
    notify.wake(home.run(approval.task_id))
