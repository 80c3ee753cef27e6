"""Taking a worktree away, and refusing to where work would be lost with it."""

import os
import shutil
from collections.abc import Mapping
from typing import Any

from cuekit import files
from cuekit.errors import CuekitError
from cuekit.model.git_output import some, work_tree
from cuekit.model.task import TASK_ID
from cuekit.service.git_call import Git

REMOVE_S = 120.0
STATUS = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all")
SUBMODULES = "--ignore-submodules=dirty"

Worktree = Mapping[str, Any]


def objection(
    worktree: Worktree, environ: Mapping[str, str], *, unused: bool = False
) -> str | None:
    """Why a worktree must stay: what of it is in no other place. None when it may go.

    `unused` says that its child never started, so that a half-made one holds nobody's work.
    Raises CuekitError as `Git` does.
    """
    path, repository = str(worktree["path"]), str(worktree["repository"])
    if not TASK_ID.match(os.path.basename(path)):
        return f"its worktree is not one that cuekit made: {path}"
    if os.path.islink(path):
        return f"something else is in the place of its worktree: {path}"
    there = os.path.isdir(path)
    if not os.path.isdir(repository):
        return f"the repository of its worktree {path} is gone: {repository}" if there else None
    origin = Git(repository, environ)
    tips = [_branch_tip(origin, worktree)] if worktree["made_branch"] else []
    half_made = unused and _is_half_made(origin, worktree)
    if there and not half_made:
        here = Git(path, environ)
        asked = here.run("rev-parse", "--path-format=absolute", "--git-common-dir")
        if not asked.ok or os.path.realpath(asked.line) != os.path.realpath(repository):
            return f"its worktree {path} does not belong to {repository} any more"
        status = here.look(*STATUS, SUBMODULES)
        if not status.ok:
            return f"git does not tell what is in {path}: {status.words}"
        changed = work_tree(status.out).paths
        if changed:
            return f"its worktree {path} has changes that are not committed: {some(changed)}"
        if not here.run("symbolic-ref", "--quiet", "HEAD").ok:
            tips.append(here.run("rev-parse", "--verify", "--quiet", "HEAD").line)
    lost = _only_here(origin, worktree, [tip for tip in tips if tip])
    if lost:
        what = "1 commit that is" if lost == "1" else f"{lost} commits that are"
        return f"its branch {worktree['branch']} has {what} on no other branch or remote"
    return None


def remove(
    worktree: Worktree,
    environ: Mapping[str, str],
    *,
    discard: bool = False,
    unused: bool = False,
) -> str | None:
    """Remove a worktree, and the branch if cuekit made it; the reason when it has to stay.

    With `discard` it goes with all that is in it. Raises CuekitError as `Git` does, and OSError.
    """
    reason = objection(worktree, environ, unused=unused) if not discard else _not_ours(worktree)
    if reason is not None:
        return reason
    path, repository = str(worktree["path"]), str(worktree["repository"])
    if not os.path.isdir(repository):
        if discard and os.path.isdir(path):
            shutil.rmtree(path)
        return None
    origin = Git(repository, environ)
    force = ("--force", "--force") if unused else ("--force",) if discard else ()
    tip = _branch_tip(origin, worktree) if worktree["made_branch"] else ""
    if _is_registered(origin, path):
        done = origin.look("worktree", "remove", *force, "--", path, limit_s=REMOVE_S, locks=True)
        if not done.ok:
            return f"git keeps its worktree {path}: {done.words}"
    elif os.path.isdir(path) and (discard or unused or not os.listdir(path)):
        shutil.rmtree(path)
    if os.path.lexists(path):
        return f"git does not know its worktree {path}; look at it, then remove the folder"
    if tip and not _checked_out(origin, worktree):
        # With the commit that was looked at: one that was made since then keeps the branch.
        full = f"refs/heads/{worktree['branch']}"
        done = origin.run("update-ref", "-d", full, tip, locks=True)
        if not done.ok:
            return f"its branch {worktree['branch']} is kept: {done.words}"
    return None


def _not_ours(worktree: Worktree) -> str | None:
    path = str(worktree["path"])
    if TASK_ID.match(os.path.basename(path)) and not os.path.islink(path):
        return None
    return f"its worktree is not one that cuekit made: {path}"


def _branch_tip(origin: Git, worktree: Worktree) -> str:
    full = f"refs/heads/{worktree['branch']}"
    return origin.run("rev-parse", "--verify", "--quiet", full).line


def _checked_out(origin: Git, worktree: Worktree) -> bool:
    full = f"refs/heads/{worktree['branch']}"
    return bool(origin.run("for-each-ref", "--format=%(worktreepath)", full).line.strip())


def _only_here(origin: Git, worktree: Worktree, tips: list[str]) -> str:
    """How many commits are reachable from nothing that stays; empty for none."""
    if not tips:
        return ""
    mine = (f"--exclude={worktree['branch']}",) if worktree["made_branch"] else ()
    kept = ("--not", worktree["base"], *mine, "--branches", "--tags", "--remotes")
    counted = origin.run("rev-list", "--count", *tips, *kept)
    if not counted.ok:
        raise CuekitError(
            f"git cannot compare the branch {worktree['branch']}: {counted.words}",
            code="git_failed",
        )
    return "" if counted.line == "0" else counted.line


def _is_registered(origin: Git, path: str) -> bool:
    return _admin(str(origin.folder), path) is not None


def _is_half_made(origin: Git, worktree: Worktree) -> bool:
    """Whether git was ended in the middle of making it: its own lock is still there."""
    path = str(worktree["path"])
    admin = _admin(str(origin.folder), path)
    if admin is None:
        return not os.path.isdir(path) or not files.is_repository(path)
    try:
        with open(os.path.join(admin, "locked"), "rb") as file:
            return file.read(64).strip() == b"initializing"
    except OSError:
        return False


def _admin(repository: str, path: str) -> str | None:
    """Git's own folder of a worktree, found by the `gitdir` file that names its place."""
    above = os.path.join(repository, "worktrees")
    wanted = os.path.join(os.path.realpath(path), ".git")
    try:
        names = os.listdir(above)
    except OSError:
        return None
    for name in sorted(names, key=lambda it: it != os.path.basename(path)):
        try:
            with open(os.path.join(above, name, "gitdir"), "rb") as file:
                place = os.fsdecode(file.read(8192)).rstrip("\n")
        except OSError:
            continue
        place = os.path.join(above, name, place)  # newer git may write it relative
        if os.path.realpath(os.path.dirname(place)) == os.path.dirname(wanted):
            return os.path.join(above, name)
    return None
