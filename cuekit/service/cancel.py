"""Ending tasks on request: cancel at any time, finish when the agent is idle."""

import contextlib
import os
import signal
import sqlite3
import time
from collections.abc import Mapping, Sequence

from cuekit import files
from cuekit.errors import CuekitError, InvalidState
from cuekit.launch import hooks, notify, processes
from cuekit.launch import plan as plans
from cuekit.model.activity import Activity
from cuekit.model.lifecycle import Status
from cuekit.model.task import tmux_session_name
from cuekit.paths import Home
from cuekit.service import lookup, settle
from cuekit.service.views import Json, status_view
from cuekit.store import tasks
from cuekit.store.tasks import Task

END_SECONDS = 20.0  # TERM, KILL and the settling, each with its own limit, and some to spare
CLOSE_SECONDS = 3.0


def cancel(refs: Sequence[str], environ: Mapping[str, str]) -> list[Json]:
    """Cancel tasks and return their status views; a task that has ended stays as it is.

    On return no process of theirs is left, and their panes are closed. Raises NotFound and
    InvalidInput as `lookup.resolve` does, CuekitError (`not_ended`) when something would not end.
    """
    with lookup.settled_store(environ) as (home, db):
        found = lookup.resolve_all(db, refs)
        for task in found:
            if not task.ended:
                _request(home, task, plans.CANCEL)
        ended = [_ended(home, db, task, environ) for task in found]
        return [status_view(task, environ) for task in ended]


def finish(ref: str, environ: Mapping[str, str]) -> Json:
    """End an idle agent; its task is completed. The status view.

    Raises InvalidState (`not_idle`, `task_ended`) when the agent is at work or the task is over.
    """
    with lookup.settled_store(environ) as (home, db):
        task = lookup.resolve_one(db, ref)
        if task.ended:
            raise InvalidState(
                f"the task {task.task_id} has ended: {task.status}",
                code="task_ended",
                hint=f"cuekit task result {task.task_id}",
            )
        if task.activity != Activity.IDLE:
            raise InvalidState(
                f"the agent of {task.task_id} is not known to be idle: {task.activity}",
                code="not_idle",
                hint=f"cuekit task wait {task.task_id} --until idle, or cuekit task cancel",
            )
        _request(home, task, plans.FINISH)
        return status_view(_ended(home, db, task, environ), environ)


def _request(home: Home, task: Task, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):  # no run folder: no supervisor either
        files.replace_file(os.path.join(home.run(task.task_id), name), b"")
    if task.supervisor and processes.alive(task.supervisor):
        with contextlib.suppress(ProcessLookupError):
            os.kill(task.supervisor["pid"], signal.SIGUSR1)


def _ended(home: Home, db: sqlite3.Connection, task: Task, environ: Mapping[str, str]) -> Task:
    """Wait until the task is over and nothing of it runs; help where nobody else does."""
    run_dir = home.run(task.task_id)
    deadline = time.monotonic() + END_SECONDS
    with notify.Waiter([run_dir]) as waiter:
        while not task.ended and time.monotonic() < deadline:
            if task.status is Status.QUEUED and not processes.alive(task.submitter):
                if tasks.move(db, task.task_id, Status.CANCELLED, only_from=[Status.QUEUED]):
                    hooks.at_end(plans.read(run_dir), tasks.get(db, task.task_id))
                plans.forget_environment(run_dir)
            waiter.wait(0.25)
            settle.reconcile(home, db, environ)
            task = tasks.get(db, task.task_id) or task
    if not task.ended:
        raise CuekitError(
            f"the task {task.task_id} has not ended {END_SECONDS:g} s after it was asked to",
            code="not_ended",
            hint="cuekit doctor",
            retryable=True,
        )
    _close(home, task, environ)
    return task


def _close(home: Home, task: Task, environ: Mapping[str, str]) -> None:
    """See to it that the pane is gone, and that no process of the task is left."""
    deadline = time.monotonic() + CLOSE_SECONDS
    lock = os.path.join(home.run(task.task_id), plans.LOCK)
    while files.is_locked(lock) and time.monotonic() < deadline:
        time.sleep(0.01)  # the supervisor is closing its session
    left = processes.end_tree(lambda: processes.members(task.task_id, ()))
    if left:
        raise CuekitError(
            f"processes of {task.task_id} would not end: {sorted(left)}",
            code="not_ended",
            hint="end them by hand",
            details={"processes": sorted(left)},
        )
    if task.socket_path is None or task.keep:
        return
    from cuekit.panes.base import TmuxGone
    from cuekit.panes.tmux import Tmux

    with contextlib.suppress(TmuxGone):
        # Whoever looks at it is sent off: to cancel is to want it gone.
        Tmux(task.socket_path, environ=environ).kill_session(tmux_session_name(task.task_id))
