"""The doctor's look at what ended tasks may have left: panes, processes, folders."""

import os
import shutil
import sqlite3
from collections.abc import Iterator

from cuekit import files
from cuekit.errors import CuekitError
from cuekit.paths import Home
from cuekit.service.doctor_check import Check, Situation, ok, warning
from cuekit.store import tasks as store
from cuekit.store.tasks import Task

SETTLED_S = 10.0
"""A task that ended less than this many seconds ago may still be tidying up."""

ABANDONED_S = 3600.0
"""A run folder without a task is younger while its submit is still at work."""

SHOWN = 5


def active_tasks(db: sqlite3.Connection) -> Check:
    """How many tasks have not ended; every one was just compared with the evidence."""
    active = store.active(db)
    if not active:
        return ok("tasks", "none is active")
    return ok("tasks", f"{len(active)} active: {_some([task.task_id for task in active])}")


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
        return f"closed {_some(stale)}"

    if stale:
        said = f"the pane of a task that has ended is still there: {_some(stale)}"
        yield Check("stale_panes", "warning", said, "cuekit doctor --fix", close)
    else:
        yield ok("stale_panes", "none")
    if unknown:
        yield warning(
            "unknown_panes",
            f"not in this store, perhaps of another CUEKIT_HOME: {_some(unknown)}",
            f"tmux -S {server.socket()} kill-session -t ={unknown[0]}, if nobody needs it",
        )


def strays(db: sqlite3.Connection, now: float) -> Iterator[Check]:
    """Processes that carry the id of a task that has ended."""
    from cuekit.launch import processes

    if not processes.HAS_PROC:
        yield ok("strays", "cannot be looked for on this system")
        return
    found = {}
    for pid, task_id in _carriers().items():
        task = store.get(db, task_id)
        if task is not None and _long_ended(task, now):
            found[pid] = task_id
    if found:
        pairs = [f"{pid} of {task_id}" for pid, task_id in found.items()]
        yield warning(
            "strays",
            f"processes of tasks that have ended: {_some(pairs)}",
            f"kill {' '.join(map(str, list(found)[:SHOWN]))}, if nobody needs them",
        )
    else:
        yield ok("strays", "none")


def _carriers() -> dict[int, str]:
    """The processes of this user with a task's id in their environment."""
    mark = b"CUEKIT_TASK_ID="
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                entries = file.read().split(b"\0")
        except OSError:
            continue
        for entry in entries:
            if entry.startswith(mark):
                found[int(name)] = entry.removeprefix(mark).decode("utf-8", "replace")
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
        return f"removed {_some(abandoned)}"

    if abandoned:
        said = f"run folders without a task in {home.runs}: {_some(abandoned)}"
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


def _some(names: list[str]) -> str:
    rest = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
