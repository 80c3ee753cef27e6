"""What a look of the doctor finds, and the situation that it looks at."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

State = Literal["ok", "warning", "failure"]


@dataclass(frozen=True)
class Check:
    """One finding: what was seen, and the one command or step that mends it.

    `mend` does what is safe to do without asking; it says in a few words what it did.
    """

    name: str
    state: State
    detail: str
    fix: str | None = None
    mend: Callable[[], str] | None = None

    def as_json(self) -> dict[str, Any]:
        """The object that the command line documents."""
        return {"name": self.name, "state": self.state, "detail": self.detail, "fix": self.fix}


@dataclass(frozen=True)
class Situation:
    """Where the doctor was called: the caller's environment and folder."""

    environ: Mapping[str, str]
    cwd: str


Probe = Callable[[Situation], Iterable[Check]]


def ok(name: str, detail: str) -> Check:
    """A finding that needs nothing."""
    return Check(name, "ok", detail)


def warning(name: str, detail: str, fix: str | None = None) -> Check:
    """A finding that a user should know of and can work with."""
    return Check(name, "warning", detail, fix)


def failure(name: str, detail: str, fix: str | None = None) -> Check:
    """A finding with which tasks cannot run as they should."""
    return Check(name, "failure", detail, fix)


SHOWN = 5
"""How many names of a longer list a line shows."""


def some(names: Iterable[str]) -> str:
    """The first names of a list, and how many more there are."""
    listed = list(names)
    rest = len(listed) - SHOWN
    return ", ".join(listed[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
