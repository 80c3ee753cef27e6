"""The doctor's look at what ended tasks may have left: panes, processes, folders."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from cuekit import files
from cuekit.errors import CuekitError
from cuekit.paths import Home
from cuekit.service.doctor_check import SHOWN, Check, Situation, ok, some, warning
from cuekit.store import tasks as store
from cuekit.store.tasks import Task

SETTLED_S = 10.0
"""A task that ended less than this many seconds ago may still be tidying up."""

ABANDONED_S = 3600.0
"""A run folder without a task is younger while its submit is still at work."""


def panes(db: sqlite3.Connection, situation: Situation, now: float) -> Iterator[Check]:
    """Sessions whose task has ended, and sessions of cuekit that this store knows nothing of."""
    from cuekit.panes.base import TmuxGone, TmuxUnclear
    from cuekit.service.doctor_panes import server_of

    try:
        server = server_of(situation)
        found = [pane for pane in server.panes() if pane.task]
    except TmuxGone:
        yield ok("stale_panes", "no tmux server runs")
        return
    except (TmuxUnclear, CuekitError):
        return  # its own check tells of it
    unknown, stale = [], []
    for pane in found:
        task = store.get(db, pane.task)
        if task is None:
            unknown.append(pane.session)
        elif _long_ended(task, now) and not task.keep and not server.clients(pane.session):
            stale.append(pane.session)

    def close() -> str:
        for session in stale:
            server.kill_session(session)
        return f"closed {some(stale)}"

    if stale:
        said = f"the pane of a task that has ended is still there: {some(stale)}"
        yield Check("stale_panes", "warning", said, "cuekit doctor --fix", close)
    else:
        yield ok("stale_panes", "none")
    if unknown:
        yield warning(
            "unknown_panes",
            f"not in this store, perhaps of another CUEKIT_HOME: {some(unknown)}",
            f"tmux -S {server.socket()} kill-session -t ={unknown[0]}, if nobody needs it",
        )


def strays(db: sqlite3.Connection, home: Home, now: float) -> Iterator[Check]:
    """Processes and sidecars of tasks of this home that have ended, or that it does not know."""
    from cuekit.launch import processes

    if not processes.HAS_PROC:
        yield ok("strays", "cannot be looked for on this system")
        return
    found = {}
    for pid, carrier in _carriers().items():
        task = store.get(db, carrier.task_id)
        ours = carrier.home in (None, home.root)
        if _long_ended(task, now) if task is not None else ours and carrier.home is not None:
            found[pid] = carrier
    if found:
        pairs = [f"{pid}, {carrier.what} of {carrier.task_id}" for pid, carrier in found.items()]
        yield warning(
            "strays",
            f"processes of tasks that have ended: {some(pairs)}",
            f"kill {' '.join(map(str, list(found)[:SHOWN]))}",
        )
    else:
        yield ok("strays", "none")


class _Carrier(NamedTuple):
    """A process with a task's id in its environment."""

    task_id: str
    home: str | None
    what: str


def _carriers() -> dict[int, _Carrier]:
    """The processes of this user that were started for a task."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                pairs = dict(entry.partition(b"=")[::2] for entry in file.read().split(b"\0"))
            task_id = pairs.get(b"CUEKIT_TASK_ID")
            if task_id is None:
                continue
            with open(f"/proc/{name}/cmdline", "rb") as file:
                what = "a sidecar" if b"cuekit.sidecar" in file.read() else "a process"
        except OSError:
            continue
        home = pairs.get(b"CUEKIT_HOME")
        found[int(name)] = _Carrier(
            task_id.decode("utf-8", "replace"), os.fsdecode(home) if home else None, what
        )
    return found


def run_folders(db: sqlite3.Connection, home: Home, now: float) -> Iterator[Check]:
    """Private run folders that no task of the store has."""
    try:
        names = os.listdir(home.runs)
    except FileNotFoundError:
        names = []
    abandoned = [name for name in names if _is_abandoned(db, home, name, now)]

    def remove() -> str:
        for name in abandoned:
            shutil.rmtree(home.run(name))
        return f"removed {some(abandoned)}"

    if abandoned:
        said = f"run folders without a task in {home.runs}: {some(abandoned)}"
        yield Check("run_folders", "warning", said, "cuekit doctor --fix", remove)
    else:
        yield ok("run_folders", f"{len(names)}, each with its task")


def _is_abandoned(db: sqlite3.Connection, home: Home, name: str, now: float) -> bool:
    folder = home.run(name)
    try:
        age = now - os.stat(folder).st_mtime
    except FileNotFoundError:
        return False
    held = files.is_locked(os.path.join(folder, "lock"))
    return store.get(db, name) is None and age > ABANDONED_S and not held


def _long_ended(task: Task, now: float) -> bool:
    return task.ended and now - (task.completed_at or now) > SETTLED_S
