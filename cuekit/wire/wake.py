"""Hearing of what another process did: the asyncio side of `launch.notify`."""

import asyncio
import contextlib
import os
from collections.abc import Callable

from cuekit.launch import plan as plans


class WakeListener:
    """A FIFO in a run folder; each wake of the task calls back in the event loop."""

    def __init__(self, run_dir: str, callback: Callable[[], None]) -> None:
        self._path = os.path.join(run_dir, plans.WAITERS, os.urandom(8).hex())
        self._callback = callback
        self._descriptor = -1

    def __enter__(self) -> "WakeListener":
        os.mkfifo(self._path, 0o600)
        # Read and write: with a writer of its own the FIFO never reports an end of file.
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        asyncio.get_running_loop().add_reader(self._descriptor, self._woken)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def _woken(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._descriptor, 4096)
        self._callback()
