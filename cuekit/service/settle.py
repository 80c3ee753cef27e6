"""Telling the truth about tasks whose supervisor cannot tell it any more."""

import sqlite3
from collections.abc import Mapping

from cuekit.paths import Home


def reconcile(home: Home, db: sqlite3.Connection, environ: Mapping[str, str]) -> None:
    """Settle every active task whose supervisor has ended without doing so.

    Every command that reads tasks does this first. It asks no tmux server: a supervisor holds a
    lock for as long as it lives.
    """
    from cuekit import files
    from cuekit.launch import plan as plans
    from cuekit.store import tasks

    for task in tasks.active(db):
        if not files.is_locked(f"{home.run(task.task_id)}/{plans.LOCK}"):
            _settle(home, db, task.task_id, environ)


def _settle(home: Home, db: sqlite3.Connection, task_id: str, environ: Mapping[str, str]) -> None:
    from cuekit.errors import CuekitError
    from cuekit.launch.lost import settle_lost
    from cuekit.model.task import tmux_session_name
    from cuekit.store import tasks

    task = tasks.get(db, task_id)  # again: its supervisor may have settled it in between
    if task is None or task.ended or not settle_lost(home, db, task) or task.socket_path is None:
        return
    from cuekit.panes.tmux import Tmux

    try:
        tmux = Tmux(task.socket_path, environ=environ)
        if not task.keep and not tmux.clients(tmux_session_name(task_id)):
            tmux.kill_session(tmux_session_name(task_id))
    except CuekitError:
        return  # no server, so no session either; one that does not answer is doctor's to report
