"""Processes found by a mark in their environment, however far they detached themselves."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from tests.support.wait import wait_until


def marked(mark: str) -> dict[int, str]:
    """Living processes whose environment has the entry `mark` (NAME=VALUE): id and command.

    Linux only (reads /proc); empty elsewhere. Zombies have no environment and do not count.
    """
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").strip()
                found[int(entry.name)] = command.decode(errors="backslashreplace")
        except OSError:
            continue  # gone meanwhile, or another user's
    return found


def signal_marked(mark: str, number: signal.Signals) -> None:
    """Send a signal to each of those processes; one that is gone meanwhile is left out."""
    for pid in marked(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def end_marked(mark: str, seconds: float = 5.0) -> None:
    """Kill those processes, and those that they start meanwhile, until none is left."""

    def none_left() -> bool:
        signal_marked(mark, signal.SIGKILL)
        return not marked(mark)

    wait_until(none_left, seconds, lambda: f"still there: {marked(mark)}")
