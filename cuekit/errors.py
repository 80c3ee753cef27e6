"""Everything that can go wrong for a user, as one tree of exceptions.

    CuekitError            1  the operation failed
      InvalidInput         2  wrong usage or a bad value
      NotFound             3  no such task
      InvalidState         4  not possible in the state that the task is in
      TimedOut             5  a limit of time was reached

A class carries the exit status; `code` is the stable name that programs rely on.
"""

from collections.abc import Mapping
from typing import Any


class CuekitError(Exception):
    """A failure that a user is told of in one line: what is wrong, and what to do about it."""

    exit_status = 1
    default_code = "failed"
    default_retryable = False

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hint: str | None = None,
        retryable: bool | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.hint = hint
        self.retryable = self.default_retryable if retryable is None else retryable
        self.details = dict(details or {})

    def as_json(self) -> dict[str, Any]:
        """The `error` object of the command line's JSON form."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "retryable": self.retryable,
            "details": self.details,
        }


class InvalidInput(CuekitError):
    """A value or an option that cannot be used."""

    exit_status = 2
    default_code = "invalid_input"


class NotFound(CuekitError):
    """Nothing has that name."""

    exit_status = 3
    default_code = "task_not_found"


class InvalidState(CuekitError):
    """The task, the pane or the agent is not in a state that allows this."""

    exit_status = 4
    default_code = "invalid_state"


class TimedOut(CuekitError):
    """A limit of time was reached."""

    exit_status = 5
    default_code = "timed_out"
    default_retryable = True
