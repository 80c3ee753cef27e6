"""Codex in its own TUI: hooks, the rollout file, the window title, the screen."""

import itertools
import json
import re
from collections.abc import Mapping
from typing import Any

from cuekit.activity import titles
from cuekit.activity.base import SteerPlan
from cuekit.activity.codex_screen import read_screen
from cuekit.model.activity import Signal, SignalKind, Source

__all__ = [
    "LOG_TELLS_ENDS",
    "hook_signals",
    "log_signals",
    "read_screen",
    "steer_plan",
    "title_signal",
]

LOG_TELLS_ENDS = True
"""The rollout has the end of each turn; a Stop hook comes also where a hook of the user's makes
codex go on."""

STRIPPED = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""What codex strips from both ends of a message: Unicode's white space."""

HEAD = 200
"""Characters that go in first, alone, where a paste shown as a placeholder hid a leading space."""

LONGEST = 1 << 20
"""Characters that a message may have."""

_IMAGE_PATH = re.compile(r"\A[^\n]*\.(png|jpe?g|gif|webp|bmp|tiff?)['\"]?\Z", re.IGNORECASE)


def hook_signals(event: str, payload: Mapping[str, Any], at: float) -> list[Signal]:
    """What one call of a hook tells (the events of agents/codex_hooks).

    Sub-agents run the same hooks. Of theirs only a question to the person counts: what they do
    beside is part of the main agent's turn, or goes on behind its back.
    """
    session = _text(payload.get("session_id"))
    log = _text(payload.get("transcript_path"))
    if _is_of_subagent(payload, session, log):
        if event != "PermissionRequest":
            return []
        log = None

    def signal(kind: SignalKind, **more: str | None) -> list[Signal]:
        return [Signal(kind, Source.HOOK, at, session_id=session, log_path=log, **more)]

    match event:
        case "SessionStart":
            return signal(SignalKind.SESSION_STARTED)
        case "UserPromptSubmit":
            return signal(SignalKind.PROMPT_ACCEPTED, text=_text(payload.get("prompt")))
        case "PreToolUse" | "PostToolUse":
            return signal(SignalKind.WORKING, tool=_text(payload.get("tool_name")))
        case "PermissionRequest":
            return signal(SignalKind.APPROVAL_REQUESTED, tool=_text(payload.get("tool_name")))
        case "Interrupt":
            return signal(SignalKind.TURN_INTERRUPTED)
        case "SessionEnd":
            return signal(SignalKind.SESSION_ENDED)
        case "Stop":
            return signal(
                SignalKind.TURN_COMPLETED, text=_text(payload.get("last_assistant_message"))
            )
        case _:
            return []


def log_signals(line: bytes, at: float) -> list[Signal]:
    """What one line of the rollout file tells: how a turn ended.

    A turn that failed is `task_complete` without a message. 0.171.0 adds codex's words; before
    it they are on the screen only (`read_screen(...).failure`), and the signal has no text. Then
    it may also be a turn without any answer, of which the Stop hook told before.
    """
    if b"task_complete" not in line and b"turn_aborted" not in line:
        return []  # most lines, and some are very long
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return []
    if not isinstance(record, dict) or record.get("type") != "event_msg":
        return []
    payload = record.get("payload")
    if not isinstance(payload, dict):
        return []
    match payload.get("type"):
        case "task_complete":
            return [_turn_end(payload, at)]
        case "turn_aborted":
            return [Signal(SignalKind.TURN_INTERRUPTED, Source.SESSION_LOG, at)]
        case _:
            return []


def title_signal(title: str, at: float) -> Signal | None:
    """What the window title tells."""
    return titles.signal(titles.codex(title), at)


def steer_plan(text: str, version: str | None) -> SteerPlan:
    """One bracketed paste, in a form from which codex makes exactly this text.

    Measured with 0.133.0, 0.141.0 and 0.171.0: codex strips white space from both ends of a
    message. So a space in front keeps `/` (from 0.171.0 on `!` too) from being a command, and one
    behind closes the list of names that a last word such as `$HOME` or `@README` opens, from which
    Enter would choose. A paste that is nothing but the path of an image becomes an attachment,
    hence two pastes. A long paste is shown as a placeholder and hides its first character.
    """
    kept = text.strip(STRIPPED)
    if not kept:
        return SteerPlan(pieces=(), refusal="codex sends no message that is only white space")
    if len(kept) > LONGEST:
        return SteerPlan(pieces=(), refusal=f"codex takes at most {LONGEST} characters")
    if kept[0] == "!" and not _at_least(version, (0, 171)):
        return SteerPlan(
            pieces=(),
            refusal=f"codex {version or 'of unknown version'} runs what begins with ! as a command",
        )
    acted_on = kept[0] in "/!"
    typed = (" " if acted_on else "") + kept + " "
    cuts = {len(typed)}
    if acted_on and len(typed) > HEAD + 1:
        cuts |= {HEAD, len(typed) - 1}
    if _IMAGE_PATH.search(kept):
        cuts.add(len(typed) - 3)
    starts = [0, *sorted(cuts)]
    pieces = tuple(typed[a:b] for a, b in itertools.pairwise(starts))
    return SteerPlan(pieces=pieces, pause_s=0.1, rewritten=kept if kept != text else None)


def _at_least(version: str | None, wanted: tuple[int, int]) -> bool:
    found = re.match(r"(\d+)\.(\d+)", version or "")
    return found is not None and (int(found[1]), int(found[2])) >= wanted


def _is_of_subagent(payload: Mapping[str, Any], session: str | None, log: str | None) -> bool:
    """Whether a sub-agent ran the hook: 0.171.0 names it, older versions only name its rollout.

    The session is the main agent's in both, and the main agent's rollout bears its id.
    """
    if payload.get("agent_id"):
        return True
    return bool(session and log) and str(session) not in str(log).rpartition("/")[2]


def _turn_end(payload: Mapping[str, Any], at: float) -> Signal:
    error = payload.get("error")
    message = _text(payload.get("last_agent_message"))
    if isinstance(error, dict):
        words = _text(error.get("message"))
        return Signal(SignalKind.TURN_FAILED, Source.SESSION_LOG, at, text=words)
    if message is None:
        return Signal(SignalKind.TURN_FAILED, Source.SESSION_LOG, at)
    return Signal(SignalKind.TURN_COMPLETED, Source.SESSION_LOG, at, text=message)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
