"""How a text is given to claude. What arrives is measured in tests/real/test_claude_activity."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuekit.activity.base import SteerPlan
from cuekit.activity.claude_steer import steer_plan

OLD, NEW = "2.1.197", "2.1.332"
LINES = "\n".join(f"line {number}" for number in range(50))


def given_as(text: str, version: str | None = NEW) -> tuple[str, str | None]:
    plan = steer_plan(text, version)
    assert plan.refusal is None
    assert plan.bracketed
    return "".join(plan.pieces), plan.rewritten


@pytest.mark.parametrize("version", [OLD, NEW, None])
@pytest.mark.parametrize(
    ("text", "typed", "rewritten"),
    [
        ("hello", "hello ", None),
        ("  hello", "  hello ", None),
        ("hello  ", "hello ", "hello"),
        ("/etc/hosts is wrong", "/etc/hosts is wrong ", None),
        ("!ls", " !ls ", " !ls"),
        ("look at @REA", "look at @REA ", None),
        ("a\tb", "a    b ", "a    b"),
        ("ends \\", "ends \\ ", None),
        ("e\u0301", "\xe9 ", "\xe9"),
    ],
)
def test_a_short_text_is_typed_so_that_claude_keeps_it(
    text: str, typed: str, rewritten: str | None, version: str | None
) -> None:
    assert given_as(text, version) == (typed, rewritten)


def test_a_command_is_made_text_where_a_space_does_that_and_else_refused() -> None:
    assert given_as("/help me", OLD) == (" /help me ", " /help me")
    for text in ("/help me", " /help", "\n/help", "/"):
        assert steer_plan(text, NEW).refusal is not None


def test_a_long_text_is_one_paste_where_claude_keeps_it() -> None:
    text = f"  {LINES}\\"
    assert steer_plan(text, OLD).pieces == (text,)
    assert steer_plan(text, OLD).rewritten is None


@pytest.mark.parametrize("version", [NEW, "3.0.0", None])
def test_a_long_text_goes_in_pieces_that_claude_does_not_wrap(version: str | None) -> None:
    text = LINES + "\n" + "wide \U0001f600 " * 400 + "end"
    pieces = steer_plan(text, version).pieces
    assert "".join(pieces) == text + " "
    assert max(piece.count("\n") for piece in pieces) == 2
    assert 700 <= max(len(piece.encode("utf-16-le")) // 2 for piece in pieces) <= 705


def test_invisible_characters_are_left_out_where_claude_drops_them() -> None:
    text = "a\u200bb \u202ec\u202c d\u2028e \u05d0\u200f! \u2764\ufe0f \u0645\u06cc\u200c\u062e"
    kept = "ab c d\ne \u05d0! \u2764\ufe0f \u0645\u06cc\u200c\u062e"
    assert given_as(text, NEW) == (kept + " ", kept)
    assert given_as(text, OLD) == (text + " ", None)


def test_more_than_can_be_typed_in_pieces_is_wrapped_and_said_so() -> None:
    plan = steer_plan("\n" * 5000 + "end", NEW)
    assert len(plan.pieces) == 1
    assert plan.rewritten is not None
    assert plan.rewritten.startswith('<pasted_content id="…">\n')


@pytest.mark.parametrize("text", ["exit", " quit\n", ":wq", "", " \n\t", "\xa0"])
def test_what_would_quit_or_never_be_sent_is_refused(text: str) -> None:
    plan = steer_plan(text, NEW)
    assert plan.refusal is not None
    assert plan == SteerPlan(pieces=(), refusal=plan.refusal)


@given(st.text(), st.sampled_from([OLD, NEW, None, "", "x.y"]))
def test_every_text_is_planned_or_refused(text: str, version: str | None) -> None:
    plan = steer_plan(text, version)
    assert (plan.refusal is None) == bool(plan.pieces)
    assert all(plan.pieces)
