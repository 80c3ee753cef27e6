"""Settling a task whose supervisor ended without doing so, from the evidence it left."""

import os
import sqlite3

from cuekit import files
from cuekit.launch import child_reports, hooks, processes, sentinel, settlement
from cuekit.launch import plan as plans
from cuekit.model.lifecycle import EndCause, Evidence, Status
from cuekit.paths import Home
from cuekit.store import tasks
from cuekit.store.tasks import Task


def settle_lost(home: Home, db: sqlite3.Connection, task: Task) -> bool:
    """Settle the task unless its supervisor lives; True when this call did it.

    Whatever of the task still runs is ended first.
    """
    run_dir = home.run(task.task_id)
    if task.status is Status.QUEUED and processes.alive(task.submitter):
        return False  # the submit is at work
    lock = _lock(run_dir)
    if lock is None:
        return False  # the supervisor lives, or another command is settling
    try:
        evidence = _evidence(task, run_dir)
        child = task.child["pid"] if processes.alive(task.child) and task.child else None
        roots = {int(child)} if child is not None else set()
        processes.end_tree(lambda: processes.members(task.task_id, roots))
        plans.forget_environment(run_dir)
        child_reports.drain(db, task.task_id, task.task_dir, run_dir)
        settled = settlement.settle(db, tasks.get(db, task.task_id) or task, run_dir, evidence)
    finally:
        if lock >= 0:
            os.close(lock)
    if settled:
        hooks.at_end(plans.read(run_dir), tasks.get(db, task.task_id))
    return settled


def _lock(run_dir: str) -> int | None:
    """The supervisor's lock; -1 when the run folder is gone, so that nobody can hold it."""
    try:
        return files.try_lock(os.path.join(run_dir, plans.LOCK))
    except FileNotFoundError:
        return -1


def _evidence(task: Task, run_dir: str) -> Evidence:
    left = sentinel.read(run_dir)
    if left is not None:
        well = task.last_turn == "completed" if task.last_turn else None
        code = None if left.exit_code < 0 else left.exit_code
        return Evidence(EndCause(left.cause), code, left.exit_signal, well, task.turn_error)
    for name, cause in ((plans.CANCEL, EndCause.CANCELLED), (plans.FINISH, EndCause.FINISHED)):
        if os.path.exists(os.path.join(run_dir, name)):
            return Evidence(cause)
    if task.status is Status.QUEUED:
        return Evidence(EndCause.NEVER_STARTED)
    return Evidence(EndCause.SUPERVISOR_LOST)
