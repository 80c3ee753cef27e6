"""`task result`: what came out of a task."""

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cuekit.launch import events
from cuekit.model.report import ENDING
from cuekit.paths import Home
from cuekit.service import lookup
from cuekit.service.transcript import readable_tail, wait_for_writer
from cuekit.service.views import Json, error_view, transcript_path, worktree_view
from cuekit.store.tasks import Task

if TYPE_CHECKING:
    from cuekit.service.changes import Changes

TAIL_LINES = 20
ARTIFACTS = (
    ("prompt", "prompt.md"),
    ("last_message", "last-message.txt"),
    ("events", "events.jsonl"),
)


def result(ref: str, environ: Mapping[str, str]) -> Json:
    """The result as it stands; `final` tells whether the task has ended.

    `summary` is what the child reported of its outcome, else the agent's last message; where the
    agent tells none, the last readable lines of its output, once it has ended.
    """
    with lookup.settled_store(environ) as (home, db):
        task = lookup.resolve_one(db, ref)
    summary = task.summary
    if task.reported is not None and task.reported["type"] in ENDING:
        summary = task.reported["message"]
    if summary is None and task.ended and _speaks_by_output(task):
        wait_for_writer(home, task)
        summary = readable_tail(task, TAIL_LINES)
    changed, source = files_changed(task), "agent"
    by_git = changes_by_git(task, home, environ)
    if not changed and by_git is not None:
        changed, source = by_git.files, "git"
    return {
        "task_id": task.task_id,
        "status": str(task.status),
        "final": task.ended,
        "summary": summary,
        "files_changed": changed,
        "files_changed_source": source if changed or by_git else None,
        "files_changed_note": by_git.note if by_git else None,
        "diff_stat": by_git.stat if by_git else None,
        "worktree": worktree_view(task.worktree),
        "exit_code": task.exit_code,
        "exit_signal": task.exit_signal,
        "usage": task.usage,
        "duration_ms": duration_ms(task, time.time()),
        "artifacts": artifacts(task),
        "error": error_view(task),
    }


def duration_ms(task: Task, now: float) -> int | None:
    """How long the child ran, or has run until now; None when it never did."""
    if task.started_at is None:
        return None
    return round(((task.completed_at or now) - task.started_at) * 1000)


def files_changed(task: Task) -> list[Json]:
    """`{path, kind}` of each file that the agent told it has changed: add, update or delete.

    The kind is that of all its changes together; a file that came and went is not among them.
    """
    kinds: dict[str, str | None] = {}
    for event in events.read(task.task_dir):
        if event.get("kind") == "file_change":
            path = str(event.get("path"))
            path = os.path.join(task.cwd, path) if not os.path.isabs(path) else path
            kinds[path] = together(kinds.get(path), str(event.get("change")))
    return [{"path": path, "kind": kind} for path, kind in kinds.items() if kind is not None]


def changes_by_git(task: Task, home: Home, environ: Mapping[str, str]) -> "Changes | None":
    """What git sees of the task's changes; None where its folder is in no repository."""
    noted = os.path.join(home.run(task.task_id), "repository.json")
    if task.worktree is None and not os.path.exists(noted):
        return None
    from cuekit.service import changes  # most tasks that are looked at often need none of it

    return changes.of_task(task, home, environ)


def together(before: str | None, change: str) -> str | None:
    """One change after another: what a file's changes come to; None when nothing is left."""
    if before == "add":
        return None if change == "delete" else "add"
    if before == "delete" and change == "add":
        return "update"
    return change


def artifacts(task: Task) -> list[Json]:
    """The files of the task that are there."""
    named = [("transcript", transcript_path(task))]
    named += [(kind, os.path.join(task.task_dir, name)) for kind, name in ARTIFACTS]
    return [{"kind": kind, "path": path} for kind, path in named if os.path.isfile(path)]


def _speaks_by_output(task: Task) -> bool:
    return task.agent_kind == "shell" or task.mode == "batch"
