"""What claude asks of its user, and the answers that it takes: both ways pure, for both channels.

Shapes of Claude Code 2.1.167, 2.1.197 and 2.1.332. Whatever is not understood is refused.
"""

import json
from collections.abc import Mapping
from typing import Any

from cuekit.model.approval import ApprovalRequest, Decision, DecisionKind, Option, Question
from cuekit.protocols.claude_tools import Json, common_input, native_input, tool_of
from cuekit.protocols.claude_wire import present, text

AGENT_KIND = "claude-code"
QUESTION = "AskUserQuestion"
PLAN = "ExitPlanMode"

_ALLOWS = frozenset({DecisionKind.ALLOW, DecisionKind.ALLOW_ALWAYS})
REFUSED = "The user does not allow this."
CANCELLED = "The user has stopped the run."
NOT_ANSWERED = "The user has not answered this question."
NOT_UNDERSTOOD = "cuekit could not read this request, and refused it."
BAD_CHANGE = "The user's change of this call could not be used, so the call was refused."


def approval_request(asked: Json, cwd: str) -> ApprovalRequest:
    """A `can_use_tool` request, or the arguments of the permission tool, in our words.

    Raises KeyError, TypeError or ValueError for one that cannot be understood.
    """
    native, values = text(asked, "tool_name"), asked["input"]
    if not isinstance(values, dict):
        raise TypeError("input")
    tool_id = asked.get("tool_use_id")
    asks = questions(values) if native == QUESTION else ()
    return ApprovalRequest(
        agent_kind=AGENT_KIND,
        tool=tool_of(native).value,
        native_tool=native,
        input=common_input(native, values),
        reason=_reason(asked, values),
        cwd=cwd,
        tool_id=tool_id if isinstance(tool_id, str) else None,
        options=_suggestions(asked.get("permission_suggestions")),
        questions=asks,
        can_change_input=not asks,
        native=asked,
    )


def questions(values: Json) -> tuple[Question, ...]:
    """The questions of AskUserQuestion; claude takes the answers by the questions' own words."""
    found = []
    for entry in values["questions"]:
        words = text(entry, "question")
        choices = tuple(text(option, "label") for option in entry.get("options") or ())
        several = entry.get("multiSelect") is True
        found.append(Question(key=words, text=words, options=choices, several=several))
    if not found:
        raise ValueError("questions")
    return tuple(found)


def answer(asked: Json, decision: Decision) -> Json:
    """The result that claude is given: always with `updatedInput`, or with `message`.

    "Always" is allow once: the suggestions would widen more than was asked, and write it down.
    """
    try:
        return _answer(asked, decision)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return refusal(BAD_CHANGE)


def refusal(message: str, *, interrupt: bool = False) -> Json:
    """A denial; with `interrupt` the turn ends."""
    values: Json = {"behavior": "deny", "message": message}
    return {**values, "interrupt": True} if interrupt else values


def _answer(asked: Json, decision: Decision) -> Json:
    native, values = text(asked, "tool_name"), asked["input"]
    if decision.kind is DecisionKind.CANCEL_RUN:
        return refusal(decision.message or CANCELLED, interrupt=True)
    if native == QUESTION and (decision.kind is DecisionKind.ANSWER or decision.kind in _ALLOWS):
        return _answered(values, decision.answers or {})
    if decision.kind not in _ALLOWS:
        return refusal(decision.message or REFUSED)
    if decision.changed_input is None:
        return {"behavior": "allow", "updatedInput": values}
    changed = native_input(native, decision.changed_input)
    if not changed and values:
        return refusal(BAD_CHANGE)  # claude takes {} as unchanged: the first input would run
    json.dumps(changed, allow_nan=False)
    return {"behavior": "allow", "updatedInput": changed}


def _answered(values: Json, given: Mapping[str, list[str]]) -> Json:
    """Every question with its answer; several choices of one are joined, as claude's dialog does.

    An answer is needed for each: without, claude would go on as if the user had none to give.
    """
    answers = {q.key: ", ".join(given.get(q.key) or ()) for q in questions(values)}
    if not all(answers.values()):
        return refusal(NOT_ANSWERED)
    return {"behavior": "allow", "updatedInput": {**values, "answers": answers}}


def _reason(asked: Json, values: Json) -> str | None:
    """The agent's own words for it, where they say more than the command itself."""
    for said in (asked.get("decision_reason"), values.get("description")):
        if isinstance(said, str) and said:
            return said
    return None


def _suggestions(listed: Any) -> tuple[Option, ...]:
    """What claude would do on its own "always": shown, and never sent back."""
    if not isinstance(listed, list):
        return ()
    return tuple(
        Option(f"suggestion-{number}", _suggestion(entry), "suggestion")
        for number, entry in enumerate(listed, 1)
    )


def _suggestion(entry: Any) -> str:
    if not isinstance(entry, dict):
        return str(entry)
    match entry.get("type"):
        case "addRules":
            rules = ", ".join(_rule(rule) for rule in entry.get("rules") or ())
            return f"{entry.get('behavior')} always: {rules} ({entry.get('destination')})"
        case "addDirectories":
            return f"add folders: {', '.join(map(str, entry.get('directories') or ()))}"
        case "setMode":
            return f"change the permission mode to {entry.get('mode')}"
    return json.dumps(present(**{str(name): value for name, value in entry.items()}))


def _rule(rule: Any) -> str:
    if not isinstance(rule, dict):
        return str(rule)
    content = rule.get("ruleContent")
    return f"{rule.get('toolName')}({content})" if content else str(rule.get("toolName"))
