"""Finding the store, the project and the task that a caller means."""

import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from zlib import crc32

from cuekit.errors import CuekitError, InvalidInput, NotFound
from cuekit.files import project_of as project_of
from cuekit.files import project_root as project_root
from cuekit.paths import Home, home_from
from cuekit.service import pending
from cuekit.store import db as store
from cuekit.store import listing

if TYPE_CHECKING:
    from cuekit.store.tasks import Task

LAST = "@last"
SHORTEST_PREFIX = 4
_PREFIX = re.compile(r"t_[a-z0-9]{0,8}\Z")


@contextmanager
def settled_store(environ: Mapping[str, str]) -> Iterator[tuple[Home, sqlite3.Connection]]:
    """The home folder and its store, after every task and approval that ended unseen was settled.

    Raises CuekitError as `home_from` and `open_store` do.
    """
    home = home_from(environ)
    with store.opened(home) as db:
        if listing.any_active(db):  # the rest need no look, nor the modules that look
            from cuekit.service import settle

            settle.reconcile(home, db, environ)
        pending.settle(home, db)
        yield home, db


def current_folder() -> str:
    """The folder that the caller stands in. Raises InvalidInput (`no_cwd`) when it is gone."""
    try:
        return os.getcwd()
    except OSError:
        raise InvalidInput(
            "the folder that you are in is not there any more", code="no_cwd", hint="cd to another"
        ) from None


def session_of(root: str) -> str:
    """The session that the tasks of a project belong to, when none was named."""
    return f"s_{crc32(os.fsencode(root)):08x}"  # hashlib costs 3 ms and no secret is at stake


def session_here() -> str:
    """The session of the project that the caller stands in."""
    return session_of(project_of(current_folder()))


def resolve(db: sqlite3.Connection, ref: str, session_id: str) -> "Task":
    """The task that an id, a unique prefix of four letters or more, or `@last` names.

    Raises NotFound (`task_not_found`) and InvalidInput (`ambiguous_id`, `short_prefix`).
    """
    from cuekit.store import tasks

    if ref == LAST:
        newest = tasks.newest_of_session(db, session_id)
        if newest is None:
            raise NotFound("this project has no task yet", hint="cuekit task list --all")
        return newest
    if not _PREFIX.match(ref):
        raise _unknown(ref)
    if len(ref) < SHORTEST_PREFIX:
        raise InvalidInput(
            f"{ref!r} is too short: give {SHORTEST_PREFIX} characters or more of the id",
            code="short_prefix",
            hint="cuekit task list --all",
        )
    exact = tasks.get(db, ref)
    if exact is not None:
        return exact
    found = tasks.with_prefix(db, ref)
    if not found:
        raise _unknown(ref)
    if len(found) > 1:
        ids = [task.task_id for task in found]
        raise InvalidInput(
            f"{ref!r} fits more than one task: {', '.join(ids)}",
            code="ambiguous_id",
            hint="give more of the id",
            details={"candidates": ids},
        )
    return found[0]


def resolve_all(db: sqlite3.Connection, refs: Sequence[str]) -> "list[Task]":
    """The tasks that several references name, each once, in the order given."""
    session_id = session_here() if LAST in refs else ""
    found = {task.task_id: task for task in (resolve(db, ref, session_id) for ref in refs)}
    return [_with_reports(db, task) for task in found.values()]


def _with_reports(db: sqlite3.Connection, task: "Task") -> "Task":
    """The task, after what its child left as files was taken up."""
    if not os.path.isdir(os.path.join(task.task_dir, "reports")):
        return task
    from cuekit.launch import child_reports
    from cuekit.store import tasks

    run_dir = os.path.join(os.path.dirname(_database(db)), "run", task.task_id)
    child_reports.drain(db, task.task_id, task.task_dir, run_dir)
    return tasks.get(db, task.task_id) or task


def _database(db: sqlite3.Connection) -> str:
    return str(db.execute("PRAGMA database_list").fetchone()["file"])


def resolve_one(db: sqlite3.Connection, ref: str) -> "Task":
    """The task that one reference names, `@last` being the newest of the caller's project."""
    return resolve_all(db, [ref])[0]


def _unknown(ref: str) -> NotFound:
    return NotFound(
        f"no task has the id {ref!r}", hint="cuekit task list --all", details={"task": ref}
    )


def store_failure(error: Exception, environ: Mapping[str, str]) -> CuekitError:
    """What a user is told of an SQLite error in the middle of a command; names the file."""
    path = home_from(environ).database
    words = str(error)
    if "locked" in words or "busy" in words:
        return CuekitError(
            f"the store {path} is in use by another process",
            code="store_busy",
            hint="try again",
            retryable=True,
            details={"path": path},
        )
    return CuekitError(
        f"the store {path} cannot be used: {words}",
        code="store_broken",
        hint=f"look at {path}; cuekit leaves it as it is. CUEKIT_HOME names another folder",
        details={"path": path},
    )
