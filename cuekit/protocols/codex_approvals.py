"""Codex's requests to its user, and the answers that it takes: both ways pure.

Shapes of codex 0.133.0, 0.141.0 and 0.171.0. Whatever is not understood is refused.
"""

from collections.abc import Mapping
from typing import Any

from cuekit.model.approval import ApprovalRequest, Decision, DecisionKind, Option, Question
from cuekit.model.event import Tool
from cuekit.protocols.codex_items import change_input
from cuekit.protocols.codex_wire import (
    Json,
    mapping,
    objects,
    optional_text,
    present,
    text,
    texts,
)

AGENT_KIND = "codex"

COMMAND = "item/commandExecution/requestApproval"
FILE_CHANGE = "item/fileChange/requestApproval"
PERMISSIONS = "item/permissions/requestApproval"
USER_INPUT = "item/tool/requestUserInput"
ELICITATION = "mcpServer/elicitation/request"
LEGACY = frozenset({"execCommandApproval", "applyPatchApproval"})
"""Asked only for threads of the first protocol, which is never spoken here; `abort` refuses."""

METHODS = frozenset({COMMAND, FILE_CHANGE, PERMISSIONS, USER_INPUT, ELICITATION})

_ALLOWS = frozenset({DecisionKind.ALLOW, DecisionKind.ALLOW_ALWAYS})
_NAMES = {
    "accept": ("allow once", "allow_once"),
    "acceptForSession": ("allow for this session", "allow_always"),
    "decline": ("refuse and go on", "reject_once"),
    "cancel": ("refuse and stop the turn", "cancel"),
}


def approval_request(
    method: str, params: Json, changes: Mapping[str, list[Json]]
) -> ApprovalRequest:
    """The request in our words; `changes` are the open file changes by item id.

    Raises KeyError, TypeError or ValueError for one that cannot be understood.
    """
    tool, values = _what(method, params, changes)
    return ApprovalRequest(
        agent_kind=AGENT_KIND,
        tool=tool.value,
        native_tool=_native_tool(method),
        input=values,
        reason=_reason(method, params),
        cwd=optional_text(params, "cwd"),
        tool_id=optional_text(params, "itemId"),
        options=_options(method, params),
        questions=questions(method, params),
        can_grant_subset=method == PERMISSIONS,
        native={"method": method, "params": params},
    )


def answer(method: str, params: Json, decision: Decision) -> Json:
    """The result that codex is given for a decision."""
    if method in LEGACY:
        return {"decision": "abort"}
    if method == PERMISSIONS:
        return _grant(params, decision)
    if method == USER_INPUT:
        return {"answers": _answers(params, decision)}
    if method == ELICITATION:
        return _elicitation_answer(params, decision)
    if decision.kind in _ALLOWS and decision.changed_input is None:
        return {"decision": "accept"}
    cancelled = decision.kind is DecisionKind.CANCEL_RUN
    return {"decision": "cancel" if cancelled else "decline"}


def refusal(method: str) -> Json:
    """The answer to a request that nobody can decide."""
    denied = Decision(DecisionKind.DENY)
    return answer(method, {}, denied)


def ends_the_turn(method: str) -> bool:
    """Whether codex itself ends the turn when it is answered `cancel`."""
    return method in (COMMAND, FILE_CHANGE)


def _native_tool(method: str) -> str:
    parts = method.split("/")
    return parts[1] if len(parts) > 2 else method


def _what(method: str, params: Json, changes: Mapping[str, list[Json]]) -> tuple[Tool, Json]:
    if method == COMMAND:
        return _command(params)
    if method == FILE_CHANGE:
        return _file_change(params, changes)
    if method == PERMISSIONS:
        return Tool.PERMISSIONS, mapping(params, "permissions")
    if method == USER_INPUT:
        asked = [text(question, "question") for question in objects(params, "questions")]
        return Tool.QUESTION, {"questions": asked}
    return _elicitation(params)


def _command(params: Json) -> tuple[Tool, Json]:
    """A command; but network access and writing to a running program are no shell commands."""
    if params.get("kind") not in (None, "command"):
        return Tool.OTHER, dict(params)
    network = params.get("networkApprovalContext")
    if network is not None:
        return Tool.PERMISSIONS, {"network": network, **present(command=params.get("command"))}
    values = present(
        command=text(params, "command"),
        cwd=optional_text(params, "cwd"),
        additional_permissions=params.get("additionalPermissions"),
    )
    return Tool.SHELL, values


def _file_change(params: Json, changes: Mapping[str, list[Json]]) -> tuple[Tool, Json]:
    """The request itself names no path: what is to be changed came with the item before it."""
    values = change_input(changes.get(text(params, "itemId"), []))
    root = optional_text(params, "grantRoot")
    if root is not None:
        return Tool.PERMISSIONS, {**values, "grantRoot": root}
    if not values["paths"]:
        return Tool.OTHER, values
    return Tool.EDIT, values


def _elicitation(params: Json) -> tuple[Tool, Json]:
    mode = text(params, "mode")
    meta = params.get("_meta")
    if isinstance(meta, dict) and meta.get("codex_approval_kind") == "mcp_tool_call":
        call = {"server": text(params, "serverName"), "tool": meta.get("tool_title") or ""}
        return Tool.MCP, {**call, "arguments": meta.get("tool_params")}
    if mode not in ("form", "url"):
        raise ValueError(mode)
    values = {"server": text(params, "serverName"), "message": text(params, "message")}
    return Tool.QUESTION, {**values, **present(url=optional_text(params, "url"))}


def _reason(method: str, params: Json) -> str | None:
    if method == ELICITATION:
        return optional_text(params, "message")
    return optional_text(params, "reason")


def _options(method: str, params: Json) -> tuple[Option, ...]:
    if method not in (COMMAND, FILE_CHANGE):
        return ()
    available = params.get("availableDecisions")
    if not isinstance(available, list):
        available = list(_NAMES) if method == FILE_CHANGE else ["accept", "decline", "cancel"]
    return tuple(_option(entry) for entry in available)


def _option(entry: Any) -> Option:
    if isinstance(entry, str):
        name, kind = _NAMES.get(entry, (entry, entry))
        return Option(entry, name, kind)
    if not isinstance(entry, dict) or len(entry) != 1:
        raise TypeError("availableDecisions")
    option_id, details = next(iter(entry.items()))
    if option_id == "acceptWithExecpolicyAmendment":
        words = " ".join(texts(details, "execpolicy_amendment"))
        return Option(option_id, f"allow, and write a rule for: {words}", "allow_always")
    return Option(str(option_id), str(option_id), str(option_id))


def questions(method: str, params: Json) -> tuple[Question, ...]:
    """What the user is asked, one by one; a form's fields are questions too."""
    if method == USER_INPUT:
        return tuple(_user_question(entry) for entry in objects(params, "questions"))
    if method == ELICITATION and isinstance(params.get("requestedSchema"), dict):
        fields = params["requestedSchema"].get("properties") or {}
        return tuple(_field_question(name, field) for name, field in fields.items())
    return ()


def _user_question(entry: Json) -> Question:
    choices = tuple(text(option, "label") for option in objects(entry, "options"))
    return Question(
        key=text(entry, "id"),
        text=text(entry, "question"),
        options=choices,
        secret=entry.get("isSecret") is True,
    )


def _field_question(name: str, field: Json) -> Question:
    words = optional_text(field, "description") or optional_text(field, "title") or name
    choices = field.get("enum")
    items = field.get("items")
    several = field.get("type") == "array"
    if several and isinstance(items, dict):
        choices = items.get("enum")
    if field.get("type") == "boolean":
        choices = ["true", "false"]
    options = tuple(str(choice) for choice in choices or ())
    return Question(key=name, text=words, options=options, several=several)


def _grant(params: Json, decision: Decision) -> Json:
    """What was asked, or a part of it; more than was asked is never granted."""
    nothing: Json = {"permissions": {}, "scope": "turn"}
    if decision.kind not in _ALLOWS:
        return nothing
    asked = mapping(params, "permissions")
    granted = asked if decision.granted is None else decision.granted
    if not is_part(granted, asked):
        return nothing
    session = decision.kind is DecisionKind.ALLOW and decision.scope == "session"
    return {"permissions": granted, "scope": "session" if session else "turn"}


def is_part(granted: Any, asked: Any) -> bool:
    """Whether a grant holds nothing that was not asked for."""
    if granted is None or granted is False or granted == asked:
        return True
    if isinstance(granted, dict) and isinstance(asked, dict):
        if "path" in asked or "access" in asked:
            return False  # one entry is taken whole or not at all
        return all(name in asked and is_part(value, asked[name]) for name, value in granted.items())
    if isinstance(granted, list) and isinstance(asked, list):
        return all(entry in asked for entry in granted)
    return False


def _answers(params: Json, decision: Decision) -> Json:
    if decision.kind not in (DecisionKind.ANSWER, *_ALLOWS):
        return {}
    keys = {text(question, "id") for question in objects(params, "questions")}
    given = decision.answers or {}
    return {key: {"answers": list(given[key])} for key in given if key in keys}


def _elicitation_answer(params: Json, decision: Decision) -> Json:
    if decision.kind is DecisionKind.CANCEL_RUN:
        return {"action": "cancel", "content": None}
    if decision.kind not in (DecisionKind.ANSWER, *_ALLOWS) or not params:
        return {"action": "decline", "content": None}
    schema = params.get("requestedSchema")
    if not isinstance(schema, dict):
        return {"action": "accept", "content": None}
    fields = schema.get("properties") or {}
    given = decision.answers or {}
    content = {
        name: _field_value(field, given[name]) for name, field in fields.items() if name in given
    }
    if any(name not in content for name in schema.get("required") or ()):
        return {"action": "decline", "content": None}
    return {"action": "accept", "content": content}


def _field_value(field: Json, given: list[str]) -> Any:
    """A form's value in its own type; text that is no number stays text, and codex refuses it."""
    first = given[0] if given else ""
    match field.get("type"):
        case "array":
            return list(given)
        case "boolean":
            return first.strip().lower() in ("true", "yes", "y", "1")
        case "integer" | "number":
            try:
                return int(first) if field["type"] == "integer" else float(first)
            except ValueError:
                return first
    return first
