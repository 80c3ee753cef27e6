"""Gemini CLI in its own TUI: window title and screen, as gemini 0.61.0 was seen to show them.

Its hooks are closed to ordinary users (it takes them from files of root only), so the title is
the best source. Nothing here is checked against the real program by a test.
"""

from collections.abc import Mapping
from typing import Any

from cuekit.activity import titles
from cuekit.activity.base import Composer, Screen, SteerPlan
from cuekit.activity.screens import last_filled
from cuekit.model.activity import Signal

ENTER_DELAY_S = 0.3
"""Gemini swallows an Enter that follows a paste within 60 ms; this leaves a margin."""

_DIALOGS = (
    ("Do you trust the files in this folder?", "trust"),
    ("Trust folder", "trust"),
    ("Allow execution of", "approval"),
    ("Allow once", "approval"),
)
_PLACEHOLDER = "Type your message or @path/to/file"
_BUSY = "esc to cancel"


def hook_signals(event: str, payload: Mapping[str, Any], at: float) -> list[Signal]:
    """Nothing: it runs no hooks of ours."""
    return []


def log_signals(line: bytes, at: float) -> list[Signal]:
    """Nothing: a pending permission is not in its chat file, and history is written again."""
    return []


def title_signal(title: str, at: float) -> Signal | None:
    """What the window title tells."""
    return titles.signal(titles.gemini(title), at)


def read_screen(plain: str, styled: str) -> Screen:
    """A dialog, or the input box with its placeholder; other text in the box is not told apart."""
    lines = plain.split("\n")
    text = "\n".join(lines[: last_filled(lines) + 1][-30:])
    if _PLACEHOLDER in text:
        return Screen(composer=Composer.EMPTY, busy=_BUSY in text)
    for words, name in _DIALOGS:
        if words in text:
            return Screen(dialog=name)
    return Screen(busy=True if _BUSY in text else None)


def steer_plan(text: str, version: str | None) -> SteerPlan:
    """One paste; what a first `/`, `!` or `@` does is not known, so those are refused."""
    if text[:1] in ("/", "!", "@"):
        return SteerPlan(pieces=(), refusal=f"gemini may act on a message that begins {text[0]!r}")
    return SteerPlan(pieces=(text,), enter_delay_s=ENTER_DELAY_S)
