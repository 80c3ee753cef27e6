"""Messages for a task's sidecar: what is steered, and what is asked of it. Taken in order, once."""

import json
import sqlite3
import time
from dataclasses import dataclass
from typing import Any

from cuekit.store.db import writing


@dataclass(frozen=True)
class Message:
    """One message. `kind` is steer, interrupt or end; `receipt` is what became of it."""

    message_id: int
    task_id: str
    kind: str
    body: dict[str, Any]
    sent_at: float
    taken_at: float | None
    receipt: dict[str, Any] | None


def put(db: sqlite3.Connection, task_id: str, kind: str, body: dict[str, Any]) -> int:
    """Leave a message; its number."""
    with writing(db):
        done = db.execute(
            "INSERT INTO inbox (task_id, kind, body, sent_at) VALUES (?, ?, ?, ?)",
            (task_id, kind, json.dumps(body), time.time()),
        )
        return int(done.lastrowid or 0)


def take(db: sqlite3.Connection, task_id: str) -> list[Message]:
    """The messages that nobody has taken yet, oldest first; they are taken now."""
    with writing(db):
        rows = db.execute(
            "SELECT * FROM inbox WHERE task_id = ? AND taken_at IS NULL ORDER BY message_id",
            (task_id,),
        ).fetchall()
        db.execute(
            "UPDATE inbox SET taken_at = ? WHERE task_id = ? AND taken_at IS NULL",
            (time.time(), task_id),
        )
    return [_message(row) for row in rows]


def set_receipt(db: sqlite3.Connection, message_id: int, receipt: dict[str, Any]) -> None:
    """Say what became of a message."""
    with writing(db):
        db.execute(
            "UPDATE inbox SET receipt = ? WHERE message_id = ?", (json.dumps(receipt), message_id)
        )


def get(db: sqlite3.Connection, message_id: int) -> Message | None:
    """A message by its number."""
    row = db.execute("SELECT * FROM inbox WHERE message_id = ?", (message_id,)).fetchone()
    return _message(row) if row else None


def _message(row: sqlite3.Row) -> Message:
    receipt = json.loads(row["receipt"]) if row["receipt"] else None
    return Message(
        row["message_id"],
        row["task_id"],
        row["kind"],
        json.loads(row["body"]),
        row["sent_at"],
        row["taken_at"],
        receipt,
    )
