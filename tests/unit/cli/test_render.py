"""Tables and safe text."""

import pytest

from cuekit.cli.render import cut, one_line, table, visible, width_of


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b[2J\x07\x00\x7f", "\\x1b[2J\\x07\\x00\\x7f"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202e\u200b\u2066\ufeff", "\\u202e\\u200b\\u2066\\ufeff"),
        ("\udcff", "\\udcff"),
        ("你好 é e\u0301 👩\u200d💻", "你好 é e\u0301 👩\u200d💻"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_what_could_act_on_a_terminal_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_one_line_has_no_line_ends() -> None:
    assert one_line("  a\r\n\tb \x1b c ") == "a b \\x1b c"


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("你好", 4), ("e\u0301", 1), ("é", 1)])
def test_the_width_is_in_columns(text: str, width: int) -> None:
    assert width_of(text) == width


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("你好世界", 5, "你好…"),
        ("你好世界", 4, "你…"),
    ],
)
def test_a_cut_text_ends_in_an_ellipsis(text: str, width: int, shown: str) -> None:
    assert cut(text, width) == shown
    assert width_of(shown) <= width


def test_columns_stand_under_their_headers() -> None:
    rows = [("t_1", "你好", "x"), ("t_2", "ab", "y")]
    assert table(("TASK", "NAME", "Z"), rows) == "TASK  NAME  Z\nt_1   你好  x\nt_2   ab    y"


def test_a_table_without_rows_is_its_headers() -> None:
    assert table(("TASK", "NAME"), []) == "TASK  NAME"


def test_the_last_columns_give_way_and_the_first_never() -> None:
    rows = [("t_aaaaaaaa", "n" * 30, "s" * 30)]
    lines = table(("TASK", "NAME", "SUMMARY"), rows, 40).splitlines()
    assert lines[1] == "t_aaaaaaaa  " + "n" * 17 + "…  " + "s" * 7 + "…"
    assert [width_of(line) for line in lines] == [39, 40]
