"""Claude Code in its own TUI and with `-p`: hooks, the session log, the window title.

Measured with 2.1.167, 2.1.197 and 2.1.332. Hooks tell everything but an interruption, which only
the session log has; one that comes before the first word of an answer is in neither, but in the
state file of the process, and mostly in the window title.
"""

import json
from collections.abc import Mapping
from typing import Any

from cuekit.activity.claude_screen import read_screen
from cuekit.activity.claude_steer import steer_plan
from cuekit.activity.titles import has_spinner
from cuekit.model.activity import Signal, SignalKind, Source

TELLS_OF_QUEUED = True
"""2.1.332 calls UserPromptSubmit when it queues a message too, not only when it takes it."""

__all__ = [
    "TELLS_OF_QUEUED",
    "hook_signals",
    "log_signals",
    "read_screen",
    "steer_plan",
    "title_signal",
]

INTERRUPTED = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")
QUESTION_TOOL = "AskUserQuestion"
QUESTION = "question"
"""Name of the dialog in which the model asks the person something."""

AT_REST = "✳ "
SPINNER = ("◐ ", "◑ ", "◒ ", "◓ ")
"""Title while 2.1.332 works (`◐` and `◑` seen); 2.1.167 and 2.1.197 use braille."""

_TELLING = (b"[Request interrupted by user", b'"isApiErrorMessage":true', b'"queued')
"""What a line of the log must hold to be worth parsing; some lines are very long."""


def hook_signals(event: str, payload: Mapping[str, Any], at: float) -> list[Signal]:
    """What one call of a hook tells (the events of agents/claude_settings)."""
    session = _text(payload.get("session_id"))
    log = _text(payload.get("transcript_path"))
    tool = _text(payload.get("tool_name"))

    def signal(kind: SignalKind, **more: str | None) -> list[Signal]:
        return [Signal(kind, Source.HOOK, at, session_id=session, log_path=log, **more)]

    match event:
        case "SessionStart":
            return signal(SignalKind.SESSION_STARTED)
        case "UserPromptSubmit":
            return signal(SignalKind.PROMPT_ACCEPTED, text=_text(payload.get("prompt")))
        case "PreToolUse" | "PostToolUse" | "PostToolUseFailure":
            return signal(SignalKind.WORKING, tool=tool)
        case "PermissionRequest" if tool == QUESTION_TOOL:
            return signal(SignalKind.DIALOG, text=QUESTION)
        case "PermissionRequest":
            return signal(SignalKind.APPROVAL_REQUESTED, tool=tool)
        case "Notification" if payload.get("notification_type") == "elicitation_dialog":
            return signal(SignalKind.DIALOG, text=QUESTION)
        case "Stop":
            ended = signal(
                SignalKind.TURN_COMPLETED, text=_text(payload.get("last_assistant_message"))
            )
            return ended + (signal(SignalKind.WORKING) if _agents_run(payload) else [])
        case "StopFailure":
            words = payload.get("last_assistant_message") or payload.get("error")
            return signal(SignalKind.TURN_FAILED, text=_text(words))
        case "SessionEnd":
            return signal(SignalKind.SESSION_ENDED)
        case _:
            return []


def log_signals(line: bytes, at: float) -> list[Signal]:
    """What one line of the session log (`transcript_path` of the hooks) tells.

    An interruption, which no hook tells; an API error that ends the turn (with `-p`, 2.1.332
    runs no hook for a 401); and a queued message that is taken up, into the running turn
    (`queued_command`) or as the next one (`promptSource`), of which not every version's hooks
    tell. Lines of subagents are left out.
    """
    if not any(word in line for word in _TELLING):
        return []
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return []
    if not isinstance(record, dict) or record.get("isSidechain") is True:
        return []

    def signal(kind: SignalKind, text: str | None = None) -> list[Signal]:
        return [Signal(kind, Source.SESSION_LOG, at, text=text)]

    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    match record.get("type"):
        case "assistant" if record.get("isApiErrorMessage") is True:
            return signal(SignalKind.TURN_FAILED, _words(content))
        case "user" if record.get("promptSource") == "queued":
            return signal(SignalKind.PROMPT_ACCEPTED, _words(content))
        case "user" if isinstance(content, list) and _words(content) in INTERRUPTED:
            return signal(SignalKind.TURN_INTERRUPTED)
        case "attachment":
            return _queued_command(record.get("attachment"), at)
        case _:
            return []


def status_folder(log_path: str) -> str | None:
    """Where the TUI keeps one state file for each process: `sessions` beside `projects`."""
    parts = log_path.rsplit("/", 3)
    return f"{parts[0]}/sessions" if len(parts) == 4 and parts[1] == "projects" else None


def status_signal(data: bytes, session_id: str | None) -> Signal | None:
    """What the state file `sessions/PID.json` says, if it is that of this session.

    `status` is busy, idle or waiting, written within about a second of the change. It tells of
    an Escape before the first word of an answer, of which neither hooks nor log do.
    """
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not session_id or record.get("sessionId") != session_id:
        return None
    milliseconds = record.get("statusUpdatedAt", record.get("updatedAt"))
    at = milliseconds / 1000 if isinstance(milliseconds, int | float) else 0.0
    match record.get("status"):
        case "busy":
            return Signal(SignalKind.WORKING, Source.SESSION_LOG, at)
        case "waiting" if record.get("waitingFor") == "permission prompt":
            return Signal(SignalKind.APPROVAL_REQUESTED, Source.SESSION_LOG, at)
        case "waiting":
            return None
        case _:
            return Signal(SignalKind.AT_REST, Source.SESSION_LOG, at)


def title_signal(title: str, at: float) -> Signal | None:
    """What the window title tells: a spinner while it works, else `✳`.

    The `✳` stands while it is idle and while a dialog waits alike. 2.1.332 has no spinner where
    it sees TMUX in its environment.
    """
    if has_spinner(title) or title.startswith(SPINNER):
        return Signal(SignalKind.WORKING, Source.TITLE, at)
    if title.startswith(AT_REST):
        return Signal(SignalKind.AT_REST, Source.TITLE, at)
    return None


def _queued_command(attachment: object, at: float) -> list[Signal]:
    if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
        return []
    if attachment.get("commandMode", "prompt") != "prompt":
        return []
    text = _words(attachment.get("prompt"))
    return [Signal(SignalKind.PROMPT_ACCEPTED, Source.SESSION_LOG, at, text=text)]


def _agents_run(payload: Mapping[str, Any]) -> bool:
    """Whether subagents go on in the background: their end begins another turn by itself."""
    tasks = payload.get("background_tasks")
    return isinstance(tasks, list) and any(
        isinstance(task, dict)
        and task.get("type") == "subagent"
        and task.get("status") == "running"
        for task in tasks
    )


def _words(content: object) -> str | None:
    """The text of a message's content, which is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [_text(block.get("text")) for block in content if isinstance(block, dict)]
    return "\n".join(text for text in texts if text is not None) or None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
