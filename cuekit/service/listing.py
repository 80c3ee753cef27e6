"""`task list`: which tasks there are, and how they do."""

import os
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cuekit.errors import CuekitError, InvalidInput
from cuekit.model.lifecycle import Status
from cuekit.model.times import rfc3339
from cuekit.paths import home_from
from cuekit.service import lookup
from cuekit.store import db as store
from cuekit.store import listing
from cuekit.store.listing import Filter, Position, Row

STATUSES = tuple(str(status) for status in Status)
PAGE = 50
LARGEST_PAGE = 1000
COMPLETIONS = 30


class Page(NamedTuple):
    """Some rows of the list, and the cursor to go on from (None: that is all)."""

    rows: list[Row]
    next_cursor: str | None

    def as_json(self) -> dict[str, Any]:
        """The object that `task list --format json` prints."""
        return {"tasks": [row_view(row) for row in self.rows], "next_cursor": self.next_cursor}


def wanted_tasks(
    *,
    statuses: Sequence[str] = (),
    agent_kinds: Sequence[str] = (),
    session_id: str | None = None,
    labels: Sequence[str] = (),
    folder: str | None = None,
    every_project: bool = False,
) -> Filter:
    """What to list. With no session, no folder and not every project: the caller's own project.

    A folder stands for itself and all below it; symbolic links in it are resolved.
    """
    if session_id is None and folder is None and not every_project:
        session_id = lookup.session_here()
    return Filter(
        statuses=tuple(statuses),
        agent_kinds=tuple(agent_kinds),
        session_id=session_id,
        labels=tuple(labels),
        folder=os.path.realpath(folder) if folder is not None else None,
    )


def list_tasks(
    environ: Mapping[str, str], wanted: Filter, *, limit: int = PAGE, cursor: str | None = None
) -> Page:
    """One page of tasks: those that are active first, then the newest.

    Raises InvalidInput (`bad_cursor`).
    """
    with lookup.settled_store(environ) as (_, db):
        return page(db, wanted, limit, cursor)


def page(db: sqlite3.Connection, wanted: Filter, limit: int, cursor: str | None) -> Page:
    """One page of an open store."""
    after = parse_cursor(cursor) if cursor else None
    rows, following = listing.page(db, wanted, after, limit)
    return Page(rows, None if following is None else written_cursor(following))


def written_cursor(position: Position) -> str:
    """A position as the text that a caller gives back; its form is nobody's business."""
    return f"{'e' if position.ended else 'a'}_{position.created_at!r}_{position.task_id}"


def parse_cursor(cursor: str) -> Position:
    """The position that a cursor names. Raises InvalidInput (`bad_cursor`)."""
    half, _, rest = cursor.partition("_")
    created, _, task_id = rest.partition("_")
    try:
        created_at = float(created)
    except ValueError:
        created_at = -1.0
    if half not in ("a", "e") or not created_at >= 0 or not task_id:
        raise InvalidInput(
            f"not a cursor: {cursor!r}",
            code="bad_cursor",
            hint="give --cursor the next_cursor of the page before, as it is",
        )
    return Position(half == "e", created_at, task_id)


def row_view(row: Row) -> dict[str, Any]:
    """A row as JSON."""
    import json

    from cuekit.service.views import worktree_view

    return {
        "task_id": row.task_id,
        "agent_kind": row.agent_kind,
        "model": row.model,
        "mode": row.mode,
        "status": row.status,
        "activity": row.activity,
        "activity_since": _time(row.activity_since),
        "activity_source": row.activity_source,
        "turn": row.turn,
        "last_turn": row.last_turn,
        "summary": row.summary,
        "cwd": row.cwd,
        "session_id": row.session_id,
        "name": row.name,
        "labels": json.loads(row.labels),
        "created_at": _time(row.created_at),
        "started_at": _time(row.started_at),
        "completed_at": _time(row.completed_at),
        "exit_code": row.exit_code,
        "exit_signal": row.exit_signal,
        "worktree": worktree_view(json.loads(row.worktree)) if row.worktree else None,
    }


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else rfc3339(seconds)


def completions(prefix: str, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Ids that begin so, the newest first, each with a word about it; for the shell's TAB.

    Reads only: nothing is made, nothing is settled, and nothing is ever raised.
    """
    try:
        home = home_from(environ)
        if not os.path.exists(home.database):
            return []
        with store.opened(home) as db:
            found = listing.newest_ids(db, prefix, COMPLETIONS)
    except (CuekitError, sqlite3.Error, OSError):
        return []
    last = [(lookup.LAST, "the newest of this project")] if lookup.LAST.startswith(prefix) else []
    return last + [(task_id, f"{kind}, {status}") for task_id, status, kind in found]
