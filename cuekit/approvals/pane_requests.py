"""PermissionRequest hooks of the agents' own TUIs: payload to request, decision to answer. Pure.

Measured with claude 2.1.167, 2.1.197, 2.1.332 and codex 0.133.0, 0.141.0, 0.171.0.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from cuekit.model.approval import ApprovalRequest, Decision, DecisionKind, Question
from cuekit.model.event import Tool

Json = dict[str, Any]
CODEX = "codex"
CLAUDE = "claude-code"
NO_WORDS = "The user did not allow this."

CLAUDE_TOOLS = {
    "Bash": Tool.SHELL,
    "BashOutput": Tool.READ,
    "Read": Tool.READ,
    "NotebookRead": Tool.READ,
    "Write": Tool.WRITE,
    "Edit": Tool.EDIT,
    "MultiEdit": Tool.EDIT,
    "NotebookEdit": Tool.EDIT,
    "Glob": Tool.SEARCH,
    "Grep": Tool.SEARCH,
    "LS": Tool.LIST,
    "WebFetch": Tool.FETCH,
    "WebSearch": Tool.WEB_SEARCH,
    "Task": Tool.TASK,
    "Agent": Tool.TASK,
    "TodoWrite": Tool.PLAN,
    "ExitPlanMode": Tool.PLAN,
    "AskUserQuestion": Tool.QUESTION,
}
CODEX_SHELLS = frozenset({"Bash", "shell", "exec_command", "local_shell", "unified_exec"})
PATHS = ("file_path", "notebook_path")
_PATCHED = re.compile(
    r"^\*\*\* (Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE
)


def request_of(agent_kind: str, payload: Mapping[str, Any]) -> ApprovalRequest | None:
    """The request that a hook's payload holds; None for one that is not understood."""
    tool = payload.get("tool_name")
    given = payload.get("tool_input")
    if not isinstance(tool, str) or not isinstance(given, dict):
        return None
    cwd = payload.get("cwd") if isinstance(payload.get("cwd"), str) else None
    read = _of_codex if agent_kind == CODEX else _of_claude
    return read(tool, given, cwd, dict(payload))


def answer_of(request: ApprovalRequest, decision: Decision) -> str:
    """What the hook prints; nothing leaves it to the agent's own dialog."""
    match decision.kind:
        case DecisionKind.ALLOW | DecisionKind.ALLOW_ALWAYS:
            said: Json = {"behavior": "allow"}
            if decision.changed_input is not None:
                said["updatedInput"] = _changed(request, decision.changed_input)
        case DecisionKind.ANSWER:
            answers = {key: ", ".join(values) for key, values in (decision.answers or {}).items()}
            said = {
                "behavior": "allow",
                "updatedInput": {**request.native["tool_input"], "answers": answers},
            }
        case DecisionKind.DENY | DecisionKind.CANCEL_RUN:
            said = {"behavior": "deny", "message": decision.message or NO_WORDS}
            if decision.kind is DecisionKind.CANCEL_RUN:
                said["interrupt"] = True
        case _:
            return ""
    output = {"hookEventName": "PermissionRequest", "decision": said}
    return json.dumps({"hookSpecificOutput": output})


def _of_claude(tool: str, given: Json, cwd: str | None, payload: Json) -> ApprovalRequest:
    named = Tool.MCP if tool.startswith("mcp__") else CLAUDE_TOOLS.get(tool, Tool.OTHER)
    values = dict(given)
    for name in PATHS:
        if isinstance(values.get(name), str):
            values["path"] = values.pop(name)
    reason = values.pop("description", None) if named is Tool.SHELL else None
    questions = _questions(given) if named is Tool.QUESTION else ()
    return ApprovalRequest(
        agent_kind=CLAUDE,
        tool=str(named),
        native_tool=tool,
        input=values,
        reason=reason if isinstance(reason, str) else None,
        cwd=cwd,
        questions=questions,
        can_change_input=not questions,
        can_hand_over=True,
        native=payload,
    )


def _of_codex(tool: str, given: Json, cwd: str | None, payload: Json) -> ApprovalRequest:
    reason = given.get("description") or given.get("justification")
    command = given.get("command") or given.get("cmd")
    named, values = Tool.OTHER, dict(given)
    if tool in CODEX_SHELLS and isinstance(command, str):
        named, values = Tool.SHELL, {"command": command}
    elif tool == "apply_patch":
        patch = next((value for value in given.values() if _is_patch(value)), "")
        named, values = Tool.EDIT, {"changes": _changes(patch), "patch": patch}
    elif tool.startswith("mcp__"):
        named = Tool.MCP
    elif tool == "request_permissions":
        named = Tool.PERMISSIONS
    return ApprovalRequest(
        agent_kind=CODEX,
        tool=str(named),
        native_tool=tool,
        input=values,
        reason=reason if isinstance(reason, str) else None,
        cwd=cwd,
        can_hand_over=True,
        can_cancel_run=False,
        native=payload,
    )


def _questions(given: Json) -> tuple[Question, ...]:
    """Claude's questions; the answers go by the questions' own text."""
    asked = given.get("questions")
    return tuple(
        Question(
            key=entry["question"],
            text=entry["question"],
            several=entry.get("multiSelect") is True,
            options=tuple(
                option["label"]
                for option in entry.get("options") or ()
                if isinstance(option, dict) and isinstance(option.get("label"), str)
            ),
        )
        for entry in (asked if isinstance(asked, list) else ())
        if isinstance(entry, dict) and isinstance(entry.get("question"), str)
    )


def _changed(request: ApprovalRequest, changed: Json) -> Json:
    """The agent's own input with the changes in it, under the agent's own names."""
    native: Json = dict(request.native["tool_input"])
    for name, value in changed.items():
        own = next((path for path in PATHS if path in native), name) if name == "path" else name
        native[own] = value
    return native


def _is_patch(value: Any) -> bool:
    return isinstance(value, str) and "*** Begin Patch" in value


def _changes(patch: str) -> list[Json]:
    found: list[Json] = []
    for kind, path, target in _PATCHED.findall(patch):
        if target and found:
            found[-1]["move_path"] = target
        elif path:
            found.append({"path": path, "kind": kind.lower()})
    return found
