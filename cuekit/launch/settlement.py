"""The end of a task: verdict, sentinel, store, events, waiters, in this order.

Used by the supervisor at the child's end, and by a later command when the supervisor is gone.
"""

import contextlib
import os
import sqlite3
import time
from typing import Any

from cuekit.launch import events, notify
from cuekit.launch import plan as plans
from cuekit.model.activity import Activity, Source
from cuekit.model.lifecycle import Evidence, Verdict, judge, with_report
from cuekit.model.report import ENDING
from cuekit.store import tasks
from cuekit.store.tasks import Task

STORE_SECONDS = 30.0


def settle(db: sqlite3.Connection, task: Task, run_dir: str, evidence: Evidence) -> bool:
    """Move a task to the end that the evidence allows; False when it had ended already.

    Raises sqlite3.Error when the store cannot be written for half a minute.
    """
    verdict = with_report(judge(evidence), task.reported)
    values: dict[str, Any] = {
        "exit_code": evidence.exit_code,
        "exit_signal": evidence.exit_signal,
        "error": error_of(verdict),
        "activity": Activity.IDLE,
        "activity_since": time.time(),
        "activity_source": Source.SUPERVISOR,
        "activity_detail": None,
    }
    if task.reported is not None:
        if task.reported.get("type") in ENDING:
            values["summary"] = task.reported["message"]
        else:
            values["reported"] = None  # a request for help is over with the run
    moved = _patiently(lambda: tasks.move(db, task.task_id, verdict.status, values))
    if moved:
        with contextlib.suppress(OSError):  # the folder may be gone or the disk full
            events.append(
                task.task_dir,
                task.task_id,
                "run_finished",
                {
                    "outcome": str(verdict.status),
                    "cause": str(evidence.cause),
                    "exit_code": evidence.exit_code,
                    "exit_signal": evidence.exit_signal,
                    "error": values["error"],
                },
            )
    notify.wake(run_dir)
    return moved


def error_of(verdict: Verdict) -> dict[str, Any] | None:
    """The error object of a verdict, as the status view shows it."""
    if verdict.error_code is None:
        return None
    return {
        "code": verdict.error_code,
        "message": verdict.error_message,
        "hint": verdict.error_hint,
        "retryable": verdict.error_code in ("never_started", "supervisor_lost"),
        "details": {},
    }


def prepare_run_folder(run_dir: str) -> None:
    """Make the private folders that supervisor, hooks and waiters use."""
    for path in (run_dir, os.path.join(run_dir, plans.SPOOL), os.path.join(run_dir, plans.WAITERS)):
        os.mkdir(path, 0o700)


def _patiently(action: Any) -> bool:
    """Try again while the store is locked or the disk is full; what happened must be stored."""
    deadline = time.monotonic() + STORE_SECONDS
    while True:
        try:
            return bool(action())
        except sqlite3.OperationalError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.2)
