"""Reading what became of a message."""

from typing import Any

import pytest

from cuekit.errors import InvalidInput
from cuekit.panes.composer import holds, shows_end
from cuekit.panes.evidence import Taken, after, in_order, last_taken, taken
from cuekit.panes.keys import checked_key

LONG = "word " * 100


@pytest.mark.parametrize(
    ("draft", "typed", "ours"),
    [
        ("a b\nc", "a b c", True),
        ("a b c d", "a b c", False),
        ("x a b c", "a b c", False),
        ("", "a", False),
        (None, "a", False),
        (LONG[200:], LONG, True),
        ("c", "a b c", False),
        ("[Pasted Content 4069 chars]", LONG, True),
        ("[Pasted text #1 +2699 lines]", LONG, True),
        ("[Pasted text #1 +9 lines] and mine", LONG, False),
    ],
)
def test_a_composer_holds_just_what_was_typed(draft: str | None, typed: str, ours: bool) -> None:
    assert holds(draft, typed) is ours


def test_the_end_of_a_text_shows_before_it_is_whole() -> None:
    assert shows_end("any and the last words of it", "many and the last words of it")
    assert not shows_end("many and the last", "many and the last words of it")
    assert shows_end("[Pasted Content 4069 chars]", LONG)
    assert not shows_end(None, "a")


def accepted(seq: int, text: str | None, turn: int = 1) -> dict[str, Any]:
    return {"seq": seq, "kind": "prompt_accepted", "turn": turn, "text": text}


def status(seq: int, source: str) -> dict[str, Any]:
    return {"seq": seq, "kind": "status", "activity": "working", "source": source}


def test_only_a_prompt_of_our_text_is_proof() -> None:
    started = {"seq": 1, "kind": "turn_started", "turn": 3}
    ours = accepted(2, "do it\n", 3)
    assert taken([started, ours, status(3, "hook")], ("do it",)) == Taken(3, "hook", 2)
    others = [started, accepted(2, "somebody else's", 3), status(3, "hook")]
    assert taken(others, ("do it",)) is None
    wrapped = accepted(1, "\n\n<pasted_content id=1>\na\nb\n</pasted_content id=1>\n")
    assert taken([wrapped], ("a\nb",)) == Taken(1, "hook", 1, False)
    assert taken([accepted(1, None)], ("do it",)) == Taken(1, "hook", 1, False)


def test_a_queued_message_is_taken_when_it_is_told_of_the_last_time() -> None:
    queued, over = accepted(7, "do it"), {"seq": 8, "kind": "turn_completed", "turn": 1}
    started = {"seq": 9, "kind": "turn_started", "turn": 2}
    told = [queued, over, started, accepted(10, "do it", 2), status(11, "session_log")]
    assert last_taken(told[:2], ("do it",)) == Taken(1, "hook", 7, False)
    assert last_taken(told, ("do it",)) == Taken(2, "hook", 10)
    assert last_taken([*told, accepted(12, "other", 2)], ("do it",)) == Taken(2, "hook", 10)
    assert last_taken([over], ("do it",)) is None


def test_a_word_that_is_written_down_late_counts_where_it_belongs() -> None:
    over = {"seq": 3, "kind": "turn_completed", "turn": 2, "time": "2026-12-01T05:00:02.000Z"}
    first = {**accepted(2, "do it", 2), "time": "2026-12-01T05:00:01.000Z"}
    late = {**accepted(4, "do it", 2), "time": "2026-12-01T05:00:01.500Z"}
    found = in_order([first, over, late])
    told = last_taken(found, ("do it",))
    assert told == Taken(2, "hook", 4, False)
    assert after(found, told.seq) == [over]


def test_a_turn_that_a_title_tells_of_is_proof_with_that_source() -> None:
    started = {"seq": 4, "kind": "turn_started", "turn": 2}
    assert taken([started, status(5, "title")], ("do it",)) == Taken(2, "title", 4)
    assert taken([started], ("do it",)) is None


def test_keys_are_pressed_by_name_and_characters_are_not_keys() -> None:
    assert checked_key("c-c") == "C-c"
    assert checked_key("Escape") == "Escape"
    for name in ("y", "1", "a;", "", "Escap"):
        with pytest.raises(InvalidInput) as caught:
            checked_key(name)
        assert caught.value.code == "unknown_key"
    assert caught.value.hint == "did you mean Escape?"
