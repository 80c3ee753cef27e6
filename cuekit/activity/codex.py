"""Codex in its own TUI: hooks, the rollout file, the window title, the screen."""

import json
from collections.abc import Mapping
from typing import Any

from cuekit.activity import titles
from cuekit.activity.base import Composer, Screen, SteerPlan
from cuekit.model.activity import Signal, SignalKind, Source


def hook_signals(event: str, payload: Mapping[str, Any], at: float) -> list[Signal]:
    """What one call of a hook tells (the events of agents/codex_hooks)."""
    session = _text(payload.get("session_id"))
    log = _text(payload.get("transcript_path"))

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
        case "Stop":
            return signal(
                SignalKind.TURN_COMPLETED, text=_text(payload.get("last_assistant_message"))
            )
        case _:
            return []


def log_signals(line: bytes, at: float) -> list[Signal]:
    """What one line of the rollout file tells."""
    try:
        record = json.loads(line)
    except ValueError:
        return []
    payload = record.get("payload") if isinstance(record, dict) else None
    if not isinstance(payload, dict) or record.get("type") != "event_msg":
        return []
    match payload.get("type"):
        case "task_complete":
            text = _text(payload.get("last_agent_message"))
            return [Signal(SignalKind.TURN_COMPLETED, Source.SESSION_LOG, at, text=text)]
        case "turn_aborted":
            return [Signal(SignalKind.TURN_INTERRUPTED, Source.SESSION_LOG, at)]
        case _:
            return []


def title_signal(title: str, at: float) -> Signal | None:
    """What the window title tells."""
    return titles.signal(titles.codex(title), at)


def read_screen(plain: str, styled: str) -> Screen:
    """Not yet."""
    return Screen(composer=Composer.HIDDEN)


def steer_plan(text: str, version: str | None) -> SteerPlan:
    """One bracketed paste; a leading space keeps `/` and `!` from being commands."""
    return SteerPlan(pieces=(text,))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
