"""Waiting with an end: for a condition, and for an agent that only tries again and again."""

import asyncio
import contextlib
from collections.abc import Callable


class StallClock:
    """Runs from the first "I try again" until the agent gets on with its work."""

    def __init__(self, seconds: float, on_stall: Callable[[str], None]) -> None:
        self._seconds = seconds
        self._on_stall = on_stall
        self._timer: asyncio.TimerHandle | None = None
        self._words = ""

    def retrying(self, words: str) -> None:
        """The agent says that it tries again; its newest words are kept."""
        self._words = words
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._seconds, self._ring)

    def stop(self) -> None:
        """It gets on, or the turn is over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        self._timer = None
        said = f"kept trying for {self._seconds:g} s without getting on: {self._words}"
        self._on_stall(said)


class Changes:
    """Told of each change of a state; lets others wait until the state is as they want it."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def tell(self) -> None:
        """Something has changed."""
        self._event.set()

    async def until(
        self, done: Callable[[], bool], seconds: float, *, poll: float | None = None
    ) -> bool:
        """Whether it came true in time; with `poll`, looked at every so many seconds too."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not done():
            left = deadline - loop.time()
            if left <= 0:
                return False
            self._event.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, poll or left)):
                    await self._event.wait()
        return True
