"""Claude Code's tools in the common vocabulary, and inputs both ways.

Names and fields of Claude Code 2.1.167, 2.1.197 and 2.1.332. Only the name of a field changes:
whoever decides sees every value that claude would use.
"""

from collections.abc import Mapping
from typing import Any

from cuekit.model.event import Tool

Json = dict[str, Any]

TOOLS: Mapping[str, Tool] = {
    "Bash": Tool.SHELL,
    "PowerShell": Tool.SHELL,
    "Read": Tool.READ,
    "NotebookRead": Tool.READ,
    "Write": Tool.WRITE,
    "Edit": Tool.EDIT,
    "MultiEdit": Tool.EDIT,
    "NotebookEdit": Tool.EDIT,
    "Grep": Tool.SEARCH,
    "Glob": Tool.SEARCH,
    "LS": Tool.LIST,
    "WebFetch": Tool.FETCH,
    "WebSearch": Tool.WEB_SEARCH,
    "Task": Tool.TASK,
    "Agent": Tool.TASK,
    "TodoWrite": Tool.PLAN,
    "EnterPlanMode": Tool.PLAN,
    "ExitPlanMode": Tool.PLAN,
    "AskUserQuestion": Tool.QUESTION,
}
PATH_FIELDS: Mapping[str, str] = {
    "Read": "file_path",
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "NotebookRead": "notebook_path",
}
CHANGING = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_MCP = "mcp__"


def tool_of(native: str) -> Tool:
    """The tool's place in the vocabulary."""
    if native.startswith(_MCP):
        return Tool.MCP
    return TOOLS.get(native, Tool.OTHER)


def common_input(native: str, values: Json) -> Json:
    """A native input in the words of the vocabulary; the same object where none differ."""
    if native.startswith(_MCP):
        server, _, tool = native.removeprefix(_MCP).partition("__")
        return {"server": server, "tool": tool, "arguments": values}
    field = PATH_FIELDS.get(native)
    if field is None or field not in values:
        return values
    rest = {name: value for name, value in values.items() if name not in (field, "path")}
    return {"path": values[field], **rest}


def native_input(native: str, values: Mapping[str, Any]) -> Json:
    """An input in the vocabulary (or in claude's own words) as claude takes it.

    Raises ValueError when the arguments of an MCP tool are no object.
    """
    if native.startswith(_MCP):
        arguments = values.get("arguments", {})
        if not isinstance(arguments, Mapping):
            raise ValueError("arguments")
        return dict(arguments)
    field = PATH_FIELDS.get(native)
    if field is None or field in values or "path" not in values:
        return dict(values)
    rest = {name: value for name, value in values.items() if name != "path"}
    return {field: values["path"], **rest}
