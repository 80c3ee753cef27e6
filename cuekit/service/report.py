"""`task report`: what a child has to say about its own task."""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from cuekit.errors import CuekitError, InvalidInput, InvalidState, NotFound
from cuekit.launch import child_reports
from cuekit.model.report import (
    FOLDER_VARIABLE,
    KEY_LETTERS,
    MESSAGE_BYTES,
    PAYLOAD_BYTES,
    TASK_VARIABLE,
    TOKEN_VARIABLE,
    Report,
    ReportType,
)
from cuekit.paths import home_from
from cuekit.store import db as store
from cuekit.store import reports

Json = dict[str, Any]


def report(
    kind: str,
    message: str,
    environ: Mapping[str, str],
    *,
    payload: Any = None,
    key: str | None = None,
    via: str = "shell",
) -> Json:
    """Report on the task that the environment names; `{ok, task_id, type, state, seq}`.

    `state`: `stored`; `late`, for a task that had ended; `duplicate`, under a key that was used
    before; `left`, as a file that the task's supervisor takes up, where the store cannot be
    written from inside a sandbox.
    Raises InvalidInput (`no_child_token`, `bad_report`), NotFound, InvalidState
    (`permission_denied`) and CuekitError (`cannot_report`).
    """
    said = checked(kind, message, payload, key)
    task_id, token = _who(environ)
    try:
        return _stored(said, task_id, token, environ, via)
    except (sqlite3.Error, OSError) as error:
        return _left(said, task_id, token, environ, str(error))
    except CuekitError as error:
        if error.code not in ("store_broken", "cannot_write", "busy"):
            raise
        return _left(said, task_id, token, environ, error.message)


def checked(kind: str, message: str, payload: Any, key: str | None) -> Report:
    """The report that these words make. Raises InvalidInput (`bad_report`)."""
    try:
        type_ = ReportType(kind.replace("-", "_"))
    except ValueError:
        names = ", ".join(ReportType)
        raise _bad(f"{kind!r} is no type of report", f"the types are {names}") from None
    if not message.strip():
        raise _bad("the message is empty", 'cuekit task report --type progress --message "..."')
    for name, text in (("message", message), ("key", key or "")):
        if "\0" in text or not _is_utf8(text):
            raise _bad(f"the {name} is not text: NUL, or invalid UTF-8")
    if len(message.encode()) > MESSAGE_BYTES:
        raise _bad(f"the message is longer than {MESSAGE_BYTES} bytes", "put it into a file")
    if key is not None and not 0 < len(key) <= KEY_LETTERS:
        raise _bad(f"the key must have 1 to {KEY_LETTERS} characters")
    if payload is not None and len(json.dumps(payload)) > PAYLOAD_BYTES:
        raise _bad(f"the payload is longer than {PAYLOAD_BYTES} bytes", "put it into a file")
    return Report(type_, message, payload, key)


def _bad(message: str, hint: str | None = None) -> InvalidInput:
    return InvalidInput(message, code="bad_report", hint=hint)


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _who(environ: Mapping[str, str]) -> tuple[str, str]:
    task_id, token = environ.get(TASK_VARIABLE), environ.get(TOKEN_VARIABLE)
    if task_id and token:
        return task_id, token
    missing = TASK_VARIABLE if not task_id else TOKEN_VARIABLE
    raise InvalidInput(
        f"only the child of a task can report on it: {missing} is not in the environment",
        code="no_child_token",
        hint="run it as the agent of a task; the agent must pass its environment on",
    )


def _stored(said: Report, task_id: str, token: str, environ: Mapping[str, str], via: str) -> Json:
    home = home_from(environ)
    with store.opened(home) as db:
        known = reports.task_of(db, task_id)
        if known is None:
            raise NotFound(f"no task has the id {task_id!r}", details={"task": task_id})
        if not child_reports.may_report(known, token):
            raise InvalidState(
                f"the token is not that of the task {task_id}",
                code="permission_denied",
                hint="a child reports on its own task, with the environment it was started with",
                details={"task_id": task_id},
            )
        done = child_reports.record(db, task_id, home.run(task_id), said, via)
    state = "duplicate" if done["duplicate"] else "late" if done["late"] else "stored"
    return _answer(said, task_id, state, done["seq"])


def _left(said: Report, task_id: str, token: str, environ: Mapping[str, str], why: str) -> Json:
    folder = environ.get(FOLDER_VARIABLE)
    try:
        if not folder:
            raise FileNotFoundError(FOLDER_VARIABLE)
        child_reports.drop(folder, task_id, token, said)
    except OSError:
        raise CuekitError(
            f"the report reached nobody: {why}; and the task's folder cannot be written",
            code="cannot_report",
            hint="where a sandbox takes all writing away, report with the MCP tool of cuekit --mcp,"
            " or say it in your last answer",
        ) from None
    return _answer(said, task_id, "left", None)


def _answer(said: Report, task_id: str, state: str, seq: int | None) -> Json:
    return {"ok": True, "task_id": task_id, "type": str(said.type), "state": state, "seq": seq}
