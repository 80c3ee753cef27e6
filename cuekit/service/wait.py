"""`task wait`: until tasks are in a state that somebody waits for, without a busy loop."""

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from cuekit.errors import NotFound
from cuekit.launch.notify import Waiter
from cuekit.model.activity import Activity
from cuekit.model.lifecycle import Status
from cuekit.model.task import Mode
from cuekit.service import lookup, pending, settle
from cuekit.service.views import Json, Panes, status_view
from cuekit.store import tasks
from cuekit.store.tasks import Task

RECHECK_S = 1.0
"""How long a change that nobody told of (a supervisor killed, say) can stay unseen."""


class Until(StrEnum):
    """What is waited for."""

    ANY = "any"
    TERMINAL = "terminal"
    IDLE = "idle"
    APPROVAL = "approval"


class Waited(NamedTuple):
    """The views of the tasks at the end of the wait, and how it ended."""

    views: list[Json]
    timed_out: bool
    all_completed: bool  # of those that have ended


def wait(
    refs: Sequence[str],
    environ: Mapping[str, str],
    *,
    until: Until = Until.ANY,
    after: int | None = None,
    timeout_s: float | None = None,
    first: bool = False,
    progress: Callable[[Sequence[Task], float], None] | None = None,
) -> Waited:
    """Wait until each task (with `first`: one of them) is as `until` says, or has ended.

    `after` is a turn: an idle agent counts only once a later turn is over. With `first` only
    the tasks that are so are given back; after a time-out, always all of them. `progress` is
    called about once a second with the tasks and the seconds waited.
    Raises NotFound when a task is deleted meanwhile.
    """
    started = time.monotonic()
    with lookup.settled_store(environ) as (home, db):
        ids = [task.task_id for task in lookup.resolve_all(db, refs)]
        with Waiter([home.run(task_id) for task_id in ids]) as waiter:
            while True:
                settle.reconcile(home, db, environ)
                pending.settle(home, db)
                found = [_task(db, task_id) for task_id in ids]
                so = [task for task in found if satisfies(task, until, after)]
                if len(so) == len(found) or (first and so):
                    return _waited(db, so if first else found, environ, timed_out=False)
                waited = time.monotonic() - started
                left = RECHECK_S if timeout_s is None else timeout_s - waited
                if left <= 0:
                    return _waited(db, found, environ, timed_out=True)
                if progress is not None:
                    progress(found, waited)
                waiter.wait(min(RECHECK_S, left))


def satisfies(task: Task, until: Until, after: int | None) -> bool:
    """Whether a task is as waited for. One that has ended always is: no more will come."""
    if task.ended:
        return True
    idle = task.activity == Activity.IDLE and task.turn > (after or 0)
    if task.mode == Mode.BATCH:
        idle = False  # it ends by itself when its one turn is over
    needs_somebody = task.status is Status.INPUT_REQUIRED or task.activity in (
        Activity.WAITING_APPROVAL,
        Activity.WAITING_INPUT,
    )
    match until:
        case Until.ANY:
            return idle or needs_somebody
        case Until.IDLE:
            return idle
        case Until.APPROVAL:
            return needs_somebody
        case Until.TERMINAL:
            return False


def _task(db: sqlite3.Connection, task_id: str) -> Task:
    task = tasks.get(db, task_id)
    if task is None:
        raise NotFound(f"the task {task_id} was deleted while it was waited for")
    return task


def _waited(
    db: sqlite3.Connection,
    found: Sequence[Task],
    environ: Mapping[str, str],
    *,
    timed_out: bool,
) -> Waited:
    panes = Panes(environ)
    return Waited(
        views=[
            status_view(task, environ, panes, pending.of_task(db, task.task_id)) for task in found
        ],
        timed_out=timed_out,
        all_completed=all(task.status is Status.COMPLETED for task in found if task.ended),
    )
