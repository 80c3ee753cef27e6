"""Terminal output as readable text."""

import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cuekit.service.terminal import Readable
from tests.support.tmux import TmuxServer, tmux_server
from tests.support.wait import wait_until

__all__ = ["tmux_server"]


def text_of(data: bytes, columns: int = 40, rows: int = 10, pieces: int | None = None) -> list[str]:
    """The lines of some output, fed whole or in pieces of so many bytes."""
    reader = Readable(columns, rows)
    size = pieces or max(len(data), 1)
    lines: list[str] = []
    for start in range(0, len(data), size):
        lines += reader.feed(data[start : start + size])
    return lines + reader.finish()


CASES = [
    pytest.param(b"", [], id="nothing"),
    pytest.param(b"one\r\ntwo\r\n", ["one", "two"], id="lines"),
    pytest.param(b"one\r\ntwo", ["one", "two"], id="no-line-end-at-the-end"),
    pytest.param(b"one\n\n\ntwo\r\n\r\n", ["one", "", "", "two"], id="empty-lines"),
    pytest.param(b"\x1b[1;31mred\x1b[0m plain\r\n", ["red plain"], id="colours"),
    pytest.param(b"\x1b[38:2::1:2:3mred\x1b[m\r\n", ["red"], id="colours-with-colons"),
    pytest.param(b"\x1b]0;title\x07a\x1b]2;other\x1b\\b\r\n", ["ab"], id="titles"),
    pytest.param(b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\r\n", ["link"], id="links"),
    pytest.param(b"\x1bPtmux;stuff\x1b\\seen\x1b_mark\x1b\\\r\n", ["seen"], id="device-strings"),
    pytest.param(b"10%\r50%\r100%\r\ndone\r\n", ["100%", "done"], id="progress"),
    pytest.param(b"a long line\rshort\x1b[K\r\n", ["short"], id="progress-with-erasure"),
    pytest.param(b"abc\b\bX\r\n", ["aXc"], id="backspace"),
    pytest.param("10% 下载\r99%\r\n".encode(), ["99% 下载"], id="progress-of-wide-letters"),
    pytest.param(b"\x1b[?25l\x1b[?2004hready\x1b[?25h\r\n", ["ready"], id="modes-without-effect"),
    pytest.param(b"\xff\xfebroken\r\n", ["��broken"], id="broken-utf8"),
    pytest.param(b"a\x00b\x07c\x7fd\r\n", ["abcd"], id="controls"),
    pytest.param(b"one\r\ntwo\x1b[1A\rONE\r\n", ["ONE", "two"], id="cursor-up"),
    pytest.param(b"x\r\n\x1b[5;3Hfive\x1b[1;1Hone", ["one", "", "", "", "  five"], id="address"),
    pytest.param(b"keep\r\n\x1b[2J\x1b[Hnew\r\n", ["keep", "new"], id="clear"),
    pytest.param(b"keep\r\n\x1b[H\x1b[2J\x1b[3Jnew\r\n", ["keep", "new"], id="clear-history"),
    pytest.param(
        b"before\r\n\x1b[?1049h\x1b[2J\x1b[Hinside\x1b[?1049lafter\r\n",
        ["before", "inside", "after"],
        id="alternate-screen",
    ),
    pytest.param(
        b"before\r\n\x1b[?1049h\x1b[Hinside", ["before", "inside"], id="alternate-screen-stays"
    ),
    pytest.param("\x1b[1;1H你好\x1b[1;5Hx".encode(), ["你好x"], id="wide-letters"),
    pytest.param("\x1b[1;1H你好\x1b[1;2Hx".encode(), [" x好"], id="half-a-wide-letter"),
    pytest.param("\x1b[1;1He\u0301x".encode(), ["e\u0301x"], id="combining-marks"),
    pytest.param("\x1b[1;1H👩\u200d💻 works\r\n".encode(), ["👩\u200d💻 works"], id="joined-emoji"),
    pytest.param(b"\x1b[1;1H" + b"x" * 45, ["x" * 40, "x" * 5], id="wrapping-when-emulated"),
    pytest.param(
        b"\x1b[99;99;99H\x1b[1;2;3Aq\x1b[999999999B", [*[""] * 8, " " * 39 + "q"], id="numbers"
    ),
    pytest.param(
        b"\x1b[1;3r\x1b[3;1Ha\r\nb\r\nc\x1b[r\x1b[9;1Hend",
        ["", "", *"abc", *[""] * 5, "end"],
        id="region",
    ),
    pytest.param(b"\x1b[Ha\r\nb\x1b[1S\x1b[1;1HB", ["a", "B"], id="scroll-up"),
    pytest.param(b"\x1b[Ha\x1b[1T\x1b[1;1HB", ["B", "a"], id="scroll-down"),
]


@pytest.mark.parametrize(("data", "lines"), CASES)
def test_output_reads_as_a_person_saw_it(data: bytes, lines: list[str]) -> None:
    assert text_of(data) == lines


@pytest.mark.parametrize("pieces", [1, 2, 3, 7])
@pytest.mark.parametrize(("data", "lines"), CASES)
def test_it_does_not_matter_where_the_bytes_are_split(
    data: bytes, lines: list[str], pieces: int
) -> None:
    assert text_of(data, pieces=pieces) == lines


def test_lines_that_scroll_off_are_kept() -> None:
    data = b"\x1b[1;1H" + b"".join(b"line %d\r\n" % number for number in range(500))
    assert text_of(data) == [f"line {number}" for number in range(500)]


def test_a_movement_reaches_the_lines_above_it() -> None:
    data = b"".join(b"line %d\r\n" % number for number in range(30)) + b"\x1b[2Achanged\x1b[K"
    wanted = [f"line {number}" for number in range(30)]
    wanted[28] = "changed"
    assert text_of(data) == wanted


def test_a_follower_gets_each_line_at_once_and_changed_ones_again() -> None:
    reader = Readable(40, 10, live=True)
    assert reader.feed(b"one\r\ntwo\r\nthr") == ["one", "two"]
    assert reader.feed(b"ee\r\n") == ["three"]
    assert reader.feed(b"\x1b[2ATWO\r\n\r\nfour") == []
    assert reader.finish() == ["TWO", "four"]


def test_any_bytes_are_taken() -> None:
    random_bytes = random.Random(7)
    letters = (
        b"\x1b\x1b\x1b[]?0123456789;:ABCDHJKLMPSTXdfghlmnrsu78\r\n\t\b\x07\\xyz\xe4\xbd\xa0 P_^"
    )
    for _ in range(300):
        data = bytes(random_bytes.choices(letters, k=random_bytes.randrange(200)))
        text_of(data, pieces=random_bytes.randrange(1, 20))


KINDS = (
    "text",
    "line",
    "return",
    "move",
    "place",
    "erase",
    "region",
    "scroll",
    "up",
    "wide",
    "tab",
)
WIDTH, HEIGHT = 40, 12


def drawn(source: random.Random) -> str:
    """Random output of a program that draws."""
    out = ["\x1b[1;1H"]
    for _ in range(source.randint(1, 50)):
        match source.choice(KINDS):
            case "text":
                out.append("".join(source.choices("abcd XYZ", k=source.randint(1, 60))))
            case "line":
                out.append("\r\n" * source.randint(1, 4))
            case "return":
                out.append("\r")
            case "move":
                out.append(f"\x1b[{source.randint(0, 5)}{source.choice('ABCD')}")
            case "place":
                out.append(f"\x1b[{source.randint(1, HEIGHT)};{source.randint(1, WIDTH)}H")
            case "erase":
                out.append(source.choice(["\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[1J"]))
            case "region":
                out.append(source.choice(["\x1b[r", f"\x1b[1;{source.randint(2, HEIGHT)}r"]))
            case "scroll":
                out.append(f"\x1b[{source.randint(1, 3)}{source.choice('ST')}")
            case "up":
                out.append("\x1bM")
            case "wide":
                out.append(source.choice(["你好世界", "e\u0301x", "ab漢"]))
            case "tab":
                out.append("\t")
    return "".join(out)


def test_random_output_reads_as_in_tmux(tmux_server: TmuxServer, tmp_path: Path) -> None:
    tmux_server.run("new-session", "-d", "-s", "keep", "sleep 600")
    tmux_server.run("set-option", "-g", "remain-on-exit", "on")
    tmux_server.run("set-option", "-g", "status", "off")
    file = tmp_path / "output"
    seed = random.randrange(1_000_000)
    for number in range(12):
        source = random.Random(seed + number)
        # The mark at the end tells that tmux has read all.
        data = drawn(source) + "\x1b]2;end\x07"
        file.write_bytes(data.encode())
        tmux_server.run(
            "new-session", "-d", "-s", "it", "-x", str(WIDTH), "-y", str(HEIGHT),
            f"stty raw -echo; cat {file}; exec sleep 600",
        )  # fmt: skip
        wait_until(lambda: tmux_server.value("=it:", "#{pane_title}") == "end", 10)
        shown = tmux_server.run("capture-pane", "-p", "-S", "-", "-t", "=it:").split("\n")
        tmux_server.run("kill-session", "-t", "=it")
        wanted = "\n".join(line.rstrip() for line in shown).rstrip("\n")
        got = "\n".join(text_of(data.encode(), WIDTH, HEIGHT, pieces=source.randint(1, 99)))
        assert got == wanted, (seed + number, data)


LARGE = """
import sys
from cuekit.service.terminal import Readable
reader, lines = Readable(), 0
for number in range(40):
    lines += len(reader.feed(sys.argv[1].encode().decode("unicode_escape").encode() * 5000))
lines += len(reader.finish())
print(lines)
"""


@pytest.mark.parametrize(
    ("unit", "lines"),
    [
        (r"\x1b[32mok\x1b[0m the quick brown fox jumps over\r\n", 200_000),
        (r"\r50% of the work is done by now, go on\x1b[K", 1),
    ],
)
def test_ten_megabytes_take_seconds_and_little_memory(unit: str, lines: int) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", LARGE, unit], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == lines
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Far above what it takes (2 s, 20 MiB): this is about growth, not about speed.
    assert used.ru_utime - before < 30, time.monotonic() - started
