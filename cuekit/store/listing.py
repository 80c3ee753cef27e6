"""The list of tasks: a few columns of each, active ones first, page by page.

Its rows leave out the wide columns and are tuples, which cost less to define than dataclasses;
its queries follow an index and stop at the end of the page.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cuekit.model.lifecycle import ACTIVE, ENDS


class Row(NamedTuple):
    """One task of a list; `labels` is a JSON list as stored. Times are Unix seconds."""

    task_id: str
    agent_kind: str
    model: str | None
    mode: str
    status: str
    activity: str
    activity_since: float | None
    activity_source: str | None
    activity_detail: str | None
    turn: int
    last_turn: str | None
    summary: str | None
    cwd: str
    session_id: str
    name: str | None
    labels: str
    created_at: float
    started_at: float | None
    completed_at: float | None
    exit_code: int | None
    exit_signal: int | None
    worktree: str | None  # JSON as stored


class Filter(NamedTuple):
    """Which tasks; empty means all. `folder` takes tasks in it and below it."""

    statuses: tuple[str, ...] = ()
    agent_kinds: tuple[str, ...] = ()
    session_id: str | None = None
    labels: tuple[str, ...] = ()
    folder: str | None = None


class Position(NamedTuple):
    """A place in the list: after this task. `ended` tells which half of the list it is in."""

    ended: bool
    created_at: float
    task_id: str


def page(
    db: sqlite3.Connection, wanted: Filter, after: Position | None, limit: int
) -> tuple[list[Row], Position | None]:
    """At most `limit` tasks after a position, and the position to go on from (None: no more)."""
    rows: list[Row] = []
    for ended in (False, True):
        if after is not None and after.ended and not ended:
            continue
        start = after if after is not None and after.ended == ended else None
        for row in _half(db, wanted, ended, start, limit + 1 - len(rows)):
            rows.append(row)
        if len(rows) > limit:
            break
    if len(rows) <= limit:
        return rows, None
    last = rows[limit - 1]
    return rows[:limit], Position(last.status in ENDS, last.created_at, last.task_id)


def newest_ids(db: sqlite3.Connection, prefix: str, limit: int) -> list[tuple[str, str, str]]:
    """Id, status and agent kind of the newest tasks whose id begins so."""
    rows = db.execute(
        "SELECT task_id, status, agent_kind FROM task WHERE substr(task_id, 1, ?) = ?"
        " ORDER BY created_at DESC LIMIT ?",
        (len(prefix), prefix, limit),
    )
    return [(row[0], row[1], row[2]) for row in rows]


def _half(
    db: sqlite3.Connection, wanted: Filter, ended: bool, start: Position | None, limit: int
) -> Iterator[Row]:
    half = set(ENDS) if ended else set(ACTIVE)
    statuses = sorted(half & set(wanted.statuses) if wanted.statuses else half)
    if not statuses:
        return
    # A unary plus keeps the planner from the index on the status: of ended tasks there may be
    # thousands, and the index on the age or the session gives the first page without sorting.
    column = "+status" if ended else "status"
    terms = [f"{column} IN ({_marks(statuses)})"]
    values: list[object] = [str(status) for status in statuses]
    if wanted.session_id is not None:
        terms.append("session_id = ?")
        values.append(wanted.session_id)
    if wanted.agent_kinds:
        terms.append(f"agent_kind IN ({_marks(wanted.agent_kinds)})")
        values.extend(wanted.agent_kinds)
    for label in wanted.labels:
        terms.append("EXISTS (SELECT 1 FROM json_each(labels) WHERE value = ?)")
        values.append(label)
    if wanted.folder is not None:
        below = wanted.folder.rstrip("/") + "/"
        terms.append("(cwd = ? OR substr(cwd, 1, ?) = ?)")
        values.extend((wanted.folder, len(below), below))
    if start is not None:
        terms.append("(created_at < ? OR (created_at = ? AND task_id > ?))")
        values.extend((start.created_at, start.created_at, start.task_id))
    query = (
        f"SELECT {', '.join(Row._fields)} FROM task WHERE {' AND '.join(terms)}"  # noqa: S608
        " ORDER BY created_at DESC, task_id LIMIT ?"
    )
    for row in db.execute(query, (*values, limit)):
        yield Row(*row)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" for _ in values)


def any_active(db: sqlite3.Connection) -> bool:
    """Whether there is a task that has not ended."""
    query = f"SELECT 1 FROM task WHERE status IN ({_marks(ACTIVE)}) LIMIT 1"  # noqa: S608
    return db.execute(query, tuple(ACTIVE)).fetchone() is not None


class Session(NamedTuple):
    """The tasks of one parent, in numbers. Times are Unix seconds."""

    session_id: str
    tasks: int
    active: int
    first: float
    last: float
    folders: list[str]  # where they work


def sessions(db: sqlite3.Connection) -> list[Session]:
    """Each session with how many tasks it has and how many of them go on, the newest first."""
    import json

    rows = db.execute(
        f"SELECT session_id, COUNT(*), SUM(status IN ({_marks(ACTIVE)})),"  # noqa: S608
        " MIN(created_at), MAX(created_at), json_group_array(DISTINCT cwd)"
        " FROM task GROUP BY session_id ORDER BY MAX(created_at) DESC",
        tuple(ACTIVE),
    )
    return [
        Session(row[0], row[1], row[2], row[3], row[4], sorted(json.loads(row[5]))) for row in rows
    ]
