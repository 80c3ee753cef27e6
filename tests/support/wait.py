"""Waiting for a condition with a deadline, in place of sleeping for a guessed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(
    condition: Callable[[], T],
    seconds: float = 10.0,
    what: str | Callable[[], object] = "",
    interval: float = 0.02,
) -> T:
    """Call `condition` until it gives a true value, and return that value.

    `what` describes the awaited state in the failure message; a callable is evaluated at the
    time of failure (to show a screen, say). Raises AssertionError after `seconds`.
    """
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            shown = what() if callable(what) else what
            raise AssertionError(f"not within {seconds:g} s: {shown or condition}")
        time.sleep(interval)
