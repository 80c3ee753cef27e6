"""What every module of this package answers: the types, and the protocol that they satisfy."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from cuekit.model.activity import Signal


class Composer(StrEnum):
    """The agent's input box, as the screen shows it."""

    EMPTY = "empty"
    DRAFT = "draft"
    HIDDEN = "hidden"  # no input box on the screen


class Screen(NamedTuple):
    """One reading of a pane. It is evidence of the weakest kind: say so where it is shown."""

    dialog: str | None = None  # name of the dialog that waits for a person
    composer: Composer = Composer.HIDDEN
    draft: str | None = None  # what somebody typed and did not send
    busy: bool | None = None  # None: the screen does not tell
    failure: str | None = None  # the agent's words about the last turn, where that failed


class SteerPlan(NamedTuple):
    """How one agent is given exactly one text.

    The pieces go in one after another, `pause_s` seconds apart; `enter_delay_s` seconds after the
    last one comes Enter. `rewritten` is what the model gets where that differs from the text.
    """

    pieces: tuple[str, ...]
    bracketed: bool = True
    pause_s: float = 0.0
    enter_delay_s: float = 0.15
    rewritten: str | None = None
    refusal: str | None = None  # why this text cannot be given; then there are no pieces


class ActivityModule(Protocol):
    """The functions of a module; all are total and answer nothing to what they do not know."""

    def hook_signals(self, event: str, payload: Mapping[str, Any], at: float) -> list[Signal]:
        """What one call of a hook tells; `payload` is the JSON object on its standard input."""

    def log_signals(self, line: bytes, at: float) -> list[Signal]:
        """What one line of the agent's own session log tells."""

    def title_signal(self, title: str, at: float) -> Signal | None:
        """What the window title tells."""

    def read_screen(self, plain: str, styled: str) -> Screen:
        """What the pane shows: its text, and the same with its styles (SGR sequences)."""

    def steer_plan(self, text: str, version: str | None) -> SteerPlan:
        """How `text` is given to this version of the agent, as one message."""
