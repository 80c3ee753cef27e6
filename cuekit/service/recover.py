"""`recover`: after a reboot or a crash, what was alive, and going on with what one chooses."""

import sqlite3
from collections.abc import Mapping, Sequence

from cuekit.errors import NotFound
from cuekit.service import lookup
from cuekit.service.resume import resume
from cuekit.service.views import Json, capabilities_of
from cuekit.store import tasks
from cuekit.store.tasks import Task

LOST = ("supervisor_lost", "pane_lost", "tmux_gone")
MESSAGE = "Your run was broken off from outside. Look at what is done already, then go on."


def lost(environ: Mapping[str, str]) -> list[Json]:
    """The tasks whose run was broken off from outside and not gone on with since, newest first."""
    with lookup.settled_store(environ) as (_, db):
        return [_view(task) for task in _lost(db)]


def recover(
    refs: Sequence[str], environ: Mapping[str, str], *, message: str = MESSAGE, trust: bool = False
) -> list[Json]:
    """Go on with the conversations of lost tasks; the status views of the new tasks.

    Raises NotFound (`not_lost`) for a task that was not broken off, and what `resume` raises.
    """
    with lookup.settled_store(environ) as (_, db):
        known = {task.task_id for task in _lost(db)}
        found = lookup.resolve_all(db, refs)
    for task in found:
        if task.task_id not in known:
            raise NotFound(
                f"the task {task.task_id} was not broken off: {task.status}",
                code="not_lost",
                hint="cuekit recover lists those that were",
            )
    return [resume(task.task_id, message, environ, trust=trust) for task in found]


def _lost(db: sqlite3.Connection) -> list[Task]:
    rows = db.execute(
        "SELECT task_id FROM task AS old WHERE status = 'failed' AND error IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM task AS new WHERE new.resumed_from = old.task_id)"
        " ORDER BY created_at DESC"
    )
    found = (tasks.get(db, row[0]) for row in rows.fetchall())
    return [task for task in found if task and task.error and task.error.get("code") in LOST]


def _view(task: Task) -> Json:
    able = capabilities_of(task.agent_kind, task.mode)
    resumable = bool(task.agent_session_id and able and able.supports_resume)
    return {
        "task_id": task.task_id,
        "agent_kind": task.agent_kind,
        "mode": task.mode,
        "cwd": task.cwd,
        "summary": task.summary,
        "agent_session_id": task.agent_session_id,
        "resumable": resumable,
        "error": task.error,
    }
