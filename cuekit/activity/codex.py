"""Codex in its own TUI: hooks, the rollout file, the window title, the screen."""

import json
import re
from collections.abc import Mapping
from typing import Any

from cuekit.activity import titles
from cuekit.activity.base import Composer, Screen, SteerPlan
from cuekit.activity.screens import bright_text, last_filled
from cuekit.model.activity import Signal, SignalKind, Source


PROMPT = "›"
FAILURE = "■"
INTERRUPTED = "Conversation interrupted"
BUSY_LINES = 14
"""How far from the bottom the line of progress may stand, above queued messages."""

STRIPPED = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""What codex strips from both ends of a message: Unicode's white space."""

HEAD = 200
"""Characters that go in first, alone, where a paste shown as a placeholder hid a leading space."""

LONGEST = 1 << 20
"""Characters that a message may have."""

_IMAGE_PATH = re.compile(r"\A[^\n]*\.(png|jpe?g|gif|webp|bmp|tiff?)['\"]?\Z", re.IGNORECASE)
_BUSY = re.compile(r"[•◦] .{0,80}\(\d.{0,20} • esc to interrupt")
_KEY_HINT = re.compile(
    r"\s*(press )?(enter|esc)(/esc)? (to )?(confirm|continue|select|submit|cancel|skip|go back|back)"
    r"\b|\s*[›>]? ?.{0,60}(enter|↵) (to )?(confirm|continue|select|submit)\b.{0,60}\besc\b",
    re.IGNORECASE,
)
_DIALOGS = (
    ("Do you trust the contents of this directory?", "trust"),
    ("Trust this folder?", "trust"),
    ("Sign in with ChatGPT", "login"),
    ("Provide your own API key", "login"),
    ("Hooks need review", "hooks_review"),
    ("Skip until next version", "update"),
    ("Try new model", "model_migration"),
    ("Use existing model", "model_migration"),
    ("Would you like to run the following command?", "approval"),
    ("Would you like to make the following edits?", "approval"),
    ("Would you like to grant these permissions?", "approval"),
    ("Would you like to send input to", "approval"),
    ("needs your approval.", "approval"),
    ("Allow Codex to run", "approval"),
    ("Allow Codex to apply proposed code changes?", "approval"),
)


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
    """What the pane shows: a dialog, the composer and its draft, codex's words of failure.

    Dialogs take the composer's place, so one is looked for only where the last line is its hint
    of keys; what the agent wrote above cannot be mistaken for it.
    """
    lines = plain.split("\n")
    last = last_filled(lines)
    if last < 0:
        return Screen()
    if _KEY_HINT.match(lines[last]):
        return Screen(dialog=_dialog_name(lines[: last + 1]), busy=None)
    prompt = _prompt_line(lines, last)
    busy = True if any(_BUSY.match(line) for line in lines[: last + 1][-BUSY_LINES:]) else None
    if prompt is None:
        return Screen(busy=busy, failure=_failure(lines[: last + 1]))
    failure = _failure(lines[:prompt])
    if _is_suggestion(lines[prompt], bright_text(styled)[prompt : prompt + 1]):
        return Screen(composer=Composer.EMPTY, busy=busy, failure=failure)
    draft = _draft(lines[prompt : last + 1])
    return Screen(composer=Composer.DRAFT, draft=draft, busy=busy, failure=failure)


def steer_plan(text: str, version: str | None) -> SteerPlan:
    """One bracketed paste, in a form from which codex makes exactly this text.

    Measured with 0.133.0, 0.141.0 and 0.171.0: codex strips white space from both ends of a
    message. So a space in front keeps `/` (from 0.171.0 on `!` too) from being a command, and one
    behind closes the
    list of names that a last word such as `$HOME` or `@README` opens, and which Enter would take
    its choice from. A paste that is nothing but the path of an image becomes an attachment,
    hence two pastes.
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
    typed = kept + " "
    cuts = {len(typed)}
    if kept[0] in "/!":
        typed = " " + typed
        if len(typed) > HEAD + 1:
            cuts |= {HEAD, len(typed) - 1}
    if _IMAGE_PATH.search(kept):
        cuts.add(len(typed) - 3)
    starts = [0, *sorted(cuts)]
    pieces = tuple(typed[a:b] for a, b in zip(starts, starts[1:], strict=False))
    return SteerPlan(pieces=pieces, pause_s=0.1, rewritten=kept if kept != text else None)


def _at_least(version: str | None, wanted: tuple[int, int]) -> bool:
    found = re.match(r"(\d+)\.(\d+)", version or "")
    return found is not None and (int(found[1]), int(found[2])) >= wanted


def _prompt_line(lines: list[str], last: int) -> int | None:
    for index in range(last, -1, -1):
        if lines[index].startswith(PROMPT):
            return index
    return None


def _is_suggestion(line: str, bright: list[str]) -> bool:
    """Whether the composer shows its dim suggestion, which stands there only while it is empty.

    Nothing at all behind the prompt is a draft whose first line is blank.
    """
    return bool(line[1:].strip()) and bright != [] and not bright[0][1:].strip()


def _dialog_name(lines: list[str]) -> str:
    text = "\n".join(lines)
    found = [(text.rfind(words), name) for words, name in _DIALOGS if words in text]
    return max(found)[1] if found else "other"


def _draft(lines: list[str]) -> str:
    """What was typed: from the prompt to the blank line above the footer."""
    body = [lines[0][1:].removeprefix(" "), *(line.removeprefix("  ") for line in lines[1:])]
    blank = max((i for i, line in enumerate(body) if not line.strip()), default=len(body))
    return "\n".join(line.rstrip() for line in body[:blank]).rstrip()


def _failure(lines: list[str]) -> str | None:
    """Codex's words about the last turn, if that failed: the newest block that begins with a
    square, when no prompt stands below it."""
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index]
        if line.startswith(PROMPT):
            return None
        if line.startswith(FAILURE):
            block = [line.removeprefix(FAILURE).strip()]
            for more in lines[index + 1 :]:
                if not more.strip():
                    break
                block.append(more.strip())
            words = " ".join(block)
            return None if words.startswith(INTERRUPTED) else words
    return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
