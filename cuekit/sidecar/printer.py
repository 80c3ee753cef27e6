"""Lines above the input line: printed in order, and known to be on the screen.

prompt_toolkit's own proxy of standard output prints up to 0.2 s later, from a thread, and does
not say when. The keys of an approval would be shown, and count, before its text.
"""

import asyncio
import sys
from collections.abc import Callable
from typing import Any

PAUSE_SECONDS = 0.05  # between two prints; what comes meanwhile is printed together


class Printer:
    """Prints at once while nothing stands below; above the input line while `run` runs."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, Callable[[], None] | None]] = []
        self._more = asyncio.Event()
        self._output: Any = None

    def add(self, text: str, then: Callable[[], None] | None = None) -> None:
        """Print `text`; `then` is called when it is on the screen."""
        self._waiting.append((text, then))
        if self._output is None:
            self._write(sys.stdout.write, sys.stdout.flush)
        else:
            self._more.set()

    async def run(self, output: Any) -> None:
        """Print to this output of prompt_toolkit's until cancelled; what is left, at the end."""
        from prompt_toolkit.application import run_in_terminal

        self._output = output
        try:
            while True:
                await self._more.wait()
                self._more.clear()
                await run_in_terminal(self._above)
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            self._output = None
            self._write(sys.stdout.write, sys.stdout.flush)

    def _above(self) -> None:
        self._output.enable_autowrap()
        self._write(self._output.write_raw, self._output.flush)

    def _write(self, write: Callable[[str], Any], flush: Callable[[], Any]) -> None:
        parts, self._waiting = self._waiting, []
        if not parts:
            return
        write("".join(text for text, _ in parts))
        flush()
        for _, then in parts:
            if then is not None:
                then()
