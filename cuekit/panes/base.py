"""What a terminal multiplexer does for a task, and the three ways in which it may not answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from cuekit.errors import CuekitError, InvalidState


class TmuxMissing(CuekitError):
    """The program is not installed."""

    default_code = "tmux_missing"


class TmuxGone(CuekitError):
    """There is no server at the socket: every pane that it had is gone."""

    default_code = "tmux_gone"


class PaneGone(InvalidState):
    """The server answers, and has no such pane or session."""

    default_code = "pane_gone"


class TmuxUnclear(CuekitError):
    """The server did not answer, or not in a known way: nothing follows about any pane."""

    default_code = "tmux_unclear"
    default_retryable = True


@dataclass(frozen=True)
class Pane:
    """One pane as the server describes it. `task` is the id that cuekit gave it, else empty."""

    session: str
    pane_id: str
    pid: int
    dead: bool
    title: str
    in_mode: bool
    alternate: bool
    command: str
    task: str = ""
    exit_code: int | None = None
    exit_signal: int | None = None


class PaneBackend(Protocol):
    """What cuekit needs of a multiplexer.

    Every method raises TmuxGone, PaneGone or TmuxUnclear, and none takes longer than its limit.
    """

    def start_session(
        self,
        name: str,
        command: Sequence[str],
        *,
        task_id: str,
        pipe_command: str,
        options: Mapping[str, str],
        hooks: Mapping[str, str],
        width: int,
        height: int,
    ) -> str:
        """Start a command in a detached session of its own; the id of its pane."""
        ...

    def panes(self) -> list[Pane]:
        """Every pane of the server."""
        ...

    def pane(self, session: str) -> Pane | None:
        """The pane that cuekit made in a session; None when the server has no such session."""
        ...

    def capture(self, pane_id: str, *, styled: bool = False, history: int = 0) -> str:
        """The text on a pane's screen, with so many lines of its history."""
        ...

    def screen(self, pane_id: str) -> tuple[str, str]:
        """The text on a pane's screen without and with its styles, taken at one moment."""
        ...

    def load_and_paste(self, pane_id: str, text: str, *, bracketed: bool = True) -> bool:
        """Give text to the program in a pane, as a paste; whether copy mode was left for it."""
        ...

    def key(self, pane_id: str, name: str) -> bool:
        """Press a key, by its name; whether copy mode was left for it."""
        ...

    def leave_copy_mode(self, pane_id: str) -> bool:
        """End copy mode of the pane; whether there was one."""
        ...

    def clients(self, session: str) -> int:
        """How many terminals are attached to a session."""
        ...

    def kill_session(self, session: str) -> bool:
        """End a session; whether it was there. It is gone when this returns."""
        ...

    def attach_command(self, session: str, *, read_only: bool = False) -> list[str]:
        """The command that shows a session on the caller's terminal."""
        ...
