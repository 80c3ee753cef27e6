"""The tool calls of an ACP agent: what each is, what it is given, what comes of it. Pure.

A call is made on whichever message names it first (an update, or only a request for leave), and
every one is closed when the prompt ends, since some agents say no more of it after a refusal.
Shapes of grok 1.0.41, gemini 0.61.0 and opencode 1.18.33, and of the protocol, version 1.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cuekit.model.event import AgentEvent, EventKind, Tool
from cuekit.protocols.acp_diff import hunk
from cuekit.protocols.acp_values import (
    Json,
    content_text,
    object_of,
    objects_of,
    present,
    text_of,
    whole_number,
)

TOOLS = {
    "read": Tool.READ,
    "edit": Tool.EDIT,
    "write": Tool.WRITE,
    "delete": Tool.EDIT,
    "move": Tool.EDIT,
    "search": Tool.SEARCH,
    "execute": Tool.SHELL,
    "fetch": Tool.FETCH,
}
BY_NAME = {
    "todowrite": Tool.PLAN,
    "todo_write": Tool.PLAN,
    "write_todos": Tool.PLAN,
    "list": Tool.LIST,
    "list_dir": Tool.LIST,
    "list_directory": Tool.LIST,
    "webfetch": Tool.FETCH,
    "web_fetch": Tool.FETCH,
    "websearch": Tool.WEB_SEARCH,
    "web_search": Tool.WEB_SEARCH,
    "google_web_search": Tool.WEB_SEARCH,
    "task": Tool.TASK,
    "write": Tool.WRITE,
    "write_file": Tool.WRITE,
}
SHELL_NAMES = frozenset({"bash", "run_shell_command", "run_terminal_command", "shell"})
CHANGES_FILES = frozenset({Tool.EDIT, Tool.WRITE})
HAS_A_PATH = frozenset({Tool.READ, Tool.LIST, *CHANGES_FILES})
ENDED = frozenset({"completed", "failed"})
NO_RESULT = "the turn ended without a result of this call"


@dataclass
class Item:
    """One tool call as far as it is known."""

    tool_id: str
    title: str = ""
    kind: str = ""
    name: str = ""  # the agent's own name of the tool
    raw_input: Json = field(default_factory=dict)
    locations: list[str] = field(default_factory=list)
    diffs: list[Json] = field(default_factory=list)
    output: str = ""
    started: bool = False
    told_input: bool = False
    closed: bool = False


class Items:
    """The calls of one session, by id. `title_is_command`: gemini gives a command only there."""

    def __init__(self, *, title_is_command: bool = False) -> None:
        self._title_is_command = title_is_command
        self._items: dict[str, Item] = {}

    def take(self, update: Json) -> list[AgentEvent]:
        """The events of a `tool_call` or `tool_call_update`."""
        tool_id = text_of(update, "toolCallId")
        if tool_id is None:
            raise ValueError("toolCallId")
        item = self._merged(tool_id, update)
        if item.closed:
            return []
        status = update.get("status")
        events = self._started(item)
        if status == "in_progress":
            events += self._input_told(item) if item.raw_input else []
            events += _output_delta(item, _texts(update))
        elif status in ENDED:
            events += self._input_told(item)
            events += _ended(item, update, failed=status == "failed")
        return events

    def asked(self, call: Json) -> tuple[Item, list[AgentEvent]]:
        """The call that leave is asked for, its input whole by now. Raises ValueError."""
        tool_id = text_of(call, "toolCallId")
        if tool_id is None:
            raise ValueError("toolCallId")
        item = self._merged(tool_id, call)
        return item, [*self._started(item), *self._input_told(item)]

    def input_piece(self, tool_id: str, name: str, piece: str) -> list[AgentEvent]:
        """A piece of a call's input, before the call itself is told (grok)."""
        item = self._items.setdefault(tool_id, Item(tool_id, name=name))
        delta = AgentEvent(EventKind.TOOL_CALL_INPUT_DELTA, {"tool_id": tool_id, "text": piece})
        return [*self._started(item), delta]

    def close(self) -> list[AgentEvent]:
        """The prompt is over: every call that is open ends, and all are forgotten."""
        events: list[AgentEvent] = []
        for item in self._items.values():
            if not item.closed:
                events += self._input_told(item)
                values = {"tool_id": item.tool_id, "text": NO_RESULT, "is_error": True}
                events.append(AgentEvent(EventKind.TOOL_RESULT, values))
        self._items = {}
        return events

    def tool_of(self, item: Item) -> Tool:
        """The tool in the common vocabulary."""
        if _command(item.raw_input) is not None:
            return Tool.SHELL  # whatever kind the agent gives it
        if item.name in BY_NAME and item.kind in ("", "other", "read", "search", "edit", "fetch"):
            return BY_NAME[item.name]
        tool = TOOLS.get(item.kind, Tool.OTHER)
        if tool is Tool.SHELL and not (self._title_is_command and item.title):
            return Tool.OTHER  # what would run is not told: no rule may judge it
        return tool

    def input_of(self, item: Item) -> Json:
        """The input in the words of the vocabulary, beside the agent's own."""
        tool = self.tool_of(item)
        values = dict(item.raw_input)
        if tool is Tool.SHELL:
            values["command"] = _command(item.raw_input) or item.title
            folder = text_of(item.raw_input, "cwd", "workdir", "directory")
            return {**values, **present(cwd=folder)}
        if tool in HAS_A_PATH:
            return {**values, **_paths(item)}
        if tool is Tool.FETCH and (url := text_of(item.raw_input, "url")):
            return {**values, "url": url}
        return values or present(title=item.title or None)

    def _merged(self, tool_id: str, update: Json) -> Item:
        item = self._items.get(tool_id)
        if item is None:
            item = self._items[tool_id] = Item(tool_id, name=_name_in_id(tool_id))
        item.title = text_of(update, "title") or item.title
        tool = object_of(update, "_meta", "x.ai/tool")
        item.kind = text_of(update, "kind") or text_of(tool, "kind") or item.kind
        own_name = text_of(tool, "name") or text_of(
            object_of(update, "_meta", "claudeCode"), "toolName"
        )
        item.name = own_name or item.name or item.title or item.kind
        given = object_of(update, "rawInput")
        if given:
            item.raw_input = given
        places = [path for place in objects_of(update, "locations") if (path := _path(place))]
        item.locations = places or item.locations
        diffs = [part for part in objects_of(update, "content") if part.get("type") == "diff"]
        item.diffs = diffs or item.diffs
        return item

    def _started(self, item: Item) -> list[AgentEvent]:
        if item.started:
            return []
        item.started = True
        values = self._call(item)
        return [AgentEvent(EventKind.TOOL_CALL_STARTED, {**values, "input": self.input_of(item)})]

    def _input_told(self, item: Item) -> list[AgentEvent]:
        if item.told_input:
            return []
        item.told_input = True
        values = {**self._call(item), "input": self.input_of(item)}
        return [AgentEvent(EventKind.TOOL_CALL_COMPLETED, values)]

    def _call(self, item: Item) -> Json:
        tool = self.tool_of(item)
        if tool is Tool.OTHER and item.name in SHELL_NAMES:
            tool = Tool.SHELL  # to be shown: its command is not told yet
        return {
            "tool_id": item.tool_id,
            "tool": tool.value,
            "native_tool": item.name or "unknown",
        }


def _name_in_id(tool_id: str) -> str:
    """gemini puts the tool's name into the id: `run_shell_command__run_shell_command_17..._0`."""
    name, mark, _ = tool_id.partition("__")
    return name if mark else ""


def _command(values: Json) -> str | None:
    command = values.get("command")
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        return shlex.join(command)
    return command if isinstance(command, str) and command else None


def _path(values: Json) -> str | None:
    return text_of(values, "path", "file_path", "filePath", "filepath", "absolute_path")


def _paths(item: Item) -> Json:
    """Every file of a call. A call of several has no `path`: no rule for one may let it through."""
    own = _path(item.raw_input)
    named = [path for diff in item.diffs if (path := _path(diff))]
    found = list(dict.fromkeys([*([own] if own else []), *named, *item.locations]))
    values: Json = {"path": found[0]} if len(found) == 1 else {"paths": found} if found else {}
    return {**values, "kind": "delete"} if item.kind == "delete" else values


def _texts(update: Json) -> str:
    parts = []
    for part in objects_of(update, "content"):
        if part.get("type") == "content" and part.get("content").__class__ is dict:
            parts.append(content_text(part["content"]) or "")
    return "\n".join(part for part in parts if part)


def _output_delta(item: Item, output: str) -> list[AgentEvent]:
    """Updates repeat the output from its beginning; only what is new is told."""
    if not output or output == item.output:
        return []
    new = output[len(item.output) :] if output.startswith(item.output) else output
    item.output = output
    return [AgentEvent(EventKind.TOOL_OUTPUT_DELTA, {"tool_id": item.tool_id, "text": new})]


def _ended(item: Item, update: Json, *, failed: bool) -> list[AgentEvent]:
    item.closed = True
    output = object_of(update, "rawOutput")
    status = whole_number(output, "exit_code", "exitCode")
    if status is None:
        status = whole_number(object_of(output, "metadata"), "exit", "exit_code")
    said = _texts(update) or text_of(output, "output", "error", "message") or item.output
    values = {
        "tool_id": item.tool_id,
        "text": said,
        "is_error": failed or status not in (None, 0),
        **present(exit_code=status),
    }
    changes = [] if failed else list(_file_changes(item))
    return [*changes, AgentEvent(EventKind.TOOL_RESULT, values)]


def _file_changes(item: Item) -> Iterator[AgentEvent]:
    for diff in item.diffs:
        if path := _path(diff):
            old, new = _lines_of(diff.get("oldText")), _lines_of(diff.get("newText"))
            values = {
                "path": path,
                "change": _change(diff, old, new),
                "source": "native",
                "diff": hunk(old or "", new or ""),
                "tool_id": item.tool_id,
            }
            yield AgentEvent(EventKind.FILE_CHANGE, values)
    if item.kind == "delete" and not item.diffs:
        for path in item.locations:
            values = {"path": path, "change": "delete", "source": "inferred"}
            yield AgentEvent(EventKind.FILE_CHANGE, {**values, "tool_id": item.tool_id})


def _lines_of(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _change(diff: Json, old: str | None, new: str | None) -> str:
    match object_of(diff, "_meta").get("kind"):
        case "add" | "delete" as kind:
            return str(kind)
        case "modify":
            return "update"
    if not old:
        return "add"
    return "delete" if new is None else "update"
