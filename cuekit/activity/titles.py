"""What window titles (OSC 0) tell of an agent: the second source, within 0.2 s of the change."""

from cuekit.model.activity import Signal, SignalKind, Source

WORKING = SignalKind.WORKING
APPROVAL = SignalKind.APPROVAL_REQUESTED
IDLE = SignalKind.IDLE

_BRAILLE = range(0x2800, 0x2900)


def has_spinner(title: str) -> bool:
    """Whether the title begins with a frame of a braille spinner."""
    return bool(title) and ord(title[0]) in _BRAILLE


def codex(title: str) -> SignalKind | None:
    """Codex 0.133.0 to 0.171.0: spinner, blinking `[ ! ] Action Required`, or neither."""
    if title.startswith(("[ ! ] Action Required", "[ . ] Action Required")):
        return APPROVAL
    if has_spinner(title):
        return WORKING
    return IDLE if title.strip() else None


def gemini(title: str) -> SignalKind | None:
    """Gemini CLI 0.61.0: a sign for each state, padded with spaces; empty after its end."""
    for sign, kind in (("◇", IDLE), ("✦", WORKING), ("✋", APPROVAL)):
        if title.startswith(sign):
            return kind
    return None


def grok(title: str) -> SignalKind | None:
    """Grok 1.0.41: `⚠ Action Required`, a spinner, or the session's title; `grok` after its end."""
    if title.startswith("⚠"):
        return APPROVAL
    if has_spinner(title):
        return WORKING
    return IDLE if title.endswith(" - grok") else None


def signal(kind: SignalKind | None, at: float) -> Signal | None:
    """The signal for what a title tells, if it tells anything."""
    return None if kind is None else Signal(kind, Source.TITLE, at)
