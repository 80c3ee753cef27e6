"""An agent's own words at the end of a transcript, for error texts."""

import os
import re

from cuekit import files

ESCAPES = re.compile(
    rb"\x1b\][^\x07\x1b]*(\x07|\x1b\\)?|\x1b[PX^_].*?\x1b\\"
    rb"|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]",
    re.DOTALL,
)
TAIL_BYTES = 16384
END_BYTES = 256 * 1024
WORDS = 600  # characters


def last_words(transcript: str) -> str | None:
    """The last lines of a transcript as one line of plain text, or None when it says nothing."""
    try:
        with files.open_regular(transcript) as file:  # it lies where the child may write
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - TAIL_BYTES))
            return plain_tail(file.read())
    except OSError:
        return None


def output_end(transcript: str) -> str:
    """The end of a transcript as plain text; empty when it cannot be read."""
    try:
        with files.open_regular(transcript) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - END_BYTES))
            return ESCAPES.sub(b"", file.read()).decode("utf-8", "replace").replace("\r", "")
    except OSError:
        return ""


def plain_tail(data: bytes) -> str | None:
    """The last few lines in plain text, joined by ` | `."""
    text = ESCAPES.sub(b"", data).decode("utf-8", "replace")
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        shown = "".join(c for c in line.rsplit("\r", 1)[-1] if c.isprintable()).strip()
        if shown and (not lines or lines[-1] != shown):
            lines.append(shown)
    words = " | ".join(lines[-4:])
    return words[-WORDS:] or None
