"""The doctor's look at git worktrees: those without a task, and tasks without theirs."""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator

from cuekit.files import is_repository, project_root
from cuekit.model.task import TASK_ID
from cuekit.paths import Home
from cuekit.service.doctor_check import Check, Situation, ok, warning

SHOWN = 5


def worktrees(db: sqlite3.Connection, home: Home, situation: Situation) -> Iterator[Check]:
    """Worktrees of cuekit's making that no task of the store has, and tasks whose folder is gone.

    Looks in the projects of the stored worktrees, in the one that the caller stands in, and in
    cuekit's own home. Mends nothing: what a worktree holds is somebody's work.
    """
    rows = db.execute("SELECT task_id, worktree FROM task WHERE worktree IS NOT NULL").fetchall()
    owned = {row[0]: json.loads(row[1]) for row in rows}
    paths = {str(one["path"]) for one in owned.values()}
    gone = sorted(task for task, one in owned.items() if not os.path.isdir(one["path"]))
    folders = {os.path.dirname(path) for path in paths}
    here = os.path.join(project_root(situation.cwd), ".cuekit", "worktrees")
    ownerless = sorted(_ownerless(folders | {here, os.path.join(home.root, "worktrees")}, paths))
    if ownerless:
        yield warning(
            "stale_worktrees",
            f"worktrees that no task of this store has: {_some(ownerless)}",
            f"look at it, then git worktree remove {_quoted(ownerless[0])}",
        )
    if gone:
        yield warning(
            "gone_worktrees",
            f"the folder of the worktree is gone: {_some(gone)}",
            f"cuekit task delete {' '.join(gone[:SHOWN])}",
        )
    if not ownerless and not gone:
        yield ok("stale_worktrees", f"{len(paths)}, each with its task" if paths else "none")


def _ownerless(folders: Iterable[str], owned: set[str]) -> Iterator[str]:
    known = {os.path.realpath(path) for path in owned}
    for folder in folders:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            path = os.path.join(folder, name)
            if TASK_ID.match(name) and is_repository(path) and os.path.realpath(path) not in known:
                yield path


def _quoted(path: str) -> str:
    from shlex import quote

    return quote(path)


def _some(names: list[str]) -> str:
    rest = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
