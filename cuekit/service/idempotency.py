"""Idempotency keys: a submit that is repeated with its key gives the task of the first one."""

import sqlite3
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from cuekit.config import load
from cuekit.config.effective import Effective
from cuekit.errors import CuekitError, InvalidInput
from cuekit.model.lifecycle import Status
from cuekit.paths import Home
from cuekit.service import lookup
from cuekit.service.request import SubmitRequest, working_folder
from cuekit.store import db as store
from cuekit.store import tasks
from cuekit.store.tasks import Task

START_SECONDS = 30.0
LOOK_SECONDS = 0.05
NOT_THE_TASK = ("idempotency_key", "dry_run", "trust", "via", "session")
"""What may differ between two submits of the same task."""


def session_of(request: SubmitRequest, effective: Effective, origin: str) -> str:
    """The session that a submit belongs to: as named, as configured, or the project's."""
    named = request.session or effective.submit.session
    return named or lookup.session_of(lookup.project_of(origin))


def repeated(request: SubmitRequest, home: Home, environ: Mapping[str, str]) -> Task | None:
    """The task of an earlier submit with this key and a worktree; None when there is none.

    Raises as `earlier`.
    """
    if request.idempotency_key is None or request.worktree is None or request.dry_run:
        return None
    origin = working_folder(request.cwd)
    session = session_of(request, load.effective(origin, home, environ), origin)
    with store.opened(home) as db:
        return earlier(db, {"session_id": session, **columns(request, origin)})


def columns(request: SubmitRequest, cwd: str) -> dict[str, Any]:
    """What the task's row has of the key; nothing without one."""
    if request.idempotency_key is None:
        return {}
    return {
        "idempotency_key": request.idempotency_key,
        "idempotency_sha256": fingerprint(request, cwd),
    }


def fingerprint(request: SubmitRequest, cwd: str) -> str:
    """A hash of everything that the caller asked for."""
    import hashlib
    import json

    asked = {k: v for k, v in asdict(request).items() if k not in NOT_THE_TASK} | {"cwd": cwd}
    text = json.dumps(asked, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def earlier(db: sqlite3.Connection, values: Mapping[str, Any]) -> Task | None:
    """The task that was submitted with this key, once it has started; None when there is none.

    Raises InvalidInput (`idempotency_conflict`) where it was another one that was asked for, and
    CuekitError (`start_unclear`).
    """
    key, session = values.get("idempotency_key"), str(values["session_id"])
    if key is None:
        return None
    deadline = time.monotonic() + START_SECONDS
    while True:
        task = tasks.with_key(db, session, str(key))
        if task is None:
            return None
        if task.idempotency_sha256 != values["idempotency_sha256"]:
            raise InvalidInput(
                f"the idempotency key {key!r} was used for another task: {task.task_id}",
                code="idempotency_conflict",
                hint="give another key, or ask for the same as then",
                details={"task_id": task.task_id},
            )
        if task.status is not Status.QUEUED:
            return task
        if time.monotonic() >= deadline:
            raise CuekitError(
                f"{task.task_id}, which has this key, has not started yet",
                code="start_unclear",
                hint=f"cuekit task status {task.task_id}",
                retryable=True,
                details={"task_id": task.task_id},
            )
        time.sleep(LOOK_SECONDS)  # its submit is at work; if it fails, the task is gone
