"""A terminal emulator that keeps text alone: pyte's screen, with what pyte lacks.

pyte 0.8.2 has no alternate screen, no scrolling by CSI S and T, drops the rest of a text after a
zero-width joiner, and raises on a surplus parameter; its own parser takes one letter at a time.
Loaded only by `terminal.Readable`, when a program moves the cursor.
"""

import re
from typing import Any

import pyte
from wcwidth import wcwidth

from cuekit.service.terminal import TOKEN, Csi

ALTERNATE = frozenset({47, 1047, 1049})
KNOWN_PRIVATE = frozenset({6, 7})  # origin, auto-wrap
KNOWN = frozenset({4, 20})  # insert, new line
ONE_NUMBER = {
    "@": "insert_characters",
    "A": "cursor_up",
    "B": "cursor_down",
    "C": "cursor_forward",
    "D": "cursor_back",
    "E": "cursor_down1",
    "F": "cursor_up1",
    "G": "cursor_to_column",
    "J": "erase_in_display",
    "K": "erase_in_line",
    "L": "insert_lines",
    "M": "delete_lines",
    "P": "delete_characters",
    "S": "scroll_up",
    "T": "scroll_down",
    "X": "erase_characters",
    "`": "cursor_to_column",
    "a": "cursor_forward",
    "d": "cursor_to_line",
    "e": "cursor_down",
    "g": "clear_tab_stop",
}
TWO_NUMBERS = {"H": "cursor_position", "f": "cursor_position", "r": "region"}
ESCAPES = {
    "7": "save_cursor",
    "8": "restore_cursor",
    "D": "index",
    "E": "linefeed",
    "H": "set_tab_stop",
    "M": "reverse_index",
    "c": "reset",
}
CONTROLS = {
    "\b": "backspace",
    "\t": "tab",
    "\n": "linefeed",
    "\x0b": "linefeed",
    "\x0c": "linefeed",
    "\r": "carriage_return",
}
RUNS = re.compile(r"[ -~]+|[^ -~]")


class TextScreen(pyte.Screen):
    """A screen that remembers, as text, the lines that leave it at the top."""

    def __init__(self, columns: int, rows: int) -> None:
        self._scrolled: list[str] = []
        self._alternate = False
        self._cells: dict[str, Any] = {}
        self._widths: dict[str, int] = {}
        self._saved = (0, 0)
        super().__init__(columns, rows)

    def write(self, text: str) -> None:
        """Take the program's output; whole sequences only."""
        for token in TOKEN.finditer(text):
            kind = token.lastgroup
            if kind == "text":
                self.draw(token["text"])
            elif kind == "control":
                if action := CONTROLS.get(token["control"]):
                    getattr(self, action)()
            elif kind == "final":
                if not token["between"]:
                    self._control(Csi(token["parameters"], token["final"]))
            elif kind == "escape" and (action := ESCAPES.get(token["escape"])):
                getattr(self, action)()

    def take_scrolled(self) -> list[str]:
        """The lines that left the screen since the last call."""
        lines, self._scrolled = self._scrolled, []
        return lines

    def shown(self) -> list[str]:
        """All lines that are still to be read: what scrolled, and what the screen shows."""
        return self.take_scrolled() + _filled(self._rows())

    def draw(self, data: str) -> None:
        """Write text at the cursor."""
        if pyte.modes.IRM in self.mode:
            for letter in data:
                self._draw_letter(letter)
        elif data.isascii():
            self._draw_ascii(data)
        else:
            for run in RUNS.findall(data):
                (self._draw_ascii if run.isascii() else self._draw_letter)(run)

    def _draw_ascii(self, data: str) -> None:
        while data:
            self._wrap_if_full()
            part, data = data[: self.columns - self.cursor.x], data[self.columns - self.cursor.x :]
            start = self.cursor.x
            self._part_wide_letters(start, start + len(part))
            self.buffer[self.cursor.y].update(
                zip(range(start, start + len(part)), map(self._cell, part), strict=True)
            )
            self.cursor.x = start + len(part)

    def index(self) -> None:
        """Down one line; what the main screen, or a region of it, loses at its top is kept."""
        top, bottom = self.margins or (0, self.lines - 1)
        if self.cursor.y != bottom:
            self._down(1)
            return
        rows = self.buffer
        if not self._alternate:
            self._scrolled.append(_text(rows.get(top)))
        for row in range(top, bottom):
            if row + 1 in rows:
                rows[row] = rows[row + 1]
            else:
                rows.pop(row, None)
        rows.pop(bottom, None)

    def cursor_up(self, count: int | None = None) -> None:
        """Up, and not out of the region at its top."""
        top, _ = self.margins or (0, self.lines - 1)
        limit = top if self.cursor.y >= top else 0
        self.cursor.y = max(self.cursor.y - (count or 1), limit)
        self.cursor.x = min(self.cursor.x, self.columns - 1)  # no wrap is pending any more

    def cursor_down(self, count: int | None = None) -> None:
        """Down, and not out of the region at its bottom."""
        self._down(count or 1)
        self.cursor.x = min(self.cursor.x, self.columns - 1)

    def _down(self, count: int) -> None:
        _, bottom = self.margins or (0, self.lines - 1)
        limit = bottom if self.cursor.y <= bottom else self.lines - 1
        self.cursor.y = min(self.cursor.y + count, limit)

    def tab(self) -> None:
        """To the next tab stop; at the end of a row nothing changes."""
        if self.cursor.x < self.columns - 1:
            super().tab()

    def reverse_index(self) -> None:
        """Up one line, or the region down; the column stays, a pending wrap too."""
        column = self.cursor.x
        super().reverse_index()
        self.cursor.x = column

    def region(self, top: int, bottom: int) -> None:
        """Limit scrolling to some rows, counted from 1; 0 stands for the screen's own edge."""
        self.set_margins(top or None, bottom or None)
        self.cursor_position()

    def insert_lines(self, count: int | None = None) -> None:
        """Insert lines; the cursor keeps its column, as in tmux."""
        column = self.cursor.x
        super().insert_lines(count)
        self.cursor.x = column

    def delete_lines(self, count: int | None = None) -> None:
        """Delete lines; the cursor keeps its column, as in tmux."""
        column = self.cursor.x
        super().delete_lines(count)
        self.cursor.x = column

    def save_cursor(self) -> None:
        """Remember the cursor's place; there is one, not a stack of them."""
        self._saved = (self.cursor.x, self.cursor.y)

    def restore_cursor(self) -> None:
        """Back to the place that was remembered."""
        self.cursor.x, self.cursor.y = self._saved

    def scroll_up(self, count: int = 1) -> None:
        """Move the region's lines up."""
        top, bottom = self.margins or (0, self.lines - 1)
        column, row = self.cursor.x, self.cursor.y
        for _ in range(min(max(count, 1), bottom - top + 1)):
            self.cursor.y = bottom
            self.index()
        self.cursor.x, self.cursor.y = column, row

    def scroll_down(self, count: int = 1) -> None:
        """Move the region's lines down."""
        top, bottom = self.margins or (0, self.lines - 1)
        column, row = self.cursor.x, self.cursor.y
        for _ in range(min(max(count, 1), bottom - top + 1)):
            self.cursor.y = top
            self.reverse_index()
        self.cursor.x, self.cursor.y = column, row

    def erase_in_display(self, how: int = 0, *_: Any, **__: Any) -> None:
        """Erase; a main screen that is cleared whole is kept as scrolled, as tmux does it."""
        if how == 3:
            return  # only the scrollback, and a transcript forgets nothing
        whole = how == 2 or (how == 0 and self.cursor.x == 0 and self.cursor.y == 0)
        if whole and not self._alternate:
            self._scrolled += _filled(self._rows())
        if how in (0, 1, 2):
            super().erase_in_display(how)

    def _control(self, sequence: Csi) -> None:
        final, numbers = sequence.final, sequence.numbers()
        if sequence.parameters[:1] in ("<", "=", ">"):
            return
        if final in "hl":
            self._modes(final == "h", numbers, private=sequence.parameters[:1] == "?")
        elif sequence.parameters[:1] == "?":
            return
        elif final in "su":
            (self.save_cursor if final == "s" else self.restore_cursor)()
        elif action := ONE_NUMBER.get(final):
            if final == "K" and numbers[0] > 2:
                return
            getattr(self, action)(numbers[0])
        elif action := TWO_NUMBERS.get(final):
            getattr(self, action)(*[*numbers, 0][:2])

    def _modes(self, wanted: bool, numbers: list[int], *, private: bool) -> None:
        if private and ALTERNATE & set(numbers):
            (self._enter_alternate if wanted else self._leave_alternate)()
        known = [mode for mode in numbers if mode in (KNOWN_PRIVATE if private else KNOWN)]
        if known:
            (self.set_mode if wanted else self.reset_mode)(*known, private=private)

    def _enter_alternate(self) -> None:
        """What stood on the main screen counts as read, so that the text keeps its order."""
        if not self._alternate:
            self._scrolled += _filled(self._rows())
            self._alternate = True
            self.buffer.clear()

    def _leave_alternate(self) -> None:
        """The program's last picture is kept: it is all that is left of it."""
        if self._alternate:
            self._scrolled += _filled(self._rows())
            self._alternate = False
            self.buffer.clear()
            self.margins = None
            self.cursor.x = self.cursor.y = 0

    def _rows(self) -> list[str]:
        return [_text(self.buffer.get(row)) for row in range(self.lines)]

    def _cell(self, letter: str) -> Any:
        cell = self._cells.get(letter)
        if cell is None:
            cell = self._cells[letter] = self.default_char._replace(data=letter)
        return cell

    def _wrap_if_full(self) -> None:
        if self.cursor.x >= self.columns:
            if pyte.modes.DECAWM in self.mode:
                self.carriage_return()
                self.linefeed()
            else:
                self.cursor.x = self.columns - 1

    def _draw_letter(self, letter: str) -> None:
        width = self._widths.get(letter)
        if width is None:
            width = self._widths[letter] = wcwidth(letter)
        if width <= 0:
            self._join(letter)
            return
        if self.cursor.x + width > self.columns:
            self.cursor.x = self.columns
        self._wrap_if_full()
        if pyte.modes.IRM in self.mode:
            self.insert_characters(width)
        self._part_wide_letters(self.cursor.x, self.cursor.x + width)
        row = self.buffer[self.cursor.y]
        row[self.cursor.x] = self._cell(letter)
        if width == 2:
            row[self.cursor.x + 1] = self._cell("")
        self.cursor.x = min(self.cursor.x + width, self.columns)

    def _part_wide_letters(self, start: int, end: int) -> None:
        """Blank the other halves of wide letters that these columns cut."""
        row = self.buffer[self.cursor.y]
        if start and (cell := row.get(start)) is not None and not cell.data:
            row[start - 1] = self.default_char
        if (cell := row.get(end)) is not None and not cell.data:
            row[end] = self.default_char

    def _join(self, mark: str) -> None:
        """Add a combining mark, a joiner or a selector to the letter before the cursor."""
        row = self.buffer[self.cursor.y]
        for column in (self.cursor.x - 1, self.cursor.x - 2):
            if column >= 0 and row[column].data.strip():
                row[column] = row[column]._replace(data=row[column].data + mark)
                return


def _text(row: Any) -> str:
    if not row:
        return ""
    return "".join(row[column].data for column in range(max(row) + 1)).rstrip()


def _filled(lines: list[str]) -> list[str]:
    """Without the empty lines at the end."""
    while lines and not lines[-1]:
        lines.pop()
    return lines
