"""The items of a codex thread (commands, changes, messages), from their start to their end."""

import json
from collections.abc import Callable
from typing import Any

from cuekit.model.event import AgentEvent, EventKind, Tool
from cuekit.protocols.codex_wire import (
    Json,
    change_kind,
    file_change,
    mapping,
    objects,
    optional_integer,
    optional_text,
    present,
    raw,
    text,
    texts,
)

MOST_KEPT_OUTPUT = 1024 * 1024  # characters of one command, kept in case its end has none
DONE = frozenset({"completed"})

ItemHandler = Callable[[Json], list[AgentEvent]]


class Items:
    """Decodes items; knows the files of each open file change by its id."""

    def __init__(self) -> None:
        self.changes: dict[str, list[Json]] = {}
        self._output: dict[str, list[str]] = {}
        self._kept: dict[str, int] = {}
        self._open: set[str] = set()
        self._starts: dict[str, ItemHandler] = {
            "userMessage": _user_message,
            "agentMessage": _nothing,
            "reasoning": _nothing,
            "plan": _nothing,
            "hookPrompt": _nothing,
            "contextCompaction": _nothing,
            "enteredReviewMode": _nothing,
            "exitedReviewMode": _nothing,
            "sleep": _nothing,
            "functionCallOutput": _nothing,
            "subAgentActivity": _nothing,
            "commandExecution": self._tool_started,
            "fileChange": self._change_started,
            "mcpToolCall": self._tool_started,
            "dynamicToolCall": self._tool_started,
            "collabAgentToolCall": self._tool_started,
            "webSearch": self._tool_started,
            "imageView": self._tool_started,
            "imageGeneration": self._tool_started,
        }
        self._ends: dict[str, ItemHandler] = {
            "userMessage": _nothing,
            "agentMessage": _agent_message,
            "reasoning": _reasoning,
            "plan": _plan,
            "hookPrompt": _status,
            "contextCompaction": _status,
            "enteredReviewMode": _status,
            "exitedReviewMode": _status,
            "sleep": _status,
            "commandExecution": self._command_done,
            "fileChange": self._change_done,
            "mcpToolCall": self._tool_done,
            "dynamicToolCall": self._tool_done,
            "collabAgentToolCall": self._tool_done,
            "webSearch": self._tool_done,
            "imageView": self._tool_done,
            "imageGeneration": self._tool_done,
            "subAgentActivity": _status,
            "functionCallOutput": _nothing,
        }

    def started(self, params: Json) -> list[AgentEvent]:
        """item/started. Raises KeyError, TypeError, ValueError for a broken one."""
        return self._item(params, self._starts, "item/started")

    def completed(self, params: Json) -> list[AgentEvent]:
        """item/completed, likewise."""
        return self._item(params, self._ends, "item/completed")

    def output_delta(self, params: Json) -> list[AgentEvent]:
        """Output of a running command, kept until its end tells it whole."""
        item_id, piece = text(params, "itemId"), text(params, "delta")
        kept = self._kept.get(item_id, 0) + len(piece)
        if kept <= MOST_KEPT_OUTPUT:
            self._kept[item_id] = kept
            self._output.setdefault(item_id, []).append(piece)
        return [AgentEvent(EventKind.TOOL_OUTPUT_DELTA, {"tool_id": item_id, "text": piece})]

    def patch_updated(self, params: Json) -> list[AgentEvent]:
        """A file change whose patch grew before its approval."""
        self.changes[text(params, "itemId")] = objects(params, "changes")
        return []

    def _item(self, params: Json, table: dict[str, ItemHandler], method: str) -> list[AgentEvent]:
        item = mapping(params, "item")
        handler = table.get(text(item, "type"))
        if handler is None:
            return [raw({"method": method, "params": params})]
        return handler(item)

    def _tool_started(self, item: Json) -> list[AgentEvent]:
        started = _tool_call(EventKind.TOOL_CALL_STARTED, item)
        self._open.add(started.values["tool_id"])
        return [started]

    def _first_seen(self, item: Json) -> list[AgentEvent]:
        """The start of a tool call that had none: each result belongs to a call."""
        item_id = text(item, "id")
        if item_id in self._open:
            self._open.discard(item_id)
            return []
        return [_tool_call(EventKind.TOOL_CALL_STARTED, item)]

    def _command_done(self, item: Json) -> list[AgentEvent]:
        """0.133.0 gave no aggregated output once although there was some."""
        item_id, status = text(item, "id"), text(item, "status")
        output = optional_text(item, "aggregatedOutput")
        pieces = self._output.pop(item_id, [])
        self._kept.pop(item_id, None)
        values = {
            "tool_id": item_id,
            "text": "".join(pieces) if output is None else output,
            "is_error": status not in DONE,
            "status": status,
            **present(
                exit_code=optional_integer(item, "exitCode"),
                duration_ms=optional_integer(item, "durationMs"),
            ),
        }
        return [*self._first_seen(item), AgentEvent(EventKind.TOOL_RESULT, values)]

    def _change_started(self, item: Json) -> list[AgentEvent]:
        started = self._tool_started(item)
        self.changes[text(item, "id")] = objects(item, "changes")
        return started

    def _change_done(self, item: Json) -> list[AgentEvent]:
        item_id, status = text(item, "id"), text(item, "status")
        changes = objects(item, "changes")
        done = status in DONE
        values = {"tool_id": item_id, "text": "", "is_error": not done, "status": status}
        events = self._first_seen(item)
        if done:
            events += [file_change(change, item_id) for change in changes]
        self.changes.pop(item_id, None)
        return [*events, AgentEvent(EventKind.TOOL_RESULT, values)]

    def _tool_done(self, item: Json) -> list[AgentEvent]:
        status = optional_text(item, "status") or "completed"
        failed = status == "failed" or item.get("error") is not None
        values = {
            "tool_id": text(item, "id"),
            "text": _result_text(item),
            "is_error": failed or item.get("success") is False,
            "status": status,
        }
        return [
            *self._first_seen(item),
            _tool_call(EventKind.TOOL_CALL_COMPLETED, item),
            AgentEvent(EventKind.TOOL_RESULT, values),
        ]


def change_input(changes: list[Json]) -> Json:
    """The input of a file change: `path` for one file, `paths` and the changes for all."""
    entries = [
        present(
            path=text(change, "path"),
            change=change_kind(change),
            move_path=_moved_to(change),
            diff=optional_text(change, "diff"),
        )
        for change in changes
    ]
    paths = [entry["path"] for entry in entries]
    values: Json = {"paths": paths, "changes": entries}
    return {"path": paths[0], **values} if len(paths) == 1 else values


def _moved_to(change: Json) -> str | None:
    kind = change["kind"]
    return optional_text(kind, "move_path") if isinstance(kind, dict) else None


def _input(item: Json) -> tuple[Tool, Json]:
    match item["type"]:
        case "commandExecution":
            cwd = optional_text(item, "cwd")
            return Tool.SHELL, {"command": text(item, "command"), **present(cwd=cwd)}
        case "fileChange":
            return Tool.EDIT, change_input(objects(item, "changes"))
        case "mcpToolCall":
            values = {"server": text(item, "server"), "tool": text(item, "tool")}
            return Tool.MCP, {**values, "arguments": item.get("arguments")}
        case "webSearch":
            query = {"query": text(item, "query")}
            return Tool.WEB_SEARCH, {**query, **present(action=item.get("action"))}
        case "imageView":
            return Tool.READ, {"path": text(item, "path")}
        case "collabAgentToolCall":
            values = {"tool": text(item, "tool")}
            return Tool.TASK, {**values, **present(prompt=optional_text(item, "prompt"))}
        case "dynamicToolCall":
            values = {"tool": text(item, "tool")}
            return Tool.OTHER, {**values, "arguments": item.get("arguments")}
    return Tool.OTHER, present(prompt=optional_text(item, "revisedPrompt"))


def _tool_call(kind: EventKind, item: Json) -> AgentEvent:
    tool, values = _input(item)
    call = {
        "tool_id": text(item, "id"),
        "tool": tool.value,
        "native_tool": item["type"],
        "input": values,
    }
    return AgentEvent(kind, call)


def _result_text(item: Json) -> str:
    error = item.get("error")
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        return str(error["message"])
    result = item.get("result")
    content: Any = result.get("content") if isinstance(result, dict) else item.get("contentItems")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        if parts and all(isinstance(part, str) for part in parts):
            return "\n".join(map(str, parts))
    return "" if content is None else json.dumps(content, ensure_ascii=False)


def _nothing(item: Json) -> list[AgentEvent]:
    return []


def _user_message(item: Json) -> list[AgentEvent]:
    """The agent has taken a message of the user, the first or one that joined the turn."""
    parts = [text(part, "text") for part in objects(item, "content") if part.get("type") == "text"]
    values = {"text": "".join(parts), "item_id": text(item, "id")}
    return [AgentEvent(EventKind.PROMPT_ACCEPTED, values)]


def _agent_message(item: Json) -> list[AgentEvent]:
    values = {"text": text(item, "text"), "partial": False, "item_id": text(item, "id")}
    return [AgentEvent(EventKind.ASSISTANT_TEXT, values)]


def _reasoning(item: Json) -> list[AgentEvent]:
    words = "\n\n".join([*texts(item, "summary"), *texts(item, "content")])
    if not words:
        return []
    values = {"text": words, "partial": False, "item_id": text(item, "id")}
    return [AgentEvent(EventKind.THINKING, values)]


def _plan(item: Json) -> list[AgentEvent]:
    entries = [{"text": text(item, "text"), "state": "proposed"}]
    return [AgentEvent(EventKind.PLAN, {"entries": entries})]


def _status(item: Json) -> list[AgentEvent]:
    values = {name: value for name, value in item.items() if name not in ("type", "id")}
    return [AgentEvent(EventKind.STATUS, {"what": text(item, "type"), "details": values})]
