"""Opening the store. SQLite in WAL mode; the only way to write is `writing`."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from cuekit import files
from cuekit.errors import CuekitError
from cuekit.paths import Home
from cuekit.store.schema import MIGRATIONS

BUSY_SECONDS = 20.0
LOCK_SECONDS = 20.0


def open_store(home: Home) -> sqlite3.Connection:
    """The user's store, made whole first if it is missing; the caller closes it.

    Raises CuekitError (`store_broken`, `store_newer`, `cannot_write`), which names the file.
    """
    path = home.database
    if not os.path.exists(path):
        _create(home)
    db = _connect(path)
    try:
        version = _version(db, path)
        if version > len(MIGRATIONS):
            raise CuekitError(
                f"the store {path} was written by a newer cuekit (schema {version}, "
                f"this one knows {len(MIGRATIONS)})",
                code="store_newer",
                hint="upgrade cuekit, or set CUEKIT_HOME to another folder",
            )
        if version < len(MIGRATIONS):
            _migrate(db)
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def opened(home: Home) -> Iterator[sqlite3.Connection]:
    """The store for one block, closed at its end."""
    with closing(open_store(home)) as db:
        yield db


@contextmanager
def writing(db: sqlite3.Connection) -> Iterator[None]:
    """One write transaction. Takes the write lock first, since a plain BEGIN loses writers."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def _connect(path: str) -> sqlite3.Connection:
    try:
        db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    except sqlite3.Error as error:
        raise _broken(path, error) from None
    db.row_factory = sqlite3.Row
    return db


def _version(db: sqlite3.Connection, path: str) -> int:
    try:
        db.execute("PRAGMA foreign_keys = ON")
        return int(db.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.Error as error:
        raise _broken(path, error) from None


def _migrate(db: sqlite3.Connection) -> None:
    with writing(db):
        current = int(db.execute("PRAGMA user_version").fetchone()[0])
        for number, migration in enumerate(MIGRATIONS[current:], start=current + 1):
            migration(db)
            db.execute(f"PRAGMA user_version = {number}")


def _create(home: Home) -> None:
    files.make_private_folder(home.root)
    with files.locked(home.creation_lock, LOCK_SECONDS):
        if os.path.exists(home.database):
            return
        fresh = f"{home.database}.{os.getpid()}.new"
        files.remove_file(fresh)
        os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, files.PRIVATE_FILE))
        with closing(_connect(fresh)) as db:
            db.execute("PRAGMA journal_mode = WAL")
            _migrate(db)
        os.replace(fresh, home.database)
        for rest in ("-wal", "-shm"):
            files.remove_file(fresh + rest)


def _broken(path: str, error: sqlite3.Error) -> CuekitError:
    return CuekitError(
        f"the store {path} cannot be read: {error}",
        code="store_broken",
        hint=f"look at {path}; cuekit leaves it as it is. CUEKIT_HOME names another folder",
        details={"path": path},
    )
