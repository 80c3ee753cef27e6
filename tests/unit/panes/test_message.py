"""What a message may hold."""

import pytest

from cuekit.errors import InvalidInput
from cuekit.panes.message import LARGEST_BYTES, checked


@pytest.mark.parametrize(
    ("given", "delivered"),
    [
        ("a", "a"),
        ("a\n", "a"),
        ("a\r\n", "a"),
        ("a\n\n", "a\n"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\ta ;", "\ta ;"),
        ("שלום 👩\u200d👧 e\u0301", "שלום 👩\u200d👧 e\u0301"),
    ],
)
def test_line_ends_become_lf_and_one_at_the_end_is_dropped(given: str, delivered: str) -> None:
    assert checked(given) == delivered


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("", "empty_message", "empty"),
        ("\n", "empty_message", "empty"),
        (" \t\n", "empty_message", "empty"),
        ("abcd\x1b[201~", "control_character", "U+001B ESCAPE at character 5"),
        ("\0", "control_character", "U+0000 NULL at character 1"),
        ("a\x03", "control_character", "U+0003 CONTROL-C at character 2"),
        ("a\x7f", "control_character", "U+007F DELETE at character 2"),
        ("a\x9b", "control_character", "U+009B CONTROL SEQUENCE INTRODUCER at character 2"),
        ("a\udcff", "invalid_utf8", "not valid UTF-8 at character 2"),
        ("ü" * (LARGEST_BYTES // 2 + 1), "message_too_long", f"at most {LARGEST_BYTES}"),
    ],
)
def test_what_cannot_be_delivered_is_named(text: str, code: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        checked(text)
    assert caught.value.code == code
    assert words in caught.value.message


def test_the_largest_message_is_taken() -> None:
    assert checked("x" * LARGEST_BYTES) == "x" * LARGEST_BYTES
