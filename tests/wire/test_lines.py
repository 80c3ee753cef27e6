"""Framing and parsing of protocol lines."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuekit.wire.lines import LineFramer, encode, parse

LINES = st.lists(st.binary(max_size=40).filter(lambda b: b"\n" not in b and b"\r" not in b))


@given(LINES, st.lists(st.integers(1, 9), max_size=30))
def test_lines_are_the_same_however_the_stream_is_cut(lines: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    framer = LineFramer()
    found = []
    for cut in cuts:
        found += framer.push(stream[:cut])
        stream = stream[cut:]
    found += framer.push(stream)
    assert found == lines
    assert framer.rest() == b""


def test_half_a_line_at_the_end_is_not_lost() -> None:
    framer = LineFramer()
    assert framer.push(b'{"a":1}\n{"b"') == [b'{"a":1}']
    assert framer.rest() == b'{"b"'


def test_a_line_of_fifty_megabytes_comes_whole() -> None:
    framer = LineFramer()
    piece = b"x" * (1024 * 1024)
    for _ in range(50):
        assert framer.push(piece) == []
    assert framer.push(b"\nnext\n") == [piece * 50, b"next"]


def test_a_line_beyond_the_limit_is_dropped_and_counted_and_the_next_one_is_read() -> None:
    framer = LineFramer(most_bytes=10)
    assert framer.push(b"0123456789ab") == []
    assert framer.push(b"cdef\nshort\n") == [b"short"]
    assert framer.dropped == 1


def test_broken_utf8_is_read_leniently() -> None:
    assert parse(b'{"text": "a\xff\xfeb"}') == {"text": "a\ufffd\ufffdb"}


@pytest.mark.parametrize("line", [b"", b"{", b"nonsense", b'{"a":}', b"[" * 100000])
def test_what_is_no_json_says_so(line: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 any kind of it
        parse(line)


def test_a_message_is_one_line_of_the_same_value() -> None:
    message = {"text": "line\nbreak, ü, \u2028, 🙂", "n": [1, None]}
    line = encode(message)
    assert line.endswith(b"\n")
    assert b"\n" not in line[:-1]
    assert json.loads(line) == message
    assert json.loads(encode({"text": "\ud800"})) == {"text": "?"}
