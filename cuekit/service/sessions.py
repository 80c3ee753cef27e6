"""Sessions: the tasks of one parent, a shell user's project or one MCP connection."""

import sqlite3
from collections.abc import Mapping
from typing import Any

from cuekit.errors import CuekitError, NotFound
from cuekit.service import lookup
from cuekit.service.cleanup import Removed, remove_all
from cuekit.service.listing import row_view
from cuekit.service.views import time_or_null
from cuekit.store import listing
from cuekit.store.listing import Filter

HERE = "@here"
MOST_TASKS = 1000

Json = dict[str, Any]


def listed(environ: Mapping[str, str]) -> Json:
    """Every session that has a task, the newest first."""
    with lookup.settled_store(environ) as (_, db):
        return {"sessions": [_view(row) for row in listing.sessions(db)]}


def shown(ref: str, environ: Mapping[str, str]) -> Json:
    """One session with the rows of its tasks. Raises NotFound (`session_not_found`)."""
    with lookup.settled_store(environ) as (_, db):
        row = _resolve(db, ref)
        rows, _after = listing.page(db, Filter(session_id=row.session_id), None, MOST_TASKS)
        return {**_view(row), "task_list": [row_view(one) for one in rows]}


def removed(ref: str, environ: Mapping[str, str], *, dry_run: bool = False) -> Removed:
    """Remove the ended tasks of a session; the others are kept, with the reason.

    Raises NotFound (`session_not_found`).
    """
    with lookup.settled_store(environ) as (home, db):
        wanted = Filter(session_id=_resolve(db, ref).session_id)
        return remove_all(home, db, wanted, environ, dry_run=dry_run)


def _resolve(db: sqlite3.Connection, ref: str) -> listing.Session:
    wanted = lookup.session_here() if ref == HERE else ref
    for row in listing.sessions(db):
        if row.session_id == wanted:
            return row
    raise NotFound(
        f"no session has the id {ref!r}" if ref != HERE else "this project has no task yet",
        code="session_not_found",
        hint="cuekit session list",
        details={"session": ref},
    )


def _view(row: listing.Session) -> Json:
    return {
        "session_id": row.session_id,
        "here": row.session_id == _here(),
        "tasks": row.tasks,
        "active": row.active,
        "first_submitted_at": time_or_null(row.first),
        "last_submitted_at": time_or_null(row.last),
        "folders": row.folders,
    }


def _here() -> str | None:
    try:
        return lookup.session_here()
    except CuekitError:
        return None
