"""An ACP agent's request for leave, and the answers that it takes: both ways pure."""

from collections.abc import Sequence

from cuekit.model.approval import ApprovalRequest, Decision, DecisionKind, Option
from cuekit.model.event import Tool
from cuekit.protocols.acp_items import Item, Items
from cuekit.protocols.acp_values import (
    Json,
    content_text,
    object_of,
    objects_of,
    present,
    text_of,
)

CANCELLED: Json = {"outcome": {"outcome": "cancelled"}}
"""Answers a request whose turn is being cancelled; and one that has no answer that would fit."""

KNOWN_IDS = {
    "allow_once": ("allow-once", "proceed_once", "once", "allow", "approved", "allow_once"),
    "reject_once": ("reject-once", "cancel", "reject", "abort", "reject_once"),
}
"""Where a kind is there twice (qwen has an "once, and switch the mode"), the one that is known."""

_ALLOWS = frozenset({DecisionKind.ALLOW, DecisionKind.ALLOW_ALWAYS})


def options_of(params: Json) -> tuple[Option, ...]:
    """The agent's own answers, each with its own name and kind, unknown kinds too."""
    return tuple(
        Option(option_id, text_of(entry, "name") or option_id, text_of(entry, "kind") or "unknown")
        for entry in objects_of(params, "options")
        if (option_id := text_of(entry, "optionId")) is not None
    )


def approval_request(
    agent_kind: str, params: Json, item: Item, items: Items, cwd: str
) -> ApprovalRequest:
    """The request in our words."""
    tool, values = items.tool_of(item), items.input_of(item)
    if tool in (Tool.EDIT, Tool.WRITE) and item.diffs:
        values = {**values, "changes": [_change(diff) for diff in item.diffs]}
    if tool is Tool.OTHER and item.title:
        values = {"title": item.title, **values}
    return ApprovalRequest(
        agent_kind=agent_kind,
        tool=tool.value,
        native_tool=item.name or "unknown",
        input=values,
        reason=_reason(params),
        cwd=cwd,
        tool_id=item.tool_id,
        options=options_of(params),
        native={"method": "session/request_permission", "params": params},
    )


def answer(options: Sequence[Option], decision: Decision) -> Json:
    """The outcome for a decision.

    "Always" goes out as "once": agents write theirs to disk or take it for more than was asked,
    so the rule for it is ours. Where nothing fits, the request is cancelled.
    """
    if decision.kind in _ALLOWS and decision.changed_input is None:
        chosen = _choice(options, "allow_once")
    elif decision.kind is DecisionKind.CANCEL_RUN:
        chosen = None
    else:
        chosen = _choice(options, "reject_once")
    if chosen is None:
        return CANCELLED
    return {"outcome": {"outcome": "selected", "optionId": chosen.option_id}}


def can_allow(options: Sequence[Option]) -> bool:
    """Whether the agent offers to do it once."""
    return _choice(options, "allow_once") is not None


def _choice(options: Sequence[Option], kind: str) -> Option | None:
    fitting = [option for option in options if option.kind == kind]
    for known in KNOWN_IDS[kind]:
        for option in fitting:
            if option.option_id == known:
                return option
    return fitting[0] if fitting else None


def _reason(params: Json) -> str | None:
    for part in objects_of(object_of(params, "toolCall"), "content"):
        if part.get("type") == "content" and (words := content_text(object_of(part, "content"))):
            return words
    return None


def _change(diff: Json) -> Json:
    return present(path=text_of(diff, "path"), diff=_diff(diff), change=_kind(diff))


def _diff(diff: Json) -> str | None:
    from cuekit.protocols.acp_diff import hunk

    new = diff.get("newText")
    old = diff.get("oldText")
    return hunk(old if isinstance(old, str) else "", new) if isinstance(new, str) else None


def _kind(diff: Json) -> str:
    told = object_of(diff, "_meta").get("kind")
    if told in ("add", "delete"):
        return str(told)
    return "update" if told == "modify" or diff.get("oldText") else "add"
