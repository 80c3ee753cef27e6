"""Grok in its own TUI: window title and screen, as grok 1.0.41 was seen to show them.

Nothing here is checked against the real program by a test.
"""

from collections.abc import Mapping
from typing import Any

from cuekit.activity import titles
from cuekit.activity.base import Composer, Screen, SteerPlan
from cuekit.activity.screens import bright_text, last_filled
from cuekit.model.activity import Signal

ENTER_DELAY_S = 0.3
"""A margin: an Enter straight after a paste was taken each time it was tried."""

_APPROVAL = ("No, reject (type to add feedback)", "/4:select")
_BUSY = ("Ctrl+c:cancel", "[stop]")
_PROMPT = "\u276f"


def hook_signals(event: str, payload: Mapping[str, Any], at: float) -> list[Signal]:
    """Nothing: its hooks need an agent definition that would change what grok does."""
    return []


def log_signals(line: bytes, at: float) -> list[Signal]:
    """Nothing yet: the title tells all three states."""
    return []


def title_signal(title: str, at: float) -> Signal | None:
    """What the window title tells."""
    return titles.signal(titles.grok(title), at)


def read_screen(plain: str, styled: str) -> Screen:
    """The approval dialog, or the lowest input box and what stands in it."""
    lines = plain.split("\n")
    lines = lines[: last_filled(lines) + 1]
    text = "\n".join(lines[-30:])
    if any(words in text for words in _APPROVAL):
        return Screen(dialog="approval")
    busy = any(words in text for words in _BUSY)
    at = max((i for i, line in enumerate(lines) if _PROMPT in line), default=None)
    if at is None:
        return Screen(busy=busy)
    bright = bright_text(styled)[at : at + 1]
    draft = _inside(bright[0] if bright else lines[at])
    if draft:
        return Screen(composer=Composer.DRAFT, draft=draft, busy=busy)
    return Screen(composer=Composer.EMPTY, busy=busy)


def steer_plan(text: str, version: str | None) -> SteerPlan:
    """One paste; what a first `/`, `!` or `@` does is not known, so those are refused."""
    if text[:1] in ("/", "!", "@"):
        return SteerPlan(pieces=(), refusal=f"grok may act on a message that begins {text[0]!r}")
    return SteerPlan(pieces=(text,), enter_delay_s=ENTER_DELAY_S)


def _inside(line: str) -> str:
    """The text behind the prompt sign, without the frame of the box."""
    return line.partition(_PROMPT)[2].strip(" │┃|")
