"""Everything that the command line prints: text, tables, JSON and errors."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from cuekit.errors import CuekitError

GAP = "  "
COLOURS = {
    "completed": "32",
    "running": "36",
    "queued": "36",
    "input_required": "33",
    "failed": "31",
    "timed_out": "31",
    "blocked": "33",
    "cancelled": "35",
}
NARROWEST = 8


def emit(value: Any, fmt: str, as_text: Callable[[Any], str]) -> None:
    """Print a result on standard output: as one line of JSON, or as text for people."""
    say(as_json(value) if fmt == "json" else as_text(value))


def as_json(value: Any) -> str:
    """One line of JSON, in ASCII so that every locale and every path can be written."""
    import json

    return json.dumps(value)


def say(text: str) -> None:
    """Print a result on standard output."""
    _write(sys.stdout, text)


def tell(text: str) -> None:
    """Print words about a result, not the result itself, on standard error."""
    _write(sys.stderr, text)


def show_error(error: CuekitError, fmt: str) -> None:
    """Print a failure on standard error."""
    if fmt == "json":
        tell(as_json({"error": error.as_json()}))
        return
    hint = f"\n  try: {visible(error.hint)}" if error.hint else ""
    tell(f"cuekit: {visible(error.message)}{hint}")


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    stream.flush()


def visible(text: str) -> str:
    """Text with everything that could act on a terminal made visible, line ends kept.

    Control characters (C0, C1, DEL), direction marks and zero-width characters become escapes.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(letter if _harmless(letter) else _escape(letter) for letter in text)


def _harmless(letter: str) -> bool:
    if letter.isprintable() or letter in "\n\t":
        return True
    # A zero-width joiner or a variation selector belongs to an emoji; the rest of what is not
    # printable and not a space can hide or reorder text.
    return letter in "\u200d\u00a0\u3000"


def _escape(letter: str) -> str:
    code = ord(letter)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: str) -> str:
    """Text of others for one line of a table: visible, each run of white space one blank."""
    return visible(" ".join(text.split()))


def width_of(text: str) -> int:
    """Columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_letter_width(letter) for letter in text)


def _letter_width(letter: str) -> int:
    import unicodedata

    if unicodedata.combining(letter) or letter in "\u200d\ufe0e\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def cut(text: str, width: int) -> str:
    """A text that takes at most so many columns, with an ellipsis where it was cut."""
    if width_of(text) <= width:
        return text
    kept, used = [], 0
    for letter in text:
        used += width_of(letter)
        if used > width - 1:
            break
        kept.append(letter)
    return "".join(kept) + "…"


def screen_width(stream: TextIO | None = None) -> int | None:
    """Columns of the terminal that the stream is, or None when it is none."""
    stream = stream or sys.stdout
    try:
        if not stream.isatty():
            return None
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return None


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Rows under headers; the last columns give way to a given width."""
    widths = [
        max(width_of(header), *(width_of(row[column]) for row in rows)) if rows else len(header)
        for column, header in enumerate(headers)
    ]
    if width is not None:
        widths = _fitted(widths, width)
    lines = [_row(headers, widths), *(_row(row, widths) for row in rows)]
    if width is not None:
        lines = [cut(line, width) for line in lines]
    status = next((place for place, header in enumerate(headers) if header == "STATUS"), None)
    if status is not None and colours_wanted():
        lines[1:] = [
            line.replace(row[status], coloured(row[status]), 1)
            for line, row in zip(lines[1:], rows, strict=True)
        ]
    return "\n".join(lines)


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    shown = [cut(cell, width) for cell, width in zip(cells, widths, strict=True)]
    padded = [
        cell + " " * (width - width_of(cell)) for cell, width in zip(shown, widths, strict=True)
    ]
    return GAP.join(padded).rstrip()


def _fitted(widths: list[int], width: int) -> list[int]:
    """Narrower columns, from the last one to the second: an id is of use only whole."""
    widths = list(widths)
    over = sum(widths) + len(GAP) * (len(widths) - 1) - width
    for column in range(len(widths) - 1, 0, -1):
        given = max(0, min(over, widths[column] - NARROWEST))
        widths[column] -= given
        over -= given
    return widths


def colours_wanted(stream: TextIO | None = None) -> bool:
    """Whether to colour: only on a terminal, and never with NO_COLOR."""
    stream = stream or sys.stdout
    environ = os.environ
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb" and stream.isatty()


def coloured(status: str, stream: TextIO | None = None) -> str:
    """A status in its colour, where colour is wanted."""
    code = COLOURS.get(status)
    return f"\x1b[{code}m{status}\x1b[0m" if code and colours_wanted(stream) else status
