"""What `codex exec --json` writes, as events: a schema of its own, snake case, dotted names.

codex 0.133.0, 0.141.0 and 0.171.0, run.
"""

from collections.abc import Callable

from cuekit.model.event import AgentEvent, EventKind, Tool
from cuekit.protocols.codex_wire import (
    Json,
    failure,
    file_change,
    integer,
    mapping,
    objects,
    optional_integer,
    optional_text,
    present,
    raw,
    raw_line,
    read_message,
    text,
)

RETRYING = "Reconnecting"
"""How codex's error begins when it tries again; any other is followed by `turn.failed`."""

ItemHandler = Callable[[Json, str], list[AgentEvent]]


class Decoder:
    """One for each process: item ids begin again at item_0 in the next one."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._handlers: dict[str, Callable[[Json], list[AgentEvent]]] = {
            "thread.started": _thread_started,
            "turn.started": lambda message: [AgentEvent(EventKind.TURN_STARTED, {})],
            "turn.completed": _turn_completed,
            "turn.failed": _turn_failed,
            "error": _error,
            "item.started": self._item,
            "item.updated": self._item,
            "item.completed": self._item,
        }
        self._items: dict[str, ItemHandler] = {
            "agent_message": _agent_message,
            "reasoning": _reasoning,
            "command_execution": self._command,
            "file_change": self._file_change,
            "mcp_tool_call": self._tool,
            "collab_tool_call": self._tool,
            "web_search": self._tool,
            "todo_list": _todo_list,
            "error": _item_error,
        }

    def decode_line(self, line: bytes) -> list[AgentEvent]:
        """The events of a line of standard output."""
        message = read_message(line)
        return [raw_line(line)] if message is None else self.decode(message)

    def decode(self, message: Json) -> list[AgentEvent]:
        """The events of a message."""
        try:
            handler = self._handlers.get(message["type"])
            return [raw(message)] if handler is None else handler(message)
        except (KeyError, TypeError, ValueError, AttributeError):
            return [raw(message)]

    def _item(self, message: Json) -> list[AgentEvent]:
        item = mapping(message, "item")
        handler = self._items.get(text(item, "type"))
        if handler is None:
            return [raw(message)]
        return handler(item, message["type"].removeprefix("item."))

    def _call(self, item: Json, kind: EventKind, tool: Tool, values: Json) -> list[AgentEvent]:
        """A tool call's start, once for each item whichever of its messages comes first."""
        item_id = text(item, "id")
        if kind is EventKind.TOOL_CALL_STARTED:
            if item_id in self._open:
                return []
            self._open.add(item_id)
        call = {
            "tool_id": item_id,
            "tool": tool.value,
            "native_tool": item["type"],
            "input": values,
        }
        return [AgentEvent(kind, call)]

    def _command(self, item: Json, phase: str) -> list[AgentEvent]:
        values = {"command": text(item, "command")}
        events = self._call(item, EventKind.TOOL_CALL_STARTED, Tool.SHELL, values)
        if phase != "completed":
            return events
        status = text(item, "status")
        result = {
            "tool_id": text(item, "id"),
            "text": optional_text(item, "aggregated_output") or "",
            "is_error": status != "completed",
            "status": status,
            **present(exit_code=optional_integer(item, "exit_code")),
        }
        return [*events, AgentEvent(EventKind.TOOL_RESULT, result)]

    def _file_change(self, item: Json, phase: str) -> list[AgentEvent]:
        item_id = text(item, "id")
        changes = [file_change(change, item_id) for change in objects(item, "changes")]
        values: Json = {"paths": [change.values["path"] for change in changes]}
        if len(changes) == 1:
            values["path"] = values["paths"][0]
        events = self._call(item, EventKind.TOOL_CALL_STARTED, Tool.EDIT, values)
        if phase != "completed":
            return events
        status = text(item, "status")
        done = status == "completed"
        result = {"tool_id": item_id, "text": "", "is_error": not done, "status": status}
        return [
            *events,
            *(changes if done else []),
            AgentEvent(EventKind.TOOL_RESULT, result),
        ]

    def _tool(self, item: Json, phase: str) -> list[AgentEvent]:
        tool, values = _tool_input(item)
        events = self._call(item, EventKind.TOOL_CALL_STARTED, tool, values)
        if phase != "completed":
            return events
        status = optional_text(item, "status") or "completed"
        error = item.get("error")
        words = optional_text(error, "message") if isinstance(error, dict) else None
        result = {
            "tool_id": text(item, "id"),
            "text": words or _content(item),
            "is_error": status == "failed" or error is not None,
            "status": status,
        }
        return [
            *events,
            *self._call(item, EventKind.TOOL_CALL_COMPLETED, tool, values),
            AgentEvent(EventKind.TOOL_RESULT, result),
        ]


def _tool_input(item: Json) -> tuple[Tool, Json]:
    match item["type"]:
        case "mcp_tool_call":
            values = {"server": text(item, "server"), "tool": text(item, "tool")}
            return Tool.MCP, {**values, "arguments": item.get("arguments")}
        case "web_search":
            return Tool.WEB_SEARCH, {"query": text(item, "query")}
    values = {"tool": text(item, "tool")}
    return Tool.TASK, {**values, **present(prompt=optional_text(item, "prompt"))}


def _content(item: Json) -> str:
    result = item.get("result")
    parts = objects(result, "content") if isinstance(result, dict) else []
    return "\n".join(text(part, "text") for part in parts if "text" in part)


def _thread_started(message: Json) -> list[AgentEvent]:
    values = {"agent_session_id": text(message, "thread_id")}
    return [AgentEvent(EventKind.SESSION_STARTED, values)]


def _turn_completed(message: Json) -> list[AgentEvent]:
    """The usage is the sum over all requests of the turn."""
    ended = AgentEvent(EventKind.TURN_COMPLETED, {"outcome": "completed"})
    if message.get("usage") is None:
        return [ended]
    usage = mapping(message, "usage")
    values = {
        "input_tokens": integer(usage, "input_tokens"),
        "cached_input_tokens": integer(usage, "cached_input_tokens"),
        "output_tokens": integer(usage, "output_tokens"),
        "reasoning_tokens": integer(usage, "reasoning_output_tokens"),
        **present(cache_write_tokens=optional_integer(usage, "cache_write_input_tokens")),
        "cost_usd": None,
        "scope": "turn",
    }
    return [AgentEvent(EventKind.USAGE, values), ended]


def _turn_failed(message: Json) -> list[AgentEvent]:
    words = text(mapping(message, "error"), "message")
    return [AgentEvent(EventKind.TURN_COMPLETED, {"outcome": "failed", **failure(words)})]


def _error(message: Json) -> list[AgentEvent]:
    words = text(message, "message")
    values = {**failure(words), "recoverable": words.startswith(RETRYING)}
    return [AgentEvent(EventKind.ERROR, values)]


def _item_error(item: Json, phase: str) -> list[AgentEvent]:
    """A warning for the user, such as a model that codex does not know: the turn goes on."""
    values = {"message": text(item, "message"), "recoverable": True}
    return [AgentEvent(EventKind.ERROR, values)]


def _agent_message(item: Json, phase: str) -> list[AgentEvent]:
    values = {
        "text": text(item, "text"),
        "partial": phase != "completed",
        "item_id": text(item, "id"),
    }
    return [AgentEvent(EventKind.ASSISTANT_TEXT, values)]


def _reasoning(item: Json, phase: str) -> list[AgentEvent]:
    values = {
        "text": text(item, "text"),
        "partial": phase != "completed",
        "item_id": text(item, "id"),
    }
    return [AgentEvent(EventKind.THINKING, values)]


def _todo_list(item: Json, phase: str) -> list[AgentEvent]:
    entries = [
        {
            "text": text(entry, "text"),
            "state": "completed" if entry.get("completed") is True else "pending",
        }
        for entry in objects(item, "items")
    ]
    return [AgentEvent(EventKind.PLAN, {"entries": entries})]
