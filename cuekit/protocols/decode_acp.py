"""What an ACP agent writes, as events: pure, total, one decoder for each connection.

Messages of the protocol, version 1, and what grok 1.0.41, gemini 0.61.0 and opencode 1.18.33 add
to it; what is not in the tables becomes `raw`.
"""

from collections.abc import Callable
from typing import Any

from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols.acp_items import Item, Items
from cuekit.protocols.acp_usage import Usage
from cuekit.protocols.acp_values import (
    Json,
    content_text,
    object_of,
    objects_of,
    present,
    raw,
    read_message,
    text_of,
)

OUTCOMES = {"end_turn": "completed", "cancelled": "interrupted"}
WORDS = {
    "max_tokens": "the model came to its limit of tokens",
    "max_turn_requests": "the turn came to the agent's limit of model requests",
    "refusal": "the model refused to go on",
}
PERMISSION = "session/request_permission"
QUIET_REQUESTS = frozenset({"fs/write_text_file"})
"""Refused and told by nobody: opencode 1.18.33 would also write into the client's editor, though
none is announced, and has written its file by then."""

QUIET = frozenset(
    {
        "$/cancel_request",
        "_auth/status_update",
        "_x.ai/mcp/servers_updated",
        "_x.ai/mcp_initialized",
        "_x.ai/models/update",
        "_x.ai/queue/changed",
        "_x.ai/session/prompt_complete",
        "_x.ai/session/setup",
        "_x.ai/session/update",
        "_x.ai/sessions/changed",
    }
)
"""Known notifications that tell nothing which others do not."""

QUIET_UPDATES = frozenset({"available_commands_update", "user_message_chunk"})
QUIET_OF_GROK = frozenset(
    {
        "background_tasks",
        "interaction_resolved",
        "last_turn_summary",
        "model_changed",
        "pending_interaction",  # also told when grok then decides by itself: no request
        "response_completed",
        "turn_completed",
    }
)
MODE_MARK = "[MODE_UPDATE] "
"""gemini 0.61.0 tells a change of its mode as if it were text of the model."""

Handler = Callable[[Json], list[AgentEvent]]


class Decoder:
    """Joins the pieces of a message, keeps open tool calls, and what usage was told."""

    def __init__(self, *, title_is_command: bool = False) -> None:
        self.items = Items(title_is_command=title_is_command)
        self._usage = Usage()
        self._kind: EventKind | None = None  # of the message that is being told in pieces
        self._pieces: list[str] = []
        self._message_id: str | None = None
        self._updates: dict[str, Handler] = {
            "agent_message_chunk": self._message_chunk,
            "agent_thought_chunk": self._thought_chunk,
            "tool_call": self._tool,
            "tool_call_update": self._tool,
            "plan": self._plan,
            "usage_update": self._usage.update,
            "current_mode_update": _mode,
            "config_option_update": _config_options,
            "session_info_update": _session_info,
        }

    def decode_line(self, line: bytes) -> list[AgentEvent]:
        """The events of a line of standard output."""
        message = read_message(line)
        if message is None:
            return [raw(line.decode("utf-8", "replace"))]
        return self.decode(message)

    def decode(self, message: Json) -> list[AgentEvent]:
        """The events of a message: a notification, a request or an answer."""
        method = message.get("method")
        try:
            if method.__class__ is not str:
                return self._answer(message)
            if "id" in message:
                return self._request(str(method), message)
            params = message.get("params")
            if method == "session/update" and params.__class__ is dict:
                return self._update(message, params or {})
            if method == "_x.ai/session_notification":
                return self._of_grok(message)
        except (KeyError, TypeError, ValueError, AttributeError):
            return [raw(message)]
        return [] if method in QUIET else [raw(message)]

    def asked(self, params: Json) -> tuple[Item, list[AgentEvent]]:
        """The call that leave is asked for. Raises ValueError when none is named."""
        item, events = self.items.asked(object_of(params, "toolCall"))
        return item, [*self.flush(), *events]

    def flush(self) -> list[AgentEvent]:
        """The message that was told in pieces, whole."""
        if self._kind is None:
            return []
        kind, words = self._kind, "".join(self._pieces)
        self._kind, self._pieces, self._message_id = None, [], None
        return [AgentEvent(kind, {"text": words, "partial": False})] if words.strip() else []

    def close(self) -> list[AgentEvent]:
        """The end of a prompt: the last message whole, and no call left open."""
        return [*self.flush(), *self.items.close()]

    def _request(self, method: str, message: Json) -> list[AgentEvent]:
        if method != PERMISSION:
            return [] if method in QUIET_REQUESTS else [raw(message)]
        return self.asked(object_of(message, "params"))[1]

    def _answer(self, message: Json) -> list[AgentEvent]:
        """An answer to a request of ours: the opening of a session, or the end of a prompt."""
        if "id" not in message or ("result" not in message and "error" not in message):
            return [raw(message)]
        result = message.get("result")
        if result.__class__ is not dict:
            return []
        if (stop := text_of(result or {}, "stopReason")) is not None:
            return self._prompt_ended(stop, result or {})
        if (session := text_of(result or {}, "sessionId")) is not None:
            model = text_of(object_of(result or {}, "models"), "currentModelId")
            values = {"agent_session_id": session, **present(model=model)}
            return [AgentEvent(EventKind.SESSION_STARTED, values)]
        return []

    def _prompt_ended(self, stop: str, result: Json) -> list[AgentEvent]:
        outcome = OUTCOMES.get(stop, "failed")
        words = None
        if outcome == "failed":
            words = WORDS.get(stop, f"the agent stopped: {stop}")
        values = {
            "outcome": outcome,
            "stop_reason": stop,
            **present(message=words, code=stop if outcome == "failed" else None),
        }
        ended = AgentEvent(EventKind.TURN_COMPLETED, values)
        return [*self.close(), *self._usage.of_prompt(result), ended]

    def _update(self, message: Json, params: Json) -> list[AgentEvent]:
        update = params["update"]
        name = update["sessionUpdate"]
        handler = self._updates.get(name)
        if handler is None:
            return [] if name in QUIET_UPDATES else [raw(message)]
        return handler(update)

    def _of_grok(self, message: Json) -> list[AgentEvent]:
        update = message["params"]["update"]
        name = update["sessionUpdate"]
        if name == "tool_call_delta_chunk":
            piece = update.get("arguments_delta")
            tool_id = text_of(update, "tool_call_id")
            if tool_id is None or piece.__class__ is not str:
                return [raw(message)]
            events = self.items.input_piece(tool_id, text_of(update, "name") or "", piece)
            return [*self.flush(), *events]
        if name == "session_summary_generated":
            title = text_of(update, "session_summary", "summary", "title")
            return [_status("title", title=title)] if title else []
        if name == "retry_state":
            if update.get("type") == "failed":
                return []  # the prompt's answer says so too
            words = text_of(update, "message") or "the model is asked again"
            values = {"message": words, "recoverable": True, "code": "retry"}
            return [AgentEvent(EventKind.ERROR, values)]
        return [] if name in QUIET_OF_GROK else [raw(message)]

    def _message_chunk(self, update: Json) -> list[AgentEvent]:
        return self._chunk(EventKind.ASSISTANT_TEXT, update)

    def _thought_chunk(self, update: Json) -> list[AgentEvent]:
        return self._chunk(EventKind.THINKING, update)

    def _chunk(self, kind: EventKind, update: Json) -> list[AgentEvent]:
        piece = content_text(update["content"])
        if piece is None:
            return [*self.flush(), raw({"sessionUpdate": update})]
        if object_of(update, "_meta", "claudeCode").get("kind") == "informational":
            return [_status("notice", text=piece)]
        if piece.startswith(MODE_MARK):
            return [_status("mode", mode=piece.removeprefix(MODE_MARK).strip())]
        message_id = text_of(update, "messageId")
        before: list[AgentEvent] = []
        if self._kind is not kind or message_id != self._message_id:
            before = self.flush()
            self._kind, self._message_id = kind, message_id
        self._pieces.append(piece)
        if not piece:
            return before
        return [*before, AgentEvent(kind, {"text": piece, "partial": True})]

    def _tool(self, update: Json) -> list[AgentEvent]:
        events = self.items.take(update)
        return [*self.flush(), *events] if events else []

    def _plan(self, update: Json) -> list[AgentEvent]:
        entries = [
            {"text": str(entry["content"]), "state": str(entry.get("status", "pending"))}
            for entry in objects_of(update, "entries")
        ]
        return [*self.flush(), AgentEvent(EventKind.PLAN, {"entries": entries})]


def _status(what: str, **values: Any) -> AgentEvent:
    return AgentEvent(EventKind.STATUS, {"what": what, **values})


def _mode(update: Json) -> list[AgentEvent]:
    return [_status("mode", mode=str(update["currentModeId"]))]


def _config_options(update: Json) -> list[AgentEvent]:
    values = {
        str(option["id"]): option.get("currentValue")
        for option in objects_of(update, "configOptions")
    }
    events = [_status("config", options=values)]
    if isinstance(values.get("mode"), str):
        events.append(_status("mode", mode=values["mode"]))
    return events


def _session_info(update: Json) -> list[AgentEvent]:
    title = text_of(update, "title")
    return [_status("title", title=title)] if title else []
