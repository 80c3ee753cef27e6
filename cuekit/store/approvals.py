"""Approvals in the store: durable from the moment they are asked; each is decided once."""

import json
import os
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cuekit.model.approval import (
    ApprovalRequest,
    ApprovalState,
    Decision,
    DecisionKind,
    Option,
    Question,
    Risk,
)
from cuekit.store.db import writing

JSON_COLUMNS = ("input", "options", "questions", "abilities", "native", "decision", "asker")


@dataclass(frozen=True)
class Approval:
    """One request as stored. Times are Unix seconds."""

    approval_id: str
    task_id: str
    agent_kind: str
    tool: str
    native_tool: str
    input: dict[str, Any]
    reason: str | None
    cwd: str | None
    tool_id: str | None
    risk: str
    options: list[dict[str, Any]]
    questions: list[dict[str, Any]]
    abilities: dict[str, bool]
    native: dict[str, Any]
    state: str
    decision: dict[str, Any] | None
    decided_by: str | None
    decided_how: str | None
    requested_at: float
    decided_at: float | None
    delivered_at: float | None
    asker: dict[str, Any] | None


def new_approval_id() -> str:
    """A random id that nobody can guess or mistype into another."""
    return "a_" + os.urandom(8).hex()


def insert(
    db: sqlite3.Connection,
    task_id: str,
    request: ApprovalRequest,
    risk: Risk,
    asker: Mapping[str, Any] | None,
) -> str:
    """Store a pending request; its id. `asker` is the process that waits for the answer."""
    approval_id = new_approval_id()
    row = {
        "approval_id": approval_id,
        "task_id": task_id,
        "agent_kind": request.agent_kind,
        "tool": request.tool,
        "native_tool": request.native_tool,
        "input": json.dumps(request.input),
        "reason": request.reason,
        "cwd": request.cwd,
        "tool_id": request.tool_id,
        "risk": risk,
        "options": json.dumps([asdict(option) for option in request.options]),
        "questions": json.dumps([asdict(question) for question in request.questions]),
        "abilities": json.dumps(
            {
                "change_input": request.can_change_input,
                "grant_subset": request.can_grant_subset,
                "hand_over": request.can_hand_over,
                "cancel_run": request.can_cancel_run,
            }
        ),
        "native": json.dumps(request.native),
        "requested_at": time.time(),
        "asker": json.dumps(dict(asker)) if asker else None,
    }
    marks = ", ".join("?" for _ in row)
    with writing(db):
        db.execute(f"INSERT INTO approval ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))  # noqa: S608
    return approval_id


def decide(db: sqlite3.Connection, approval_id: str, decision: Decision) -> bool:
    """Record a decision; False when the request is not pending any more. The first one wins."""
    return _end(
        db,
        approval_id,
        ApprovalState.DECIDED,
        json.dumps(asdict(decision)),
        decision.by,
        decision.how,
    )


def close(db: sqlite3.Connection, approval_id: str, state: ApprovalState, why: str) -> bool:
    """End a pending request without a decision."""
    return _end(db, approval_id, state, None, None, why)


def _end(
    db: sqlite3.Connection,
    approval_id: str,
    state: ApprovalState,
    decision: str | None,
    by: str | None,
    how: str | None,
) -> bool:
    with writing(db):
        done = db.execute(
            "UPDATE approval SET state = ?, decision = ?, decided_by = ?, decided_how = ?,"
            " decided_at = ? WHERE approval_id = ? AND state = 'pending'",
            (state, decision, by, how, time.time(), approval_id),
        )
        return done.rowcount == 1


def set_delivered(db: sqlite3.Connection, approval_id: str) -> None:
    """Record that the answer is on the agent's wire."""
    with writing(db):
        db.execute(
            "UPDATE approval SET delivered_at = ? WHERE approval_id = ?", (time.time(), approval_id)
        )


def get(db: sqlite3.Connection, approval_id: str) -> Approval | None:
    """The approval of exactly that id."""
    row = db.execute("SELECT * FROM approval WHERE approval_id = ?", (approval_id,)).fetchone()
    return _approval(row) if row else None


def listed(
    db: sqlite3.Connection, *, state: str | None = None, task_id: str | None = None, most: int = 200
) -> list[Approval]:
    """The newest approvals, oldest first, of one state or one task where that is named."""
    rows = db.execute(
        "SELECT * FROM (SELECT rowid AS row, * FROM approval"
        " WHERE (? IS NULL OR state = ?) AND (? IS NULL OR task_id = ?)"
        " ORDER BY requested_at DESC, rowid DESC LIMIT ?) ORDER BY requested_at, row",
        (state, state, task_id, task_id, most),
    )
    return [_approval(row) for row in rows]


def ended_since(db: sqlite3.Connection, since: float, most: int = 1000) -> list[Approval]:
    """Approvals that ended at a time or later, oldest first."""
    rows = db.execute(
        "SELECT * FROM approval WHERE state <> 'pending' AND decided_at >= ?"
        " ORDER BY requested_at LIMIT ?",
        (since, most),
    )
    return [_approval(row) for row in rows]


def with_prefix(db: sqlite3.Connection, prefix: str, most: int = 10) -> list[str]:
    """The ids that begin so."""
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    rows = db.execute(
        "SELECT approval_id FROM approval WHERE approval_id >= ? AND approval_id < ?"
        " ORDER BY approval_id LIMIT ?",
        (prefix, end, most),
    )
    return [row["approval_id"] for row in rows]


def request_of(approval: Approval) -> ApprovalRequest:
    """The request as it was asked."""
    return ApprovalRequest(
        agent_kind=approval.agent_kind,
        tool=approval.tool,
        native_tool=approval.native_tool,
        input=approval.input,
        reason=approval.reason,
        cwd=approval.cwd,
        tool_id=approval.tool_id,
        options=tuple(Option(**option) for option in approval.options),
        questions=tuple(
            Question(**{**question, "options": tuple(question.get("options", ()))})
            for question in approval.questions
        ),
        native=approval.native,
    )


def decision_of(approval: Approval) -> Decision | None:
    """The decision of a decided approval; None when there is none that can be read."""
    try:
        values: dict[str, Any] = dict(approval.decision or {})
        return Decision(**{**values, "kind": DecisionKind(values["kind"])})
    except (KeyError, TypeError, ValueError):
        return None


def _approval(row: sqlite3.Row) -> Approval:
    values = {name: row[name] for name in Approval.__dataclass_fields__}
    for name in JSON_COLUMNS:
        if values[name] is not None:
            values[name] = json.loads(values[name])
    return Approval(**values)
