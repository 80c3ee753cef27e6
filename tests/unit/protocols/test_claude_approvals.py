"""Claude's requests in our words, and our decisions in claude's."""

from __future__ import annotations

from typing import Any

import pytest

from cuekit.model.approval import Decision, DecisionKind, Question
from cuekit.protocols import claude_approvals as approvals
from cuekit.protocols.claude_tools import common_input, native_input

ALLOW, DENY = DecisionKind.ALLOW, DecisionKind.DENY
BASH = {"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t1"}
WRITE = {"tool_name": "Write", "input": {"file_path": "/p/a", "content": "x"}}
ASKED: dict[str, Any] = {
    "tool_name": "AskUserQuestion",
    "input": {
        "questions": [
            {"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]},
            {"question": "What else?", "options": [{"label": "C"}], "multiSelect": True},
        ]
    },
}


def test_a_request_keeps_every_value_that_claude_would_use() -> None:
    values = {"command": "ls", "description": "look around", "run_in_background": True}
    asked = {**BASH, "input": values}

    request = approvals.approval_request(asked, "/p")

    assert (request.tool, request.native_tool, request.input) == ("shell", "Bash", values)
    assert (request.reason, request.cwd, request.tool_id) == ("look around", "/p", "t1")
    assert request.can_change_input
    assert request.native == asked


def test_suggestions_are_text_alone() -> None:
    rule = {"toolName": "Bash", "ruleContent": "touch a"}
    suggestions = [
        {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"},
        {"type": "addDirectories", "directories": ["/p"], "destination": "session"},
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
        {"type": "somethingNew", "x": 1},
    ]
    request = approvals.approval_request({**BASH, "permission_suggestions": suggestions}, "/p")

    assert [option.name for option in request.options] == [
        "allow always: Bash(touch a) (localSettings)",
        "add folders: /p",
        "change the permission mode to acceptEdits",
        '{"type": "somethingNew", "x": 1}',
    ]
    always = approvals.answer(BASH, Decision(DecisionKind.ALLOW_ALWAYS, scope="task"))
    assert always == {"behavior": "allow", "updatedInput": {"command": "ls"}}


def test_questions_are_answered_by_their_own_words() -> None:
    request = approvals.approval_request(ASKED, "/p")
    given = {"Which?": ["B"], "What else?": ["C", "D"]}

    reply = approvals.answer(ASKED, Decision(DecisionKind.ANSWER, answers=given))

    assert request.questions == (
        Question("Which?", "Which?", ("A", "B")),
        Question("What else?", "What else?", ("C",), several=True),
    )
    assert reply == {
        "behavior": "allow",
        "updatedInput": {**ASKED["input"], "answers": {"Which?": "B", "What else?": "C, D"}},
    }


@pytest.mark.parametrize(
    "answers", [None, {}, {"Which?": ["B"]}, {"Which?": ["B"], "What else?": []}]
)
def test_a_question_without_all_its_answers_is_refused(answers: Any) -> None:
    for kind in (ALLOW, DecisionKind.ANSWER):
        reply = approvals.answer(ASKED, Decision(kind, answers=answers))
        assert reply == {"behavior": "deny", "message": approvals.NOT_ANSWERED}


@pytest.mark.parametrize(
    ("asked", "decision", "reply"),
    [
        (BASH, Decision(ALLOW), {"behavior": "allow", "updatedInput": {"command": "ls"}}),
        (
            BASH,
            Decision(ALLOW, changed_input={"command": "pwd"}),
            {"behavior": "allow", "updatedInput": {"command": "pwd"}},
        ),
        (
            WRITE,
            Decision(ALLOW, changed_input={"path": "/p/b", "content": "y"}),
            {"behavior": "allow", "updatedInput": {"file_path": "/p/b", "content": "y"}},
        ),
        (BASH, Decision(DENY, message="no"), {"behavior": "deny", "message": "no"}),
        (BASH, Decision(DENY), {"behavior": "deny", "message": approvals.REFUSED}),
        (
            BASH,
            Decision(DecisionKind.CANCEL_RUN),
            {"behavior": "deny", "message": approvals.CANCELLED, "interrupt": True},
        ),
        (BASH, Decision(DecisionKind.HANDOVER), {"behavior": "deny", "message": approvals.REFUSED}),
        (
            BASH,
            Decision(DecisionKind.ANSWER, answers={"x": ["y"]}),
            {"behavior": "deny", "message": approvals.REFUSED},
        ),
    ],
)
def test_a_decision_in_claudes_words(asked: Any, decision: Decision, reply: Any) -> None:
    assert approvals.answer(asked, decision) == reply


@pytest.mark.parametrize("changed", [{}, {"command": float("nan")}, {"command": {1, 2}}])
def test_a_change_that_claude_would_not_take_as_one_is_refused(changed: Any) -> None:
    """An empty input means "unchanged" to claude: what was to be changed would run."""
    reply = approvals.answer(BASH, Decision(ALLOW, changed_input=changed))

    assert reply == {"behavior": "deny", "message": approvals.BAD_CHANGE}


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"tool_name": 5, "input": {}},
        {"tool_name": "Bash"},
        {"tool_name": "Bash", "input": "ls"},
        {"tool_name": "AskUserQuestion", "input": {}},
        {"tool_name": "AskUserQuestion", "input": {"questions": []}},
        {"tool_name": "AskUserQuestion", "input": {"questions": [{"question": 5}]}},
    ],
)
def test_what_is_not_understood_raises(asked: Any) -> None:
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
        approvals.approval_request(asked, "/p")


@pytest.mark.parametrize(
    ("native", "values", "common"),
    [
        ("Bash", {"command": "ls"}, {"command": "ls"}),
        ("Edit", {"file_path": "/a", "old_string": "b"}, {"path": "/a", "old_string": "b"}),
        ("NotebookEdit", {"notebook_path": "/a"}, {"path": "/a"}),
        ("mcp__s__t", {"a": 1}, {"server": "s", "tool": "t", "arguments": {"a": 1}}),
        ("Grep", {"pattern": "x", "path": "/a"}, {"pattern": "x", "path": "/a"}),
        ("New", {"x": 1}, {"x": 1}),
    ],
)
def test_an_input_comes_back_as_it_was(native: str, values: Any, common: Any) -> None:
    assert common_input(native, values) == common
    assert native_input(native, common) == values
    assert native_input(native, values) == values or native.startswith("mcp__")


def test_the_path_that_is_shown_is_the_one_that_claude_uses() -> None:
    shown = common_input("Read", {"path": "/harmless", "file_path": "/etc/shadow"})

    assert shown == {"path": "/etc/shadow"}
