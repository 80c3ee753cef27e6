"""What `claude -p --output-format stream-json` writes, as events: pure, total, stateful.

One decoder for each process. Messages of Claude Code 2.1.167, 2.1.197 and 2.1.332, whole and
partial; what is not in the tables becomes `raw`.
"""

from collections.abc import Callable
from typing import Any

from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols import claude_results as results
from cuekit.protocols.claude_messages import Message, Messages
from cuekit.protocols.claude_tools import Json, common_input, tool_of
from cuekit.protocols.claude_wire import optional_text, raw, raw_line, read_message, text

Handler = Callable[[Json], list[AgentEvent]]

QUIET_SYSTEM = frozenset({"thinking_tokens"})  # an estimate; `result` and the text itself tell
QUIET = frozenset(
    {
        "command_lifecycle",  # 2.1.332: states of a user message; its replay tells when it is read
        "control_cancel_request",  # the session acts on these three
        "control_response",
        "keep_alive",
    }
)
CONTROL_REQUESTS = frozenset({"can_use_tool"})
"""Requests that the session answers; the coordinator makes the events of an approval."""

TASK_SUBTYPES = ("task_started", "task_progress", "task_updated", "task_notification")
PARENT = "parent_tool_use_id"
SPOKEN = {"text": EventKind.ASSISTANT_TEXT, "thinking": EventKind.THINKING}
OWN_OUTPUT = ("<local-command", "<command-")
"""How user lines begin in which claude tells of a command of its own."""


class Decoder:
    """Keeps what is open: the turn, the blocks of each message, the calls without a result."""

    def __init__(self) -> None:
        self.session_id: str | None = None
        self.in_turn = False
        self._mode: str | None = None
        self._messages = Messages()
        self._calls: dict[str, tuple[str, Json | None]] = {}  # tool id: native name, input
        self._cost = 0.0  # told so far; claude counts it over the whole process
        self._handlers: dict[str, Handler] = {
            "stream_event": self._stream_event,
            "assistant": self._assistant,
            "user": self._user,
            "system": self._system,
            "result": self._result,
            "control_request": _control_request,
            "rate_limit_event": results.rate_limits,
        }
        self._partials: dict[str, Callable[[Json, Message, str | None], list[AgentEvent]]] = {
            "content_block_delta": self._delta,
            "content_block_start": self._block_start,
            "content_block_stop": _nothing,
            "message_start": self._message_start,
            "message_delta": _nothing,  # the usage of one request; `result` has the turn's
            "message_stop": _nothing,
            "ping": _nothing,
        }
        self._systems: dict[str, Handler] = {
            "init": self._init,
            "status": self._status,
            "api_retry": results.api_retry,
            "permission_denied": results.permission_denied,
            "compact_boundary": results.compacted,
            **dict.fromkeys(TASK_SUBTYPES, results.task),
        }

    def decode_line(self, line: bytes) -> list[AgentEvent]:
        """The events of a line of standard output."""
        message = read_message(line)
        return [raw_line(line)] if message is None else self.decode(message)

    def decode(self, message: Json) -> list[AgentEvent]:
        """The events of a message."""
        kind = message.get("type")
        if kind.__class__ is not str:
            return [raw(message)]
        handler = self._handlers.get(kind)
        if handler is None:
            return [] if kind in QUIET else [raw(message)]
        try:
            return handler(message)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            return [raw(message)]

    def native_call(self, tool_id: str) -> tuple[str, Json | None] | None:
        """Native name and input of a call that has no result yet."""
        return self._calls.get(tool_id)

    def _begin_turn(self) -> list[AgentEvent]:
        if self.in_turn:
            return []
        self.in_turn = True
        return [AgentEvent(EventKind.TURN_STARTED, {})]

    # -- system ----------------------------------------------------------------------------

    def _system(self, message: Json) -> list[AgentEvent]:
        subtype = message["subtype"]
        handler = self._systems.get(subtype)
        if handler is None:
            return [] if subtype in QUIET_SYSTEM else [raw(message)]
        return handler(message)

    def _init(self, message: Json) -> list[AgentEvent]:
        """Comes before each turn; only another id makes it a new session."""
        session_id = text(message, "session_id")
        mode = message.get("permissionMode")
        events: list[AgentEvent] = []
        if session_id != self.session_id:
            events.append(AgentEvent(EventKind.SESSION_STARTED, results.session(message)))
            self.session_id, self._mode = session_id, mode
        elif mode != self._mode:
            events += self._mode_changed(mode)
        return events + self._begin_turn()

    def _status(self, message: Json) -> list[AgentEvent]:
        events: list[AgentEvent] = []
        if message.get("permissionMode") not in (None, self._mode):
            events += self._mode_changed(message["permissionMode"])
        state = message["status"]
        if state is not None and state != "requesting":
            events.append(AgentEvent(EventKind.STATUS, {"what": "agent", "state": state}))
        return events

    def _mode_changed(self, mode: Any) -> list[AgentEvent]:
        self._mode = mode
        return [AgentEvent(EventKind.STATUS, {"what": "permission_mode", "mode": mode})]

    # -- whole messages --------------------------------------------------------------------

    def _assistant(self, message: Json) -> list[AgentEvent]:
        """One line for each block of an API message, all with the same message id."""
        parent = optional_text(message, PARENT)
        body = message["message"]
        if isinstance(message.get("error"), str):
            return results.api_error(message)
        current = self._messages.get(parent, text(body, "id"))
        events: list[AgentEvent] = []
        for block in body["content"]:
            kind = block["type"]
            index = current.whole(kind)
            if kind in SPOKEN:
                words = text(block, kind)
                events.append(_words(SPOKEN[kind], words, False, current, index, parent))
            elif kind == "tool_use":
                events += self._call(block, parent)
            else:
                return [raw(message)]
        return events

    def _call(self, block: Json, parent: str | None) -> list[AgentEvent]:
        tool_id, native, values = text(block, "id"), text(block, "name"), block["input"]
        if values.__class__ is not dict:
            raise TypeError("input")
        common = common_input(native, values)
        named = _named(tool_id, native, parent)
        started = [AgentEvent(EventKind.TOOL_CALL_STARTED, {**named, "input": common})]
        if tool_id in self._calls:
            started = []  # told when its block began
        self._calls[tool_id] = (native, values)
        events = [*started, AgentEvent(EventKind.TOOL_CALL_COMPLETED, {**named, "input": common})]
        return events + results.plan(native, values)

    def _user(self, message: Json) -> list[AgentEvent]:
        """Results of tools, messages of the user that claude has read, and lines of its own."""
        content = message["message"]["content"]
        if message.get("isReplay") is True:
            return self._replay(message, content)
        if content.__class__ is str:
            return [results.user_line(message, content)]
        events: list[AgentEvent] = []
        for block in content:
            kind = block["type"]
            if kind == "tool_result":
                tool_id = text(block, "tool_use_id")
                call = self._calls.pop(tool_id, None)
                events += results.tool_result(message, block, call)
            elif kind == "text":
                events.append(results.user_line(message, text(block, "text")))
            else:
                return [raw(message)]
        return events

    def _replay(self, message: Json, content: Any) -> list[AgentEvent]:
        """A message of the user's, read. Several read at once come as the blocks of the last."""
        if content.__class__ is not str:
            texts = [block["text"] for block in content if block["type"] == "text"]
            content = texts[-1]
        if content.startswith(OWN_OUTPUT):
            return [results.user_line(message, content)]
        values = {"text": content, "item_id": text(message, "uuid")}
        return [*self._begin_turn(), AgentEvent(EventKind.PROMPT_ACCEPTED, values)]

    def _result(self, message: Json) -> list[AgentEvent]:
        """The end of a turn; judged by `is_error`, since `subtype` says success of most errors."""
        usage, values = results.end_of_turn(message, self._cost)
        total = message.get("total_cost_usd")
        if isinstance(total, int | float):
            self._cost = total
        begun = self._begin_turn()
        self.in_turn = False
        self._calls.clear()
        return [*begun, *usage, AgentEvent(EventKind.TURN_COMPLETED, values)]

    # -- partial messages ------------------------------------------------------------------

    def _stream_event(self, message: Json) -> list[AgentEvent]:
        event = message["event"]
        handler = self._partials.get(event["type"])
        if handler is None:
            return [raw(message)]
        parent = optional_text(message, PARENT)
        return handler(event, self._messages.current(parent), parent)

    def _message_start(self, event: Json, _: Message, parent: str | None) -> list[AgentEvent]:
        self._messages.get(parent, text(event["message"], "id"))
        return []

    def _block_start(self, event: Json, current: Message, parent: str | None) -> list[AgentEvent]:
        block, index = event["content_block"], event["index"]
        kind = text(block, "type")
        if kind != "tool_use":
            current.begin(index, kind, None)
            return []
        tool_id, native = text(block, "id"), text(block, "name")
        current.begin(index, kind, tool_id)
        self._calls[tool_id] = (native, None)
        return [AgentEvent(EventKind.TOOL_CALL_STARTED, _named(tool_id, native, parent))]

    def _delta(self, event: Json, current: Message, parent: str | None) -> list[AgentEvent]:
        delta, index = event["delta"], event["index"]
        kind = delta["type"]
        if kind == "text_delta":
            words = text(delta, "text")
            return [_words(EventKind.ASSISTANT_TEXT, words, True, current, index, parent)]
        if kind == "input_json_delta":
            words, tool_id = text(delta, "partial_json"), current.tools[index]
            if not words:
                return []
            values = {"tool_id": tool_id, "text": words}
            return [AgentEvent(EventKind.TOOL_CALL_INPUT_DELTA, values)]
        if kind == "thinking_delta":
            words = text(delta, "thinking")
            return [_words(EventKind.THINKING, words, True, current, index, parent)]
        if kind == "signature_delta":
            return []
        raise ValueError(kind)


def _words(
    kind: EventKind, words: str, partial: bool, current: Message, index: int, parent: str | None
) -> AgentEvent:
    values: Json = {"text": words, "partial": partial, "item_id": f"{current.message_id}:{index}"}
    if parent is not None:
        values["parent_tool_id"] = parent
    return AgentEvent(kind, values)


def _named(tool_id: str, native: str, parent: str | None) -> Json:
    values: Json = {"tool_id": tool_id, "tool": tool_of(native).value, "native_tool": native}
    if parent is not None:
        values["parent_tool_id"] = parent
    return values


def _nothing(event: Json, current: Message, parent: str | None) -> list[AgentEvent]:
    return []


def _control_request(message: Json) -> list[AgentEvent]:
    return [] if message["request"]["subtype"] in CONTROL_REQUESTS else [raw(message)]
