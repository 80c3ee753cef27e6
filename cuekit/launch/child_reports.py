"""Reports of a child about its own task: stored by whoever can, dropped as a file by who cannot.

A sandboxed child can write into its working folder alone: it leaves the report, with its token,
in the task's folder, where the supervisor or the next command takes it up.
"""

import contextlib
import itertools
import json
import os
import re
import sqlite3
import stat
import time
from collections.abc import Iterator
from typing import Any

from cuekit.launch import events, notify
from cuekit.model.lifecycle import ENDS
from cuekit.model.report import MESSAGE_BYTES, PAYLOAD_BYTES, Report, ReportType
from cuekit.store import reports
from cuekit.store.db import writing

FOLDER = "reports"
MOST_AT_ONCE = 50
MOST_NAMES = 1000  # looked at in one go: a child may fill its folder
FILE_BYTES = 2 * (MESSAGE_BYTES + PAYLOAD_BYTES)
_NAME = re.compile(r"[0-9a-f]{32}\.json\Z")


def fingerprint(token: str) -> str:
    """What the store holds of a token."""
    from hashlib import sha256  # not at the top: it loads openssl, and most tasks report nothing

    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def may_report(known: reports.Known, token: str) -> bool:
    """Whether the token is the task's own; compared in constant time."""
    from hmac import compare_digest

    stored = known.token_sha256
    return stored is not None and compare_digest(stored, fingerprint(token))


def record(
    db: sqlite3.Connection, task_id: str, run_dir: str, report: Report, via: str
) -> dict[str, Any]:
    """Store a report whose token was checked, with its event; `{seq, late, duplicate}`.

    Raises OSError when the event cannot be written: then nothing is stored, and it can be sent
    again.
    """
    now = time.time()
    with writing(db):
        known = reports.task_of(db, task_id)
        if known is None:
            raise LookupError(task_id)
        earlier = reports.of_key(db, task_id, report.key) if report.key else None
        if earlier is not None:
            return {"seq": earlier["seq"], "late": bool(earlier["late"]), "duplicate": True}
        late = known.status in ENDS
        values = {
            "type": str(report.type),
            "message": report.message,
            "payload": report.payload,
            "key": report.key,
            "via": via,
            "late": late,
        }
        # The row first: a sandboxed child finds out only here that it cannot write the store.
        row = reports.insert(db, task_id, report, via=via, late=late, at=now)
        seq = events.append(known.task_dir, task_id, "report", values, at=now)
        reports.number(db, row, seq)
        if not late:
            reports.stand(db, task_id, report, now)
    notify.wake(run_dir)
    return {"seq": seq, "late": late, "duplicate": False}


def drop(task_dir: str, task_id: str, token: str, report: Report) -> str:
    """Leave a report as a file in the task's folder; its path. Raises OSError."""
    folder = os.path.join(task_dir, FOLDER)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    name = f"{os.urandom(16).hex()}.json"
    draft = os.path.join(folder, f".{name}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        json.dump({"task_id": task_id, "token": token, **report._asdict()}, file)
    path = os.path.join(folder, name)
    os.rename(draft, path)
    return path


def drain(db: sqlite3.Connection, task_id: str, task_dir: str, run_dir: str) -> int:
    """Take up what a child has left in its task's folder; how many reports those were.

    A file with another token than the task's is removed and counts for nothing but an event.
    """
    try:
        folder = os.open(
            os.path.join(task_dir, FOLDER), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
        )
    except OSError:
        return 0
    try:
        known = reports.task_of(db, task_id)
        if known is None:
            return 0
        taken = 0
        for name in _waiting(folder):
            content = _content(folder, name)
            report = _report(content, task_id)
            if report is None or not may_report(known, str(content.get("token", ""))):
                _refuse(task_dir, task_id, folder, name)
                continue
            try:
                record(db, task_id, run_dir, report, "file")
            except (OSError, LookupError):
                return taken  # it stays, for the next one who looks
            except (ValueError, RecursionError):  # a text or a nesting that cannot be stored
                _refuse(task_dir, task_id, folder, name)
                continue
            _remove(folder, name)
            taken += 1
        return taken
    finally:
        os.close(folder)


def count_waiting(task_dir: str) -> int:
    """How many files of reports wait in a task's folder."""
    try:
        folder = os.open(
            os.path.join(task_dir, FOLDER), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
        )
    except OSError:
        return 0
    try:
        return len(_waiting(folder))
    finally:
        os.close(folder)


def _waiting(folder: int) -> list[str]:
    """The names of the reports that wait, oldest first."""

    def aged() -> Iterator[tuple[float, str]]:
        with os.scandir(folder) as entries:
            for entry in itertools.islice(entries, MOST_NAMES):
                if _NAME.match(entry.name):
                    with contextlib.suppress(FileNotFoundError):
                        yield entry.stat(follow_symlinks=False).st_mtime, entry.name

    return [name for _, name in sorted(aged())][:MOST_AT_ONCE]


def _content(folder: int, name: str) -> dict[str, Any]:
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(name, flags, dir_fd=folder), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return {}
            value = json.loads(file.read(FILE_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _report(content: dict[str, Any], task_id: str) -> Report | None:
    message, key = content.get("message"), content.get("key")
    if content.get("task_id") != task_id or not isinstance(message, str):
        return None
    try:
        kind = ReportType(str(content.get("type")))
    except ValueError:
        return None
    return Report(kind, message, content.get("payload"), key if isinstance(key, str) else None)


def _refuse(task_dir: str, task_id: str, folder: int, name: str) -> None:
    if _remove(folder, name):
        words = "a report file was refused: it is broken, or not from this task's own child"
        with contextlib.suppress(OSError):
            events.append(task_dir, task_id, "error", {"message": words, "recoverable": True})


def _remove(folder: int, name: str) -> bool:
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=folder)
        return True
    return False
