"""Tasks in the store: rows out as frozen values, changes by compare-and-swap."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from cuekit.errors import InvalidInput, InvalidState
from cuekit.model.lifecycle import ACTIVE, ENDS, Status, may_move
from cuekit.store.db import writing

if TYPE_CHECKING:
    from cuekit.model.activity import Progress

JSON_COLUMNS = (
    "labels",
    "spec",
    "argv",
    "warnings",
    "error",
    "usage",
    "reported",
    "submitter",
    "supervisor",
    "child",
    "worktree",
)

MOST_NAMED = 10  # ids in the message of a quota; its details have all


class Task(NamedTuple):
    """One task as stored. Times are Unix seconds; processes are {pid, started} objects.

    A tuple, since to define a dataclass of so many fields costs each command 1.4 ms.
    """

    task_id: str
    agent_kind: str
    model: str | None
    mode: str
    status: Status
    activity: str
    activity_since: float | None
    activity_source: str | None
    activity_detail: str | None
    turn: int
    last_turn: str | None
    summary: str | None
    turn_error: str | None
    agent_session_id: str | None
    agent_log_path: str | None
    cwd: str
    task_dir: str
    session_id: str
    name: str | None
    labels: list[str]
    spec: dict[str, Any]
    argv: list[str]
    binary_version: str | None
    warnings: list[str]
    timeout_s: float | None
    keep: int
    created_at: float
    started_at: float | None
    completed_at: float | None
    updated_at: float
    exit_code: int | None
    exit_signal: int | None
    error: dict[str, Any] | None
    usage: dict[str, Any] | None
    reported: dict[str, Any] | None  # the child's own report that stands: type, message, at
    socket_path: str | None
    pane_id: str | None
    submitter: dict[str, Any] | None
    supervisor: dict[str, Any] | None
    child: dict[str, Any] | None
    parent_task_id: str | None
    resumed_from: str | None
    depth: int
    idempotency_key: str | None
    idempotency_sha256: str | None
    worktree: dict[str, Any] | None  # path, branch, origin, repository, base, made_branch

    @property
    def ended(self) -> bool:
        """Whether the task has reached its end."""
        return self.status in ENDS


class KeyTaken(Exception):
    """A task of the same session has the idempotency key already."""


def insert(
    db: sqlite3.Connection,
    values: Mapping[str, Any],
    *,
    most_live: int | None = None,
    with_it: Callable[[], None] = lambda: None,
) -> None:
    """Store a new task, queued; `with_it` writes what belongs to it, in the same transaction.

    Raises InvalidInput (`name_taken`) for a name in use, InvalidState (`quota_exceeded`) where
    `most_live` tasks go on already, and KeyTaken.
    """
    now = time.time()
    row = {"status": Status.QUEUED, "created_at": now, "updated_at": now, **_encoded(values)}
    marks = _marks(row)
    try:
        with writing(db):
            if most_live is not None:
                check_quota(db, most_live)
            db.execute(f"INSERT INTO task ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))  # noqa: S608
            with_it()
    except sqlite3.IntegrityError as error:
        if "task.idempotency_key" in str(error):
            raise KeyTaken from None
        if "task.name" not in str(error):
            raise
        raise InvalidInput(
            f"a live task has the name {values.get('name')!r} already",
            code="name_taken",
            hint="choose another --name, or cancel that task",
        ) from None


def check_quota(db: sqlite3.Connection, most_live: int, wanted: int = 1) -> None:
    """Raise InvalidState (`quota_exceeded`) where `wanted` more tasks would be too many."""
    rows = db.execute(
        f"SELECT task_id FROM task WHERE status IN ({_marks(ACTIVE)}) ORDER BY created_at",  # noqa: S608
        tuple(ACTIVE),
    ).fetchall()
    if len(rows) + wanted <= most_live:
        return
    ids = [str(row[0]) for row in rows]
    shown = ", ".join(ids[:MOST_NAMED]) + (", ..." if len(ids) > MOST_NAMED else "")
    live = f"{len(ids)} go on: {shown}" if ids else "none goes on"
    raise InvalidState(
        f"at most {most_live} tasks may go on at once, and {live}",
        code="quota_exceeded",
        hint="wait for one, cancel one, or set limits: {live_tasks: N} in your config.yaml",
        retryable=wanted <= most_live,
        details={"limit": most_live, "running": ids},
    )


def with_key(db: sqlite3.Connection, session_id: str, key: str) -> Task | None:
    """The task of a session that was submitted with this idempotency key."""
    row = db.execute(
        "SELECT * FROM task WHERE session_id = ? AND idempotency_key = ?", (session_id, key)
    ).fetchone()
    return _task(row) if row else None


def move(
    db: sqlite3.Connection,
    task_id: str,
    new: Status,
    values: Mapping[str, Any] | None = None,
    *,
    only_from: Iterable[Status] = ACTIVE,
) -> bool:
    """Move a task to another state, with further columns; False when it may not go there now."""
    froms = [old for old in only_from if may_move(old, new)]
    if not froms:
        return False
    now = time.time()
    row: dict[str, Any] = {"status": new, "updated_at": now, **_encoded(values or {})}
    if new in ENDS:
        row.setdefault("completed_at", now)
    sets = ", ".join(f"{name} = ?" for name in row)
    marks = _marks(froms)
    with writing(db):
        done = db.execute(
            f"UPDATE task SET {sets} WHERE task_id = ? AND status IN ({marks})",  # noqa: S608
            (*row.values(), task_id, *froms),
        )
        return done.rowcount == 1


def update(db: sqlite3.Connection, task_id: str, values: Mapping[str, Any]) -> bool:
    """Change columns other than the status; False when the task is gone."""
    row = {"updated_at": time.time(), **_encoded(values)}
    sets = ", ".join(f"{name} = ?" for name in row)
    with writing(db):
        done = db.execute(
            f"UPDATE task SET {sets} WHERE task_id = ?",  # noqa: S608
            (*row.values(), task_id),
        )
        return done.rowcount == 1


def store_progress(db: sqlite3.Connection, task_id: str, progress: "Progress") -> None:
    """Store what is known of the activity of a task that has not ended."""
    row: dict[str, Any] = {
        "activity": progress.activity,
        "activity_since": progress.since or None,
        "activity_source": progress.source,
        "activity_detail": progress.detail,
        "turn": progress.turn,
        "last_turn": progress.last_turn,
        "summary": progress.summary,
        "turn_error": progress.turn_error,
    }
    if progress.agent_session_id:
        row["agent_session_id"] = progress.agent_session_id
    update(db, task_id, row)


def progress_of(task: Task) -> "Progress":
    """What is known of a task's activity."""
    # Not at the top: its dataclasses cost 2 ms, and commands that only look do without.
    from cuekit.model.activity import Activity, Progress, Source

    return Progress(
        activity=Activity(task.activity),
        since=task.activity_since or 0.0,
        source=Source(task.activity_source) if task.activity_source else Source.SUPERVISOR,
        detail=task.activity_detail,
        turn=task.turn,
        last_turn=task.last_turn,
        summary=task.summary,
        turn_error=task.turn_error,
        agent_session_id=task.agent_session_id,
    )


def get(db: sqlite3.Connection, task_id: str) -> Task | None:
    """The task of exactly that id."""
    row = db.execute("SELECT * FROM task WHERE task_id = ?", (task_id,)).fetchone()
    return _task(row) if row else None


def with_prefix(db: sqlite3.Connection, prefix: str) -> list[Task]:
    """The tasks whose id begins so; at most ten."""
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    rows = db.execute(
        "SELECT * FROM task WHERE task_id >= ? AND task_id < ? ORDER BY task_id LIMIT 10",
        (prefix, end),
    )
    return [_task(row) for row in rows]


def newest_of_session(db: sqlite3.Connection, session_id: str) -> Task | None:
    """The task made last in a session."""
    row = db.execute(
        "SELECT * FROM task WHERE session_id = ? ORDER BY created_at DESC, rowid DESC LIMIT 1",
        (session_id,),
    ).fetchone()
    return _task(row) if row else None


def active(db: sqlite3.Connection) -> list[Task]:
    """Every task that has not ended, oldest first."""
    marks = _marks(ACTIVE)
    rows = db.execute(
        f"SELECT * FROM task WHERE status IN ({marks}) ORDER BY created_at",  # noqa: S608
        tuple(ACTIVE),
    )
    return [_task(row) for row in rows]


def of_worktree(db: sqlite3.Connection, path: str) -> tuple[list[str], list[str]]:
    """The tasks that were given this worktree, and other tasks whose folder is in it."""
    query = (
        "SELECT task_id, COALESCE(json_extract(worktree, '$.path'), '') FROM task"
        " WHERE json_extract(worktree, '$.path') = ? OR cwd = ? OR substr(cwd, 1, ?) = ?"
    )
    below = path.rstrip("/") + "/"
    rows = db.execute(query, (path, path, len(below), below)).fetchall()
    own = [row[0] for row in rows if row[1] == path]
    return own, [row[0] for row in rows if row[1] != path]


def delete(db: sqlite3.Connection, task_id: str) -> bool:
    """Forget an ended task; False when it is not there or has not ended."""
    marks = _marks(ENDS)
    with writing(db):
        done = db.execute(
            f"DELETE FROM task WHERE task_id = ? AND status IN ({marks})",  # noqa: S608
            (task_id, *ENDS),
        )
        if done.rowcount:
            db.execute("DELETE FROM rule WHERE scope = 'task' AND scope_ref = ?", (task_id,))
        return done.rowcount == 1


def _marks(values: Iterable[object]) -> str:
    return ", ".join("?" for _ in values)


def _encoded(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: json.dumps(value, ensure_ascii=True)
        if name in JSON_COLUMNS and value is not None
        else value
        for name, value in values.items()
    }


def _task(row: sqlite3.Row) -> Task:
    values = {name: row[name] for name in Task._fields}
    for name in JSON_COLUMNS:
        if values[name] is not None:
            values[name] = json.loads(values[name])
    values["status"] = Status(values["status"])
    return Task(**values)
