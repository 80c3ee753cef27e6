"""Waking those who wait for a task, without a daemon: each waiter owns a FIFO in the run folder."""

import contextlib
import os
import select
import stat
import time
from collections.abc import Iterable
from types import TracebackType

STALE_SECONDS = 10.0


def wake(run_dir: str) -> None:
    """Wake every waiter of a task. Never blocks; a FIFO that nobody reads is removed in time."""
    folder = os.path.join(run_dir, "waiters")
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder):
            _poke(os.path.join(folder, name))


def _poke(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        _remove_stale(path)
        return
    try:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            with contextlib.suppress(OSError):  # full: the waiter is woken already
                os.write(descriptor, b"!")
    finally:
        os.close(descriptor)


def _remove_stale(path: str) -> None:
    with contextlib.suppress(OSError):
        # A young FIFO may belong to a waiter that is about to open it.
        if time.time() - os.lstat(path).st_mtime > STALE_SECONDS:
            os.unlink(path)


class Waiter:
    """Waits until one of some tasks changes; use as a context manager.

    Make it before looking at the tasks, so that no change falls in between.
    """

    def __init__(self, run_dirs: Iterable[str]) -> None:
        self._run_dirs = list(run_dirs)
        self._fifos: list[tuple[str, int]] = []
        self._poll = select.poll()

    def __enter__(self) -> "Waiter":
        for run_dir in self._run_dirs:
            with contextlib.suppress(OSError):  # run folder gone: the caller's look tells
                self._add(os.path.join(run_dir, "waiters"))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for path, descriptor in self._fifos:
            os.close(descriptor)
            with contextlib.suppress(OSError):
                os.unlink(path)
        self._fifos = []

    def _add(self, folder: str) -> None:
        path = os.path.join(folder, os.urandom(8).hex())
        os.mkfifo(path, 0o600)
        # Read and write: with a writer of its own the FIFO never reports an end of file.
        descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._fifos.append((path, descriptor))
        self._poll.register(descriptor, select.POLLIN)

    @property
    def descriptors(self) -> list[int]:
        """What to select on, beside other things; `clear` afterwards."""
        return [descriptor for _, descriptor in self._fifos]

    def clear(self) -> bool:
        """Take what has come; whether anything had."""
        return self.wait(0.0)

    def wait(self, seconds: float) -> bool:
        """Wait for a change, at most so many seconds; whether there was one."""
        ready = self._poll.poll(max(0.0, seconds) * 1000)
        for descriptor, _ in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(descriptor, 4096)
        return bool(ready)
