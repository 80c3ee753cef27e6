"""The form in which a text is pasted into codex's composer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuekit.activity import codex
from cuekit.activity.base import SteerPlan

NEWEST = "0.171.0"


@pytest.mark.parametrize(
    ("text", "pieces", "rewritten"),
    [
        ("hello", ("hello ",), None),
        ("a\n    b\tc", ("a\n    b\tc ",), None),
        ("/tmp is full", (" /tmp is full ",), None),
        ("!echo hi", (" !echo hi ",), None),
        ("print $HOME", ("print $HOME ",), None),
        ("  x\n\n", ("x ",), "x"),
        ("\u00a0x\u3000", ("x ",), "x"),
        ("/shots/a.PNG", (" /shots/a.P", "NG "), None),
        ("a shot.jpeg", ("a shot.jp", "eg "), None),
        ("/" + "z" * 1500, (" /" + "z" * 198, "z" * 1302, " "), None),
        ("z" * 1500, ("z" * 1500 + " ",), None),
    ],
)
def test_a_text_is_pasted_so_that_it_arrives(
    text: str, pieces: tuple[str, ...], rewritten: str | None
) -> None:
    assert codex.steer_plan(text, NEWEST) == SteerPlan(
        pieces=pieces, pause_s=0.1, rewritten=rewritten
    )


@pytest.mark.parametrize("version", ["0.133.0", "0.141.0", None, "nightly"])
def test_a_shell_command_is_refused_where_it_cannot_be_made_literal(version: str | None) -> None:
    plan = codex.steer_plan("!rm x", version)
    assert plan.pieces == ()
    assert plan.refusal is not None
    assert "begins with !" in plan.refusal


@pytest.mark.parametrize("text", ["", " \n", "x" * ((1 << 20) + 1)])
def test_what_codex_would_not_send_is_refused(text: str) -> None:
    plan = codex.steer_plan(text, NEWEST)
    assert plan.refusal
    assert plan.pieces == ()


@given(st.text(max_size=2500))
def test_the_pieces_joined_are_the_text_between_spaces(text: str) -> None:
    plan = codex.steer_plan(text, NEWEST)
    if plan.refusal is None:
        wanted = text if plan.rewritten is None else plan.rewritten
        joined = "".join(plan.pieces)
        assert joined.strip(" ") == wanted
        assert all(plan.pieces)
