"""Reports of children in the store, and the hash of the token that lets them report."""

import json
import sqlite3
from typing import Any, NamedTuple

from cuekit.model.lifecycle import ENDS, Status
from cuekit.model.report import STANDING, Report, ReportType
from cuekit.store.db import writing

_LIVE = f"status NOT IN ({', '.join(repr(str(status)) for status in sorted(ENDS))})"


class Known(NamedTuple):
    """What a report has to do with: the task as it is now."""

    status: Status
    task_dir: str
    token_sha256: str | None


def task_of(db: sqlite3.Connection, task_id: str) -> Known | None:
    """The task that reports; None when there is none."""
    row = db.execute(
        "SELECT status, task_dir, token_sha256 FROM task WHERE task_id = ?", (task_id,)
    ).fetchone()
    return Known(Status(row[0]), row[1], row[2]) if row else None


def of_key(db: sqlite3.Connection, task_id: str, key: str) -> sqlite3.Row | None:
    """An earlier report under the same key."""
    row: sqlite3.Row | None = db.execute(
        "SELECT seq, type, late FROM report WHERE task_id = ? AND key = ?", (task_id, key)
    ).fetchone()
    return row


def insert(
    db: sqlite3.Connection,
    task_id: str,
    report: Report,
    *,
    via: str,
    late: bool,
    at: float,
) -> int:
    """Store a report, inside the caller's transaction; its row, to be given its event's number."""
    payload = None if report.payload is None else json.dumps(report.payload)
    done = db.execute(
        "INSERT INTO report (task_id, seq, type, message, payload, key, via, late, reported_at)"
        " VALUES (?, 0, ?, ?, ?, ?, ?, ?, ?)",
        (task_id, report.type, report.message, payload, report.key, via, int(late), at),
    )
    return int(done.lastrowid or 0)


def number(db: sqlite3.Connection, row: int, seq: int) -> None:
    """Note the number of a report's event, inside the caller's transaction."""
    db.execute("UPDATE report SET seq = ? WHERE report_id = ?", (seq, row))


def stand(db: sqlite3.Connection, task_id: str, report: Report, at: float) -> None:
    """Let a report count for a task that has not ended, inside the caller's transaction.

    A request for help makes it wait for somebody; a word on the outcome takes that back.
    """
    if report.type not in STANDING:
        return
    helpless = report.type is ReportType.HELP_REQUESTED
    now, before = Status.INPUT_REQUIRED, Status.RUNNING
    if not helpless:
        now, before = before, now
    value = {"type": report.type, "message": report.message, "payload": report.payload, "at": at}
    db.execute(
        "UPDATE task SET reported = ?, updated_at = ?,"  # noqa: S608 the statuses are our own
        f" status = CASE status WHEN ? THEN ? ELSE status END WHERE task_id = ? AND {_LIVE}",
        (json.dumps(value), at, before, now, task_id),
    )


def more_to_do(db: sqlite3.Connection, task_id: str, at: float) -> bool:
    """The task was given more to do at that time: what it reported before holds no more.

    A task that waited for help runs again. False when nothing stood.
    """
    with writing(db):
        done = db.execute(
            "UPDATE task SET reported = NULL,"  # noqa: S608
            f" status = CASE status WHEN ? THEN ? ELSE status END WHERE task_id = ? AND {_LIVE}"
            " AND reported IS NOT NULL AND json_extract(reported, '$.at') <= ?",
            (Status.INPUT_REQUIRED, Status.RUNNING, task_id, at),
        )
        return done.rowcount == 1


def listed(db: sqlite3.Connection, task_id: str) -> list[dict[str, Any]]:
    """Every report of a task, oldest first."""
    rows = db.execute("SELECT * FROM report WHERE task_id = ? ORDER BY report_id", (task_id,))
    return [dict(row) for row in rows]
