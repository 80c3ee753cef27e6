"""A terminal's bytes as the text that a person would have read, line by line, as it comes.

Output without cursor movements is rendered by a quick path; from the first such movement on by a
terminal emulator (pyte's screen). Colours, titles and the like are dropped.
"""

import codecs
import re
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cuekit.service.terminal_screen import TextScreen

COLUMNS, ROWS = 200, 50
LONGEST_SEQUENCE = 8192
LONGEST_LINE = 65536
ERASE = "\x1b[K"
"""Erase the rest of the line: the one sequence that the quick path takes."""

TOKEN = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    r"|\x1b\[(?P<parameters>[0-?]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # title, colours, links
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # device strings, passed through to another terminal
    r"|\x1b(?P<charset>[ -/]+)[0-~]"
    r"|\x1b(?P<escape>[0-Z\\-~])"
    r"|(?P<control>[\x00-\x1f\x7f-\x9f])"
)
UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|[ -/]*)\Z")
SILENT_FINALS = frozenset("mncqtuxypsg")  # colours, reports, cursor shapes, window operations
PLAIN_MODES = frozenset({"25", "1", "12", "1000", "1002", "1003", "1004", "1006", "2004", "2026"})


class Csi(NamedTuple):
    """A control sequence, such as `ESC [ 2 ; 5 H`."""

    parameters: str
    final: str

    def numbers(self) -> list[int]:
        """Its numbers; one that is missing or no number is 0."""
        words = self.parameters.lstrip("<=>?").replace(":", ";").split(";")
        return [min(int(word), 9999) if word.isdigit() else 0 for word in words]


class Readable:
    """Feed it bytes; it gives the lines that will not change any more, and the rest at the end.

    With `live` a line is given as soon as it is whole, for somebody who follows; if the program
    changes it afterwards, it is given once more. `moving` starts with the emulator, for bytes
    out of the middle.
    """

    def __init__(
        self,
        columns: int = COLUMNS,
        rows: int = ROWS,
        *,
        live: bool = False,
        moving: bool = False,
    ) -> None:
        self._columns, self._rows, self._live = columns, rows, live
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""  # the beginning of a sequence whose end has not come
        self._line = ""  # the line that the cursor is in, as it came
        self._above: deque[str] = deque()  # what stands above it on the screen
        self._screen: TextScreen | None = None
        self._empty = 0  # empty lines that were finished and not given yet
        self._given: deque[str] = deque()  # lines on the screen that a follower has seen
        if moving:
            self._start_screen("")

    @property
    def emulates(self) -> bool:
        """Whether the program has moved the cursor, so that reading on takes longer."""
        return self._screen is not None

    def feed(self, data: bytes) -> list[str]:
        """Take more bytes, split anywhere; the lines that are finished."""
        return self._filled(self._take(self._rest + self._decoder.decode(data), final=False))

    def finish(self) -> list[str]:
        """The rest: what the screen shows at the end, without empty lines below."""
        lines = self._take(self._rest + self._decoder.decode(b"", True), final=True)
        if self._screen is not None:
            lines += self._new_ones(self._screen.shown())
        else:
            lines += [
                *([] if self._live else self._above),
                *_overwritten(self._line, self._columns),
            ]
        return self._filled(lines)

    def _filled(self, lines: list[str]) -> list[str]:
        """The lines without empty ones at the end, which wait for one that is not empty."""
        lines = [""] * self._empty + lines
        filled = len(lines)
        while filled and not lines[filled - 1]:
            filled -= 1
        self._empty = len(lines) - filled
        return lines[:filled]

    def _take(self, text: str, *, final: bool) -> list[str]:
        self._rest = ""
        if not final and (
            unfinished := UNFINISHED.search(text, max(0, len(text) - LONGEST_SEQUENCE))
        ):
            text, self._rest = text[: unfinished.start()], unfinished[0]
        if self._screen is not None:
            self._screen.write(text)
            return self._new_ones(self._screen.take_scrolled())
        plain, moving = _split(text)
        lines = self._plain(plain)
        if moving is not None:
            lines += self._start_screen(moving)
        return lines

    def _plain(self, text: str) -> list[str]:
        *whole, self._line = (self._line + text).split("\n")
        done = [line for raw in whole for line in _overwritten(raw, self._columns)]
        if len(self._line) > LONGEST_LINE and "\r" in self._line:
            self._line = "\r".join(_overwritten(self._line, self._columns)[-1:]) + "\r"
        self._above.extend(done)
        out = []
        while len(self._above) > self._rows - 1:
            out.append(self._above.popleft())
        return done if self._live else out

    def _start_screen(self, text: str) -> list[str]:
        from cuekit.service.terminal_screen import TextScreen

        self._screen = TextScreen(self._columns, self._rows)
        if self._live:
            self._given.extend(self._above)
        self._screen.write("".join(f"{line}\r\n" for line in self._above) + self._line + text)
        self._above.clear()
        return self._new_ones(self._screen.take_scrolled())

    def _new_ones(self, lines: list[str]) -> list[str]:
        """Without those, at the beginning, that a follower has seen already."""
        out = []
        for line in lines:
            if self._given and self._given.popleft() == line:
                continue
            out.append(line)
        return out


def _split(text: str) -> tuple[str, str | None]:
    """The text up to the first cursor movement, without sequences, and all from there on."""
    parts = []
    for token in TOKEN.finditer(text):
        if token["text"] is not None:
            parts.append(token["text"])
        elif (control := token["control"]) is not None:
            if control in "\n\r\b\t\x1b":
                parts.append(control if control != "\x1b" else "")
            elif control in "\x0b\x0c":
                parts.append("\n")
        elif (final := token["final"]) is not None:
            if final == "K" and token["parameters"] in ("", "0") and not token["between"]:
                parts.append(ERASE)
            elif not _silent(token):
                return "".join(parts), text[token.start() :]
        elif token["escape"] is not None and token["escape"] not in "=>NOZ\\":
            return "".join(parts), text[token.start() :]
    return "".join(parts), None


def _silent(token: "re.Match[str]") -> bool:
    """Whether a control sequence changes nothing in the text."""
    final, parameters = token["final"], token["parameters"]
    if token["between"] or parameters[:1] in ("<", "=", ">"):
        return True
    if final in "hl":
        return parameters[:1] == "?" and set(parameters[1:].split(";")) <= PLAIN_MODES
    return final in SILENT_FINALS


def _overwritten(raw: str, columns: int) -> list[str]:
    """A line as it looks after its carriage returns, backspaces and erasures took effect."""
    if "\r" not in raw and "\b" not in raw and "\x1b" not in raw:
        return [raw.rstrip()]
    cells: list[str] = []
    column = 0
    for part in re.split(r"(\r|\x08|\x1b\[K)", raw):
        if part == "\r":
            # The first column of the screen's row; a full row has not wrapped yet.
            column = max(column - 1, 0) // columns * columns
        elif part == "\b":
            column = max(column - 1, 0)
        elif part == ERASE:
            del cells[column:]
        elif part:
            cells[column : column + len(part)] = part
            column += len(part)
    return ["".join(cells).rstrip()]
