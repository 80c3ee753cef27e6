"""Telling the truth about tasks whose supervisor cannot tell it any more."""

import sqlite3
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cuekit.paths import Home

if TYPE_CHECKING:
    from cuekit.store.tasks import Task

SETTLING_SECONDS = 10.0  # TERM, KILL and the store, by another process
COMING_SECONDS = 10.0  # from the making of a pane to the supervisor's lock, on a loaded machine


def reconcile(home: Home, db: sqlite3.Connection, environ: Mapping[str, str]) -> None:
    """Settle every active task whose supervisor has ended without doing so.

    Every command that reads tasks does this first. It asks no tmux server: a supervisor holds a
    lock for as long as it lives.
    """
    from cuekit import files
    from cuekit.launch import plan as plans
    from cuekit.store import tasks

    for task in tasks.active(db):
        lock = f"{home.run(task.task_id)}/{plans.LOCK}"
        if not files.is_locked(lock) or not _is_held_by_its_supervisor(task, lock):
            _settle(home, db, task.task_id, environ)


def _is_held_by_its_supervisor(task: "Task", lock: str) -> bool:
    """Whether the holder of the lock is the supervisor; else it is settling, and is waited for."""
    from cuekit.launch import processes

    if task.supervisor is None or processes.alive(task.supervisor):
        return True
    _await_unlocked(lock)
    return False


def _await_unlocked(lock: str) -> None:
    import time

    from cuekit import files

    deadline = time.monotonic() + SETTLING_SECONDS
    while files.is_locked(lock) and time.monotonic() < deadline:
        time.sleep(0.01)


def _settle(home: Home, db: sqlite3.Connection, task_id: str, environ: Mapping[str, str]) -> None:
    from cuekit.errors import CuekitError
    from cuekit.launch import plan as plans
    from cuekit.launch.lost import settle_lost
    from cuekit.model.task import tmux_session_name
    from cuekit.store import tasks

    task = tasks.get(db, task_id)  # again: its supervisor may have settled it in between
    if task is None or task.ended or task.socket_path is None:
        return
    if task.status == "queued" and _is_coming(task, environ):
        return
    if not settle_lost(home, db, task):
        _await_unlocked(f"{home.run(task_id)}/{plans.LOCK}")  # another process is settling it
        again = tasks.get(db, task_id)
        if again is None or again.ended or not settle_lost(home, db, again):
            return
    from cuekit.panes.tmux import Tmux

    try:
        tmux = Tmux(task.socket_path, environ=environ)
        if not task.keep and not tmux.clients(tmux_session_name(task_id)):
            tmux.kill_session(tmux_session_name(task_id))
    except CuekitError:
        return  # no server, so no session either; one that does not answer is doctor's to report


def _is_coming(task: "Task", environ: Mapping[str, str]) -> bool:
    """Whether the pane of a queued task was made, so that its supervisor is on its way."""
    import time

    from cuekit.errors import CuekitError
    from cuekit.model.task import tmux_session_name
    from cuekit.panes.tmux import Tmux

    if time.time() - task.created_at > COMING_SECONDS:
        return False
    try:
        pane = Tmux(str(task.socket_path), environ=environ).pane(tmux_session_name(task.task_id))
    except CuekitError:
        return False
    return pane is not None and not pane.dead
