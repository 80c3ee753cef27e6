"""`task transcript`: what a task's pane showed, as bytes or as readable text."""

import os
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from cuekit import files
from cuekit.errors import InvalidState, NotFound
from cuekit.launch import transcript as written
from cuekit.launch.notify import Waiter
from cuekit.model.task import tmux_session_name
from cuekit.paths import Home
from cuekit.service import lookup, settle
from cuekit.service.terminal import Readable
from cuekit.service.views import transcript_path
from cuekit.store import tasks
from cuekit.store.tasks import Task

WRITER_S = 2.0
WRITER_FRESH_S = 10.0
"""For how long after a task's end its writer may still be at work; later it is dead or done."""
CHUNK = 262144
EMULATED_BYTES = 8 * 1024 * 1024
"""How much of what moves the cursor is rendered, from the end: a second for each megabyte."""
FOLLOW_S = 0.25
RECHECK_S = 1.0


def raw(ref: str, environ: Mapping[str, str], *, follow: bool = False) -> Iterator[bytes]:
    """The bytes of the pane as they came; with `follow` until the task has ended.

    Raises NotFound (`no_transcript`) when nothing was written.
    """
    with lookup.settled_store(environ) as (home, db):
        task = lookup.resolve_one(db, ref)
        if task.ended:
            wait_for_writer(home, task)
        with _opened(task) as file:
            if not follow:
                yield from iter(lambda: file.read(CHUNK), b"")
                return
            with Waiter([home.run(task.task_id)]) as waiter:
                checked = 0.0
                while True:
                    over = task.ended
                    while data := file.read(CHUNK):
                        yield data
                    if over:
                        return
                    waiter.wait(FOLLOW_S)
                    if time.monotonic() - checked >= RECHECK_S:
                        settle.reconcile(home, db, environ)
                        checked = time.monotonic()
                    task = tasks.get(db, task.task_id) or task
                    if task.ended:
                        wait_for_writer(home, task)


def readable(
    ref: str, environ: Mapping[str, str], *, follow: bool = False, tail: int | None = None
) -> Iterator[str]:
    """The lines that a person would have read. `tail`: only the last so many of them.

    Raises NotFound (`no_transcript`).
    """
    if follow:
        yield from _followed(ref, environ)
        return
    with lookup.settled_store(environ) as (home, db):
        task = lookup.resolve_one(db, ref)
    if task.ended:
        wait_for_writer(home, task)
    with _opened(task) as file:
        lines = _lines(file)
        yield from lines if tail is None else deque(lines, maxlen=tail)


def readable_tail(task: Task, lines: int) -> str | None:
    """The last lines of a task's readable transcript, or None when there is none."""
    try:
        with _opened(task) as file:
            last = deque(_lines(file), maxlen=lines)
    except NotFound:
        return None
    return "\n".join(last) or None


def screen(ref: str, environ: Mapping[str, str]) -> str:
    """What attaching would show at this moment. Raises InvalidState (`pane_gone`)."""
    with lookup.settled_store(environ) as (_, db):
        task = lookup.resolve_one(db, ref)
    if task.socket_path is None:
        raise _no_pane(task)
    from cuekit.panes.base import TmuxGone
    from cuekit.panes.tmux import Tmux

    tmux = Tmux(task.socket_path, environ=environ)
    try:
        pane = tmux.pane(tmux_session_name(task.task_id))
    except TmuxGone:
        pane = None
    if pane is None:
        raise _no_pane(task)
    return tmux.capture(pane.pane_id).rstrip("\n")


def wait_for_writer(home: Home, task: Task) -> None:
    """Give the process that writes an ended task's transcript up to two seconds to finish."""
    if time.time() - (task.completed_at or 0.0) < WRITER_FRESH_S:
        written.wait_written(home.run(task.task_id), WRITER_S)


def _followed(ref: str, environ: Mapping[str, str]) -> Iterator[str]:
    reader = Readable(live=True)
    for data in raw(ref, environ, follow=True):
        yield from reader.feed(data)
    yield from reader.finish()


def _lines(file: BinaryIO) -> Iterator[str]:
    reader = Readable()
    size = os.fstat(file.fileno()).st_size
    while data := file.read(CHUNK):
        yield from reader.feed(data)
        left = size - file.tell()
        if reader.emulates and left > EMULATED_BYTES:
            yield from reader.finish()
            yield f"[cuekit: {left - EMULATED_BYTES} bytes are left out here; --raw has them]"
            file.seek(size - EMULATED_BYTES)
            reader = Readable(moving=True)
    yield from reader.finish()


def _opened(task: Task) -> BinaryIO:
    path = transcript_path(task)
    try:
        return files.open_regular(path)
    except OSError as error:
        raise NotFound(
            f"the task {task.task_id} has no transcript at {path}: "
            f"{(error.strerror or 'cannot be read').lower()}",
            code="no_transcript",
        ) from None


def _no_pane(task: Task) -> InvalidState:
    return InvalidState(
        f"the pane of {task.task_id} is gone",
        code="pane_gone",
        hint=f"cuekit task transcript {task.task_id}",
    )
