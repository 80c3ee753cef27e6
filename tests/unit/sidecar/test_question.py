"""A request in the pane: all of it is seen before a key counts, and what the keys decide."""

import time
from dataclasses import replace
from typing import Any

from cuekit.model.approval import Decision, DecisionKind, RuleScope
from cuekit.sidecar.question import Question
from cuekit.sidecar.style import Style
from cuekit.store.approvals import Approval

PLAIN = Style(coloured=False)
ASKED = Approval(
    approval_id="a_1",
    task_id="t_1",
    agent_kind="codex",
    tool="shell",
    native_tool="exec",
    input={"command": "touch made.txt"},
    reason=None,
    cwd="/work",
    tool_id=None,
    risk="write",
    options=[],
    questions=[],
    abilities={},
    native={},
    state="pending",
    decision=None,
    decided_by=None,
    decided_how=None,
    requested_at=time.time(),
    decided_at=None,
    delivered_at=None,
    asker=None,
)


def question(size: tuple[int, int] = (80, 24), **values: Any) -> Question:
    return Question(replace(ASKED, **values), PLAIN, size)


def pages(one: Question) -> list[list[str]]:
    found = []
    while page := one.next_page():
        one.shown(101.0)
        found.append(page)
    return found


def test_a_key_counts_half_a_second_after_all_was_shown() -> None:
    one = question()
    assert not one.counts(200.0)
    assert len(pages(one)) == 1
    assert [one.counts(101.0 + after) for after in (0, 0.4, 0.6)] == [False, False, True]


def test_no_key_counts_before_the_page_is_on_the_screen() -> None:
    one = question()
    (page, nothing) = one.next_page(), one.next_page()
    assert (nothing, one.keys(), one.counts(200.0)) == ([], "not on the screen yet", False)
    one.shown(300.0)
    assert (one.counts(300.4), one.counts(300.6)) == (False, True)
    assert page[-1].strip() == one.keys()


def test_a_harmful_tail_is_on_a_page_of_its_own_before_a_key_counts() -> None:
    one = question(input={"command": "echo " + "x" * 5000 + "; rm -rf ~"})
    shown = []
    while page := one.next_page():
        one.shown(101.0)
        shown.append(page)
        if "rm -rf" not in "".join(page):
            assert "space: more" in page[-1]
            assert not one.counts(200.0)
    assert "rm -rf ~" in "".join(shown[-1])
    assert one.counts(200.0)
    assert all(len(line) <= 80 for page in shown for line in page[:-1])
    assert all(len(page) < 24 for page in shown)


def test_text_that_acts_on_a_terminal_is_made_visible() -> None:
    command = "echo a\rb \x1b]52;c;aGk=\x07 \x1b[2J \u202erm \u200b"
    (page,) = pages(question(input={"command": command}, reason="\x1b[1A"))
    text = "\n".join(page)
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    for seen in (r"a\rb", r"\x1b]52;c;aGk=\x07", r"\x1b[2J", r"\u202erm", r"\u200b", r"\x1b[1A"):
        assert seen in text


def test_the_keys_decide_what_they_say() -> None:
    one = question()
    user: dict[str, Any] = {"by": "user", "how": "pane"}
    assert {key: one.decision(key) for key in "yatncx"} == {
        "y": Decision(DecisionKind.ALLOW, **user),
        "a": Decision(DecisionKind.ALLOW_ALWAYS, scope=RuleScope.PROJECT, **user),
        "t": Decision(DecisionKind.ALLOW_ALWAYS, scope=RuleScope.TASK, **user),
        "n": Decision(DecisionKind.DENY, **user),
        "c": Decision(DecisionKind.CANCEL_RUN, **user),
        "x": None,
    }
    assert one.in_words("no") == Decision(DecisionKind.DENY, message="no", **user)


def test_what_the_request_does_not_take_has_no_key() -> None:
    one = question(tool="permissions")
    pages(one)
    assert "always" not in str(one.keys())
    assert one.decision("a") is None


def test_questions_are_answered_one_after_another() -> None:
    asked = [
        {"key": "q1", "text": "Which?", "options": ["Red", "Blue"], "several": False},
        {"key": "q2", "text": "What for?", "options": ["Cat", "Dog"], "several": True},
    ]
    one = question(questions=asked, tool="question")
    pages(one)
    assert one.keys().startswith("(1 of 2)  1: Red  2: Blue")
    assert one.decision("3") is None
    assert one.decision("2") is None
    assert one.keys().startswith("(2 of 2)  1: Cat")
    assert one.in_words("1, Dog") == Decision(
        DecisionKind.ANSWER,
        answers={"q1": ["Blue"], "q2": ["Cat", "Dog"]},
        by="user",
        how="pane",
    )
