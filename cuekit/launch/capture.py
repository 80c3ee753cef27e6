"""One tmux call of the supervisor's, with a time limit and without the weight of subprocess."""

import contextlib
import os
import select
import signal
import time
from collections.abc import Sequence

LIMIT_SECONDS = 5.0


def output_of(argv: Sequence[str], limit: float = LIMIT_SECONDS) -> str | None:
    """What a command prints, or None when it fails or takes too long."""
    reader, writer = os.pipe()
    try:
        pid = os.posix_spawn(
            argv[0],
            list(argv),
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, writer, 1),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
        )
    except OSError:
        os.close(reader)
        os.close(writer)
        return None
    os.close(writer)
    with open(reader, "rb", buffering=0) as file:
        data = _read_until(file.fileno(), time.monotonic() + limit)
    if data is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    status = _reap(pid)
    return data.decode("utf-8", "replace") if data is not None and status == 0 else None


def _read_until(descriptor: int, deadline: float) -> bytes | None:
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return None
        part = os.read(descriptor, 65536)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _reap(pid: int) -> int | None:
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return None
