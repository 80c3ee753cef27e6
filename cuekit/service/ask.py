"""Asking programs for their version and help: side by side, limited, harmless to the user."""

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

MOST_BYTES = 1_000_000


def outputs(
    commands: Sequence[Sequence[str]], environ: Mapping[str, str], limit_s: float
) -> list[str]:
    """What each command prints, all of them run at once; "" for one that fails or is too slow.

    They run without a terminal and without input, in an empty folder, and with the variables
    that would let an agent think it is inside of another agent left out.
    """
    if not commands:
        return []
    with tempfile.TemporaryDirectory(prefix="cuekit-ask-") as folder:
        children = [_start(command, _environment(environ), folder) for command in commands]
        try:
            return _collect(children, time.monotonic() + limit_s)
        finally:
            for child in children:
                if child is not None:
                    _end(child)


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in environ.items()
        if not name.startswith(("TMUX", "CLAUDE_CODE_", "CLAUDECODE"))
    }
    return kept | {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "200", "DISABLE_AUTOUPDATER": "1"}


def _start(
    command: Sequence[str], environ: Mapping[str, str], folder: str
) -> "subprocess.Popen[bytes] | None":
    try:
        return subprocess.Popen(
            list(command),
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError):
        return None


def _collect(children: "Sequence[subprocess.Popen[bytes] | None]", deadline: float) -> list[str]:
    texts = [b""] * len(children)
    with selectors.DefaultSelector() as selector:
        for place, child in enumerate(children):
            if child is not None and child.stdout is not None:
                selector.register(child.stdout, selectors.EVENT_READ, place)
        while selector.get_map() and (left := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                chunk = os.read(key.fd, 65536)
                texts[key.data] += chunk
                if not chunk or len(texts[key.data]) > MOST_BYTES:
                    selector.unregister(key.fileobj)
        unfinished = {key.data for key in selector.get_map().values()}
    return [
        "" if place in unfinished or not _succeeded(child, deadline) else _text(texts[place])
        for place, child in enumerate(children)
    ]


def _succeeded(child: "subprocess.Popen[bytes] | None", deadline: float) -> bool:
    if child is None:
        return False
    try:
        return child.wait(max(0.2, deadline - time.monotonic())) == 0
    except subprocess.TimeoutExpired:
        return False


def _end(child: "subprocess.Popen[bytes]") -> None:
    """End a command that is not over, with its process group."""
    if child.poll() is None:
        with suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    if child.stdout is not None:
        child.stdout.close()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
