"""`task delete` and `task cleanup`: ended tasks, their files and their panes go for good."""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from cuekit import files
from cuekit.errors import CuekitError
from cuekit.launch import plan as plans
from cuekit.model.task import TASK_ID, tmux_session_name
from cuekit.paths import Home
from cuekit.service import lookup
from cuekit.service.transcript import wait_for_writer
from cuekit.service.views import Json
from cuekit.store import listing, tasks
from cuekit.store.listing import Filter
from cuekit.store.tasks import Task

PAGE = 500
LOCK_S = 2.0


class Removed(NamedTuple):
    """The ids of the tasks that are gone, and why others were kept."""

    removed: list[str]
    kept: list[Json]

    def as_json(self) -> Json:
        """The object that both commands print."""
        return {"removed": self.removed, "kept": self.kept}


def delete(
    refs: Sequence[str],
    environ: Mapping[str, str],
    *,
    dry_run: bool = False,
    discard_worktree: bool = False,
) -> Removed:
    """Remove the tasks that are named; one that has not ended is kept, with the reason.

    So is one whose worktree holds what is in no other place, unless that is to be discarded.

    Raises NotFound and InvalidInput as `lookup.resolve` does, before anything is removed.
    """
    with lookup.settled_store(environ) as (home, db):
        found = lookup.resolve_all(db, refs)
        return _removed(home, db, found, environ, dry_run=dry_run, discard=discard_worktree)


def cleanup(
    environ: Mapping[str, str],
    *,
    wanted: Filter,
    older_than_s: float = 0.0,
    dry_run: bool = False,
    discard_worktree: bool = False,
) -> Removed:
    """Remove, as `delete` does, every ended task that the filter takes and that is so old."""
    with lookup.settled_store(environ) as (home, db):
        old = list(_old(db, wanted, older_than_s))
        return _removed(home, db, old, environ, dry_run=dry_run, discard=discard_worktree)


def remove_some(
    home: Home,
    db: sqlite3.Connection,
    wanted: Filter,
    older_than_s: float,
    environ: Mapping[str, str],
    *,
    most: int,
) -> Removed:
    """Remove no more than so many of the old tasks, and none that has a worktree.

    Whether one may go is for git to tell, each time anew, and this is done beside other commands.
    """
    old = (task for task in _old(db, wanted, older_than_s) if task.worktree is None)
    return _removed(home, db, list(islice(old, most)), environ, dry_run=False)


def remove_all(
    home: Home,
    db: sqlite3.Connection,
    wanted: Filter,
    environ: Mapping[str, str],
    *,
    dry_run: bool = False,
) -> Removed:
    """Remove the tasks that fit; one that has not ended is kept, with the reason."""
    return _removed(home, db, list(_every(db, wanted)), environ, dry_run=dry_run)


def _old(db: sqlite3.Connection, wanted: Filter, older_than_s: float) -> Iterator[Task]:
    latest = time.time() - older_than_s
    return (task for task in _ended(db, wanted) if (task.completed_at or 0.0) <= latest)


def _ended(db: sqlite3.Connection, wanted: Filter) -> Iterator[Task]:
    return (task for task in _every(db, wanted) if task.ended)


def _every(db: sqlite3.Connection, wanted: Filter) -> Iterator[Task]:
    after = None
    while True:
        rows, after = listing.page(db, wanted, after, PAGE)
        for row in rows:
            task = tasks.get(db, row.task_id)
            if task is not None:
                yield task
        if after is None:
            return


def _removed(
    home: Home,
    db: sqlite3.Connection,
    found: Sequence[Task],
    environ: Mapping[str, str],
    *,
    dry_run: bool,
    discard: bool = False,
) -> Removed:
    removed: list[str] = []
    kept: list[Json] = []
    for task in found:
        tree = _Worktree(db, task, environ, discard=discard, gone=removed)
        reason = _remove(home, db, task, tree, environ, dry_run=dry_run)
        if reason is None:
            removed.append(task.task_id)
        else:
            kept.append({"task_id": task.task_id, "reason": reason})
    return Removed(removed, kept)


class _Worktree:
    """The worktree that goes with a task, if the task is the last one that has it."""

    def __init__(
        self,
        db: sqlite3.Connection,
        task: Task,
        environ: Mapping[str, str],
        *,
        discard: bool,
        gone: Sequence[str],
    ) -> None:
        self._worktree = task.worktree
        self._unused = task.started_at is None
        self._environ = environ
        self._discard = discard
        self._inside: list[str] = []
        if task.worktree is not None:
            away = {task.task_id, *gone}  # in a dry run these are in the store still
            own, inside = tasks.of_worktree(db, str(task.worktree["path"]))
            self._inside = [one for one in inside if one not in away]
            if not away.issuperset(own):
                self._worktree = None

    def objection(self) -> str | None:
        """Why it, and the task with it, has to stay."""
        if self._worktree is None:
            return None
        if self._inside:
            return f"in its worktree other tasks were run: {', '.join(self._inside[:3])}"
        if self._discard:
            return None
        from cuekit.service import worktree_removal

        return worktree_removal.objection(self._worktree, self._environ, unused=self._unused)

    def remove(self) -> str | None:
        """Remove it; why it has to stay."""
        if self._worktree is None:
            return None
        from cuekit.service import worktree_removal

        return worktree_removal.remove(
            self._worktree, self._environ, discard=self._discard, unused=self._unused
        )


def _remove(
    home: Home,
    db: sqlite3.Connection,
    task: Task,
    tree: _Worktree,
    environ: Mapping[str, str],
    *,
    dry_run: bool,
) -> str | None:
    """Remove one task, its row last, so that a removal that was broken off can be done again."""
    if not task.ended:
        return f"it has not ended: {task.status}"
    if not TASK_ID.match(task.task_id) or os.path.basename(task.task_dir) != task.task_id:
        return f"its folder is not one that cuekit made: {task.task_dir}"
    try:
        reason = tree.objection()
        if reason is not None or dry_run:
            return reason
        _close_session(task, environ)
        run_dir = home.run(task.task_id)
        wait_for_writer(home, task)
        if not _idle(run_dir):
            return "its supervisor has not finished yet"
        if reason := tree.remove():
            return reason
        for folder in (task.task_dir, run_dir):
            _remove_folder(folder)
    except CuekitError as error:
        return error.message
    except OSError as error:
        return f"cannot remove {error.filename}: {(error.strerror or 'failed').lower()}"
    tasks.delete(db, task.task_id)
    return None


def _close_session(task: Task, environ: Mapping[str, str]) -> None:
    if task.socket_path is None or not os.path.exists(task.socket_path):
        return
    from cuekit.panes.base import TmuxGone
    from cuekit.panes.tmux import Tmux

    try:
        Tmux(task.socket_path, environ=environ).kill_session(tmux_session_name(task.task_id))
    except TmuxGone:
        return


def _idle(run_dir: str) -> bool:
    """Whether the supervisor is gone; waits a moment for it."""
    deadline = time.monotonic() + LOCK_S
    while files.is_locked(os.path.join(run_dir, plans.LOCK)):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
    return True


def _remove_folder(folder: str) -> None:
    """Remove a folder and all in it; a link is removed itself, what it leads to stays.

    Raises OSError when something of it is still there.
    """
    if os.path.islink(folder):
        os.unlink(folder)
    elif os.path.lexists(folder):
        shutil.rmtree(folder)
    if os.path.lexists(folder):
        raise OSError(0, "still there", folder)
