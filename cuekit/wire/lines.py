"""Bytes to lines, of any length and however they are cut; and lines to JSON, leniently."""

import json
from typing import Any

MOST_LINE_BYTES = 256 * 1024 * 1024  # one line; a longer one is given up, so memory is bounded


class LineFramer:
    """Whole lines from chunks. What stands behind the last line break waits for the rest."""

    def __init__(self, most_bytes: int = MOST_LINE_BYTES) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._most_bytes = most_bytes
        self._skipping = False
        self.dropped = 0  # lines that were longer than the limit

    def push(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, without their line breaks."""
        if b"\n" not in chunk:
            self._keep(chunk)
            return []
        first, *rest = chunk.split(b"\n")
        self._keep(first)
        lines = [] if self._skipping else [b"".join(self._parts)]
        self._parts, self._size, self._skipping = [], 0, False
        self._keep(rest.pop())
        lines += rest
        return [line.removesuffix(b"\r") for line in lines]

    def rest(self) -> bytes:
        """What is left at the end of the stream: a line that was never ended."""
        rest = b"".join(self._parts)
        self._parts, self._size = [], 0
        return rest

    def _keep(self, part: bytes) -> None:
        if self._skipping or not part:
            return
        self._size += len(part)
        if self._size > self._most_bytes:
            self._parts, self._skipping = [], True
            self.dropped += 1
            return
        self._parts.append(part)


def parse(line: bytes) -> Any:
    """The JSON value of a line; broken UTF-8 becomes U+FFFD. Raises ValueError for no JSON."""
    try:
        return json.loads(line)
    except UnicodeDecodeError:
        return json.loads(line.decode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def encode(message: Any) -> bytes:
    """A JSON value as one line, with its line break; lone surrogates are replaced."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"
