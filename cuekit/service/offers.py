"""Which answers an approval takes, and whether a decision is one of them. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cuekit.errors import InvalidInput, InvalidState
from cuekit.model.approval import Decision, DecisionKind, RuleScope
from cuekit.model.event import Tool
from cuekit.store.approvals import Approval

ALLOWING = frozenset({"allow_once", "allow_always"})
KNOWN = ALLOWING | {"reject_once", "reject_always"}
GRANT_SCOPES = ("turn", "session")


def offered(approval: Approval) -> list[DecisionKind]:
    """The kinds of answers that the request takes, the plainest first."""
    able = approval.abilities
    kinds = []
    if approval.questions:
        kinds.append(DecisionKind.ANSWER)
    elif _may_allow(approval):
        kinds.append(DecisionKind.ALLOW)
        if approval.tool != Tool.PERMISSIONS:
            kinds.append(DecisionKind.ALLOW_ALWAYS)
    kinds.append(DecisionKind.DENY)
    if able.get("cancel_run", True):
        kinds.append(DecisionKind.CANCEL_RUN)
    if able.get("hand_over"):
        kinds.append(DecisionKind.HANDOVER)
    return kinds


def checked(approval: Approval, decision: Decision) -> Decision:
    """The decision as it is stored. Raises InvalidState (`not_offered`), InvalidInput."""
    kinds = offered(approval)
    if decision.kind not in kinds:
        raise _not_offered(approval, f"{decision.kind} is no answer to this request", kinds)
    if decision.changed_input is not None and not approval.abilities.get("change_input"):
        raise _not_offered(approval, f"{approval.agent_kind} cannot change what it asked for")
    if decision.kind is DecisionKind.ANSWER:
        return replace(decision, answers=_answers(approval, decision.answers or {}))
    if decision.granted is not None or decision.scope in GRANT_SCOPES:
        return _grant(approval, decision)
    if decision.kind is DecisionKind.ALLOW_ALWAYS:
        RuleScope(decision.scope or RuleScope.TASK)
        if decision.changed_input is not None:
            raise InvalidInput(
                "a changed input is allowed once, not for ever", code="edit_with_always"
            )
        return replace(decision, scope=decision.scope or str(RuleScope.TASK))
    return decision


def _may_allow(approval: Approval) -> bool:
    """Whether an agent that names its options offers to go on."""
    kinds = {option.get("kind") for option in approval.options}
    return not (kinds & KNOWN) or bool(kinds & ALLOWING)


def _answers(approval: Approval, given: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The answers by the questions' own keys; a single question may be answered without a key."""
    questions = {str(question["key"]): question for question in approval.questions}
    if set(given) == {""} and len(questions) == 1:
        given = {next(iter(questions)): given[""]}
    unknown = [key for key in given if key not in questions]
    missing = [key for key in questions if key not in given]
    if unknown or missing:
        wrong = f"there is no question {unknown[0]!r}" if unknown else f"{missing[0]!r} is missing"
        raise InvalidInput(
            f"{wrong}: the questions are {', '.join(repr(key) for key in questions)}",
            code="wrong_answer",
            hint=f"cuekit approval show {approval.approval_id}",
            details={"questions": list(questions)},
        )
    return {key: _answer(approval, questions[key], values) for key, values in given.items()}


def _answer(approval: Approval, question: Mapping[str, Any], values: list[str]) -> list[str]:
    options = [str(option) for option in question.get("options") or ()]
    if len(values) > 1 and not question.get("several"):
        raise _not_offered(approval, f"{question['key']!r} takes one answer")
    chosen = [_option(value, options) for value in values]
    wrong = [value for value, option in zip(values, chosen, strict=True) if option is None]
    if wrong:
        raise _not_offered(
            approval, f"{wrong[0]!r} is no answer to {question['key']!r}: {', '.join(options)}"
        )
    return [option for option in chosen if option is not None]


def _option(value: str, options: list[str]) -> str | None:
    """The option that is meant, by its text or, where no case fits, by its text in any case."""
    if not options or value in options:
        return value
    near = [option for option in options if option.casefold() == value.casefold()]
    return near[0] if len(near) == 1 else None


def _grant(approval: Approval, decision: Decision) -> Decision:
    if approval.tool != Tool.PERMISSIONS or not approval.abilities.get("grant_subset"):
        raise _not_offered(approval, "only a request for permissions takes a grant")
    scope = decision.scope or GRANT_SCOPES[0]
    if scope not in GRANT_SCOPES:
        raise InvalidInput(
            f"a grant holds for {' or '.join(GRANT_SCOPES)}, not {scope!r}", code="wrong_scope"
        )
    asked = approval.input.get("permissions", approval.input)
    granted = asked if decision.granted is None else decision.granted
    if not is_subset(granted, asked):
        raise _not_offered(approval, "the grant is more than what was asked for")
    return replace(decision, scope=scope, granted=granted)


def is_subset(given: Any, asked: Any) -> bool:
    """Whether a grant holds nothing that was not asked for.

    Of an object some of the names, of a list some of the entries; false is less than true.
    """
    if isinstance(given, Mapping):
        return isinstance(asked, Mapping) and all(
            name in asked and is_subset(value, asked[name]) for name, value in given.items()
        )
    if isinstance(given, list):
        return isinstance(asked, list) and all(
            any(type(value) is type(entry) and value == entry for entry in asked) for value in given
        )
    if isinstance(asked, bool):
        return isinstance(given, bool) and (asked or not given)
    return given is None or (type(given) is type(asked) and given == asked)


def _not_offered(
    approval: Approval, what: str, kinds: list[DecisionKind] | None = None
) -> InvalidState:
    answers = [str(kind) for kind in (kinds or offered(approval))]
    return InvalidState(
        f"{what}; the answers to {approval.approval_id} are {', '.join(answers)}",
        code="not_offered",
        hint=f"cuekit approval show {approval.approval_id}",
        details={"approval_id": approval.approval_id, "may": answers},
    )
