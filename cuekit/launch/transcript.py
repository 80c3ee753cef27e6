"""The transcript's end: knowing that the last byte of the child has been written.

When the child is over the supervisor writes a mark to the terminal, an escape sequence that shows
nothing. It comes through the pane behind everything that the child wrote; the writer takes it out
and says that the transcript is whole.
"""

import contextlib
import os
import select
import termios
import time

from cuekit.launch import plan as plans
from cuekit.launch.plan import LaunchPlan

FILE_NAME = "transcript.txt"
READ_SECONDS = 3.0
MARK_SECONDS = 2.0  # how long a terminal that is full is waited for


def mark(plan: LaunchPlan) -> bytes:
    """The mark: an application program command, which terminals pass over."""
    return f"\x1b_cuekit-end-{plan.end_mark}\x1b\\".encode("ascii")


def send_mark(plan: LaunchPlan) -> None:
    """Write the mark to this process's terminal, waiting briefly; nothing without a terminal."""
    with contextlib.suppress(OSError, termios.error):
        termios.tcflow(0, termios.TCOON)  # output that Ctrl-S had stopped goes on
        descriptor = os.open(os.ttyname(0), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            _write_patiently(descriptor, mark(plan))
        finally:
            os.close(descriptor)


def _write_patiently(descriptor: int, data: bytes) -> None:
    """Write all of it while the terminal still takes the last output of the child."""
    deadline = time.monotonic() + MARK_SECONDS
    while data and (left := deadline - time.monotonic()) > 0:
        with contextlib.suppress(BlockingIOError):
            data = data[os.write(descriptor, data) :]
        if data:
            select.select([], [descriptor], [], left)


def say_written(run_dir: str) -> None:
    """Say that the transcript is whole."""
    with contextlib.suppress(OSError):
        os.close(os.open(os.path.join(run_dir, plans.WRITTEN), os.O_WRONLY | os.O_CREAT, 0o600))


def is_written(run_dir: str) -> bool:
    """Whether the transcript of an ended child is whole."""
    return os.path.exists(os.path.join(run_dir, plans.WRITTEN))


def wait_written(run_dir: str, seconds: float = READ_SECONDS) -> bool:
    """Wait until the transcript of an ended child is whole, at most so many seconds.

    At once True when the run folder is gone, since then there is nobody left to write.
    """
    deadline = time.monotonic() + seconds
    while not is_written(run_dir) and os.path.isdir(run_dir):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.005)
    return True
