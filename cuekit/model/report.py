"""What a child may report about its own task."""

from enum import StrEnum
from typing import Any, NamedTuple

TASK_VARIABLE = "CUEKIT_TASK_ID"
TOKEN_VARIABLE = "CUEKIT_CHILD_TOKEN"  # noqa: S105 the name, not the token
FOLDER_VARIABLE = "CUEKIT_TASK_DIR"
COMMAND_VARIABLE = "CUEKIT_COMMAND"
"""The path of a program that is this very cuekit: a login shell may have another PATH."""

MESSAGE_BYTES = 64 * 1024
PAYLOAD_BYTES = 256 * 1024
KEY_LETTERS = 200


class ReportType(StrEnum):
    """The kinds of reports."""

    PROGRESS = "progress"
    LOG = "log"
    COMPLETED = "completed"
    FAILED = "failed"
    BLOCKED = "blocked"
    HELP_REQUESTED = "help_requested"


ENDING = frozenset({ReportType.COMPLETED, ReportType.FAILED, ReportType.BLOCKED})
"""Tell how the work came out. The process goes on; the task ends when it does, or by `finish`."""

STANDING = ENDING | {ReportType.HELP_REQUESTED}
"""Hold until the task is given more to do; the other kinds are only events."""


class Report(NamedTuple):
    """One report; `key` makes a repetition of it the same report."""

    type: ReportType
    message: str
    payload: Any = None
    key: str | None = None
