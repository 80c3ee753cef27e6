"""An agent's text as a person sees it: nothing acts, nothing hides, nothing is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cuekit.model.visible import exact, exact_lines, hides_something


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls -la", "ls -la"),
        ("füße 日本 🙂", "füße 日本 🙂"),
        ("a\rb", "a\\rb"),
        ("a\tb", "a\\tb"),
        ("\x1b]52;c;eA==\x07", "\\x1b]52;c;eA==\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("a\u200bb\u200dc\ufeff", "a\\u200bb\\u200dc\\ufeff"),
        ("a\xa0b\u3000c", "a\\xa0b\\u3000c"),
        ("a\u3164b\u2800c\ufe0f", "a\\u3164b\\u2800c\\ufe0f"),
        ("a\U000e0041b", "a\\U000e0041b"),
        ("a\ud800b", "a\\ud800b"),
        ("a\u2028b", "a\\u2028b"),
    ],
)
def test_what_is_not_seen_becomes_an_escape(text: str, shown: str) -> None:
    assert exact(text) == shown
    assert hides_something(text) is (shown != text)


def test_only_a_line_feed_ends_a_line() -> None:
    assert exact_lines("a\nb\r\n\x0bc\x85d\u2028e\n") == [
        "a",
        "b\\r",
        "\\x0bc\\x85d\\u2028e",
        "",
    ]


@given(some.text())
def test_every_text_is_printable_then(text: str) -> None:
    assert exact(text).isprintable()
    assert len(exact(text)) >= len(text)
