"""`recover`: after a reboot or a crash, what was alive, and going on with what one chooses."""

import sqlite3
from collections.abc import Mapping, Sequence

from cuekit.errors import CuekitError, NotFound
from cuekit.service import agent_sessions, lookup
from cuekit.service.resume import problem, resume, resumed_already
from cuekit.service.views import Json
from cuekit.store import tasks
from cuekit.store.tasks import Task

LOST = ("supervisor_lost", "pane_lost", "tmux_gone")
MESSAGE = "Your run was broken off from outside. Look at what is done already, then go on."


def lost(environ: Mapping[str, str], *, since: float = 0.0) -> list[Json]:
    """The tasks whose run was broken off from outside and not gone on with since, newest first.

    `since` leaves out those that were made earlier.
    """
    with lookup.settled_store(environ) as (_, db):
        return [_view(db, task, environ) for task in _lost(db) if task.created_at >= since]


def recover(
    refs: Sequence[str], environ: Mapping[str, str], *, message: str = MESSAGE, trust: bool = False
) -> Json:
    """Go on with the conversations of lost tasks: `{tasks: [status view], failed: [...]}`.

    All are looked at before the first is started; what cannot be started after that is told of in
    `failed`, as `{task_id, error}`, and the others go on.
    Raises NotFound (`not_lost`) for a task that was not broken off, InvalidState
    (`already_resumed`), and what `resume.problem` says.
    """
    with lookup.settled_store(environ) as (_, db):
        known = {task.task_id for task in _lost(db)}
        found = lookup.resolve_all(db, refs)
        for task in found:
            if task.task_id not in known:
                raise resumed_already(db, task) or _not_lost(task)
            if error := _problem(db, task, environ):
                raise error
    started: list[Json] = []
    failed: list[Json] = []
    for task in found:
        try:
            started.append(resume(task.task_id, message, environ, trust=trust, once=True))
        except CuekitError as error:
            failed.append({"task_id": task.task_id, "error": error.as_json()})
    return {"tasks": started, "failed": failed}


def _not_lost(task: Task) -> NotFound:
    return NotFound(
        f"the task {task.task_id} was not broken off: {task.status}",
        code="not_lost",
        hint="cuekit recover lists those that were",
    )


def _lost(db: sqlite3.Connection) -> list[Task]:
    rows = db.execute(
        "SELECT task_id FROM task AS old WHERE status = 'failed' AND error IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM task AS new WHERE new.resumed_from = old.task_id)"
        " ORDER BY created_at DESC"
    )
    found = (tasks.get(db, row[0]) for row in rows.fetchall())
    return [task for task in found if task and task.error and task.error.get("code") in LOST]


def _problem(db: sqlite3.Connection, task: Task, environ: Mapping[str, str]) -> CuekitError | None:
    session = agent_sessions.known(db, task, environ)
    return problem(task._replace(agent_session_id=session), task.mode, environ)


def _view(db: sqlite3.Connection, task: Task, environ: Mapping[str, str]) -> Json:
    session = agent_sessions.known(db, task, environ)
    against = problem(task._replace(agent_session_id=session), task.mode, environ)
    return {
        "task_id": task.task_id,
        "agent_kind": task.agent_kind,
        "mode": task.mode,
        "cwd": task.cwd,
        "summary": task.summary,
        "agent_session_id": session,
        "resumable": against is None,
        "problem": against.as_json() if against else None,
        "error": task.error,
    }
