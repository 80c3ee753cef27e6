"""What a task changed in a git repository: seen at its start, and compared when somebody asks.

Only names, numbers and times are looked at; no content is run through a filter, and no link is
followed. What cannot be told is said in `note`, never guessed.
"""

import os
import stat
from collections.abc import Mapping
from typing import Any, NamedTuple

from cuekit import files
from cuekit.errors import CuekitError
from cuekit.model import git_output
from cuekit.model.git_output import Change, Stat
from cuekit.paths import Home
from cuekit.service.git_call import Git
from cuekit.store.tasks import Task

Json = dict[str, Any]

FILE_NAME = "repository.json"
START_S = 2.0
START_BYTES = 1024 * 1024
MOST_BEFORE = 1000
MOST_FILES = 500
COUNTED_BYTES = 1024 * 1024
GRACE_S = 1.0
DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "-M", "-z")


class Changes(NamedTuple):
    """The files, the diff by numbers where it can be told, and what is uncertain about them."""

    files: list[Json]
    stat: Json | None = None
    note: str | None = None


def note_start(cwd: str, run_dir: str, environ: Mapping[str, str]) -> None:
    """Keep how the repository of a folder looks before the child starts; nothing without one.

    Never fails: a task does not depend on it.
    """
    root = files.project_root(cwd)
    if not files.is_repository(root):
        return
    seen: Json = {"root": root, "head": None, "before": {}, "problem": None}
    try:
        words = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all")
        looked = Git(root, environ).look(
            *words, "--ignore-submodules=dirty", limit_s=START_S, most=START_BYTES
        )
        if looked.ok:
            tree = git_output.work_tree(looked.out)
            seen["head"] = tree.head
            paths = dict.fromkeys(tree.paths)
            seen["before"] = {os.fsdecode(it): mark(root, it) for it in list(paths)[:MOST_BEFORE]}
            if len(paths) > MOST_BEFORE:
                seen["problem"] = f"more than {MOST_BEFORE} files had changed before the start"
        else:
            seen["problem"] = f"git did not tell the state at the start: {looked.words}"
    except CuekitError as error:
        if error.code == "git_missing":
            return
        seen["problem"] = f"the state at the start is not known: {error.message}"
    files.replace_json(os.path.join(run_dir, FILE_NAME), seen)


def mark(root: str, path: bytes) -> list[int] | None:
    """What tells a file from itself later: size, time of change and kind; None when not there."""
    try:
        found = os.lstat(os.path.join(os.fsencode(root), path))
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns, found.st_mode]


def of_task(task: Task, home: Home, environ: Mapping[str, str]) -> Changes | None:
    """What the task changed, by git; None where its folder is in no repository."""
    try:
        if task.worktree is not None:
            return _of_worktree(task.worktree, environ)
        seen = files.read_json(os.path.join(home.run(task.task_id), FILE_NAME))
        return _of_folder(seen, task, environ) if isinstance(seen, dict) else None
    except CuekitError as error:
        return Changes([], None, error.message)


def _of_worktree(worktree: Mapping[str, Any], environ: Mapping[str, str]) -> Changes:
    """Everything since the commit that the worktree began from, committed or not."""
    path, base = str(worktree["path"]), str(worktree["base"])
    if not files.is_repository(path):
        return Changes([], None, f"the worktree is not there any more: {path}")
    git = Git(path, environ)
    tracked, untracked = _tracked(git, base), _untracked(git)
    every = tracked + [Change(it, "add") for it in untracked]
    return Changes(_listed(every, path), _total(git, base, path, untracked), _left_out(every))


def _of_folder(seen: Json, task: Task, environ: Mapping[str, str]) -> Changes:
    """What differs from the start, in a folder where others may be at work as well."""
    root = str(seen["root"])
    before = {os.fsencode(path): marked for path, marked in seen["before"].items()}
    if seen["problem"]:
        return Changes([], None, str(seen["problem"]))
    if not files.is_repository(root):
        return Changes([], None, f"the repository is not there any more: {root}")
    git = Git(root, environ)
    base = seen["head"] or git.run("hash-object", "-t", "tree", "--stdin").line
    tracked, untracked = _tracked(git, base), _untracked(git)
    every = tracked + [Change(it, "add") for it in untracked]
    now = {it: mark(root, it) for it in {change.path for change in every} | set(before)}
    told = since_start(every, before, now)
    latest = None if task.completed_at is None else (task.completed_at + GRACE_S) * 1e9
    mine = [it for it in told if not _is_later(now.get(it.path), latest)]
    notes = []
    if before:
        notes.append(
            f"of the {len(before)} files that had changed before the start, those are told that"
            " changed again"
        )
    if len(mine) < len(told):
        notes.append(f"{len(told) - len(mine)} files that changed after the end are left out")
    if left := _left_out(mine):
        notes.append(left)
    alone = not before and len(mine) == len(told)
    total = _total(git, base, root, untracked) if alone else None
    return Changes(_listed(mine, root), total, "; ".join(notes) or None)


def since_start(
    changes: list[Change],
    before: Mapping[bytes, list[int] | None],
    now: Mapping[bytes, list[int] | None],
) -> list[Change]:
    """The changes since the start: of files that had changed before it, those that did so again.

    `before` and `now` are the marks of the files then and now.
    """
    found = []
    for change in changes:
        if change.path not in before:
            found.append(change)
        elif before[change.path] != now.get(change.path):
            was_there = before[change.path] is not None
            kind = "update" if was_there and change.kind == "add" else change.kind
            found.append(Change(change.path, kind, change.old))
    differing = {change.path for change in changes} | {change.old for change in changes}
    for path in before:
        if path not in differing and before[path] != now.get(path):
            back = "add" if before[path] is None else "update"
            found.append(Change(path, "delete" if now.get(path) is None else back))
    return found


def _tracked(git: Git, base: str) -> list[Change]:
    looked = git.look(*DIFF, "--name-status", base, "--")
    if not looked.ok:
        raise CuekitError(f"git does not tell what changed: {looked.words}", code="git_failed")
    return git_output.name_status(looked.out)


def _untracked(git: Git) -> list[bytes]:
    looked = git.look("ls-files", "--others", "--exclude-standard", "-z")
    return [path for path in looked.out.split(b"\0") if path]


def _total(git: Git, base: str, root: str, untracked: list[bytes]) -> Json | None:
    looked = git.look(*DIFF, "--numstat", base, "--")
    if not looked.ok:
        return None
    seen = git_output.numstat(looked.out)
    lines = sum(_lines(root, path) for path in untracked[:MOST_FILES])
    return Stat(seen.files + len(untracked), seen.insertions + lines, seen.deletions)._asdict()


def _lines(root: str, path: bytes) -> int:
    """The lines of a new file as git would count them; none of a large or a binary one."""
    name = os.path.join(os.fsencode(root), path)
    try:
        kind = os.lstat(name).st_mode
        if stat.S_ISLNK(kind):
            return 1
        if not stat.S_ISREG(kind):
            return 0
        with files.open_regular(os.fsdecode(name)) as file:
            data = file.read(COUNTED_BYTES + 1)
    except OSError:
        return 0
    if len(data) > COUNTED_BYTES or b"\0" in data[:8000]:
        return 0
    return data.count(b"\n") + (1 if data and not data.endswith(b"\n") else 0)


def _is_later(marked: list[int] | None, latest: float | None) -> bool:
    return latest is not None and marked is not None and marked[1] > latest


def _listed(changes: list[Change], root: str) -> list[Json]:
    found = []
    for change in sorted(changes)[:MOST_FILES]:
        one = {"path": _absolute(root, change.path), "kind": change.kind}
        found.append(one | ({"from": _absolute(root, change.old)} if change.old else {}))
    return found


def _absolute(root: str, path: bytes) -> str:
    return git_output.shown(os.path.join(os.fsencode(root), path))


def _left_out(changes: list[Change]) -> str | None:
    rest = len(changes) - MOST_FILES
    return f"{rest} more files changed" if rest > 0 else None
