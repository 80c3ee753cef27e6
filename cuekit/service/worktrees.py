"""A git worktree for a child: checked before anything is made, made in one step of the submit."""

import os
import re
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from cuekit import files
from cuekit.errors import CuekitError, InvalidInput, InvalidState
from cuekit.paths import Home
from cuekit.service import task_folders
from cuekit.service.git_call import Done, Git
from cuekit.service.request import SubmitRequest

ADD_S = 300.0
LOOK_S = 3.0
PREFIX = "cuekit/"
_ATTRIBUTES_BYTES = 64 * 1024


class Plan(NamedTuple):
    """A worktree that can be made; nothing of it is there yet."""

    path: str
    branch: str
    new: bool  # whether cuekit makes the branch
    origin: str  # the top of the checkout that the caller stands in
    repository: str  # git's common folder
    base: str  # the commit that it begins from
    cwd: str  # where the child works: the caller's folder, in the worktree
    filtered: bool  # some of its files are made by git's filters
    warnings: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """What the store keeps of it."""
        return {
            "path": self.path,
            "branch": self.branch,
            "origin": self.origin,
            "repository": self.repository,
            "base": self.base,
            "made_branch": self.new,
        }

    def remarks(self, *, trusted: bool) -> list[str]:
        """What the worktree will not have."""
        if trusted or not self.filtered:
            return list(self.warnings)
        off = "git's filters are off, as the folder is not trusted: files that they make (LFS, for"
        return [*self.warnings, f"{off} one) are in the worktree as they are stored"]


def wanted(
    request: SubmitRequest, origin: str, task_id: str, home: Home, environ: Mapping[str, str]
) -> Plan | None:
    """The worktree that a submit asks for, None if it asks for none. Raises as `plan`."""
    if request.worktree is None or request.in_worktree is not None:
        return None
    return plan(request.worktree, origin, task_id, request.name, home, environ)


def folder_of(request: SubmitRequest, origin: str) -> str:
    """Where the child works that gets no new worktree: the folder, in the worktree it goes on in.

    Raises InvalidState (`worktree_gone`).
    """
    if request.in_worktree is None:
        return origin
    worktree = request.in_worktree
    inside = os.path.relpath(os.path.realpath(origin), os.path.realpath(worktree["origin"]))
    cwd = os.path.normpath(os.path.join(worktree["path"], inside))
    if not files.is_repository(worktree["path"]) or not os.path.isdir(cwd):
        raise InvalidState(
            f"the worktree of {request.resumed_from} is not there any more: {worktree['path']}",
            code="worktree_gone",
            hint="submit the task anew",
        )
    return cwd


def origin_of(cwd: str, worktree: Mapping[str, Any]) -> str:
    """The folder of the origin that a folder of its worktree stands for."""
    inside = os.path.relpath(cwd, worktree["path"])
    return os.path.normpath(os.path.join(worktree["origin"], inside))


def dry_view(plan: Plan | None) -> dict[str, Any] | None:
    """What `--dry-run` says of a worktree; the task's id is not known before it is made."""
    if plan is None:
        return None
    shown = {"path": plan.path, "branch": plan.branch, "origin": plan.origin}
    return {**shown, "new_branch": plan.new, "base": plan.base}


def plan(
    branch: str,
    cwd: str,
    task_id: str,
    name: str | None,
    home: Home,
    environ: Mapping[str, str],
) -> Plan:
    """What `--worktree BRANCH` would make; an empty BRANCH is a new one. Makes nothing.

    Raises CuekitError (`git_missing`, `git_failed`, `git_timed_out`), InvalidInput
    (`no_repository`, `bad_branch`, `not_in_commit`) and InvalidState (`bare_repository`,
    `in_submodule`, `no_commit`, `branch_checked_out`, `branch_conflict`).
    """
    git = Git(cwd, environ)
    origin, repository = _place(git, cwd)
    head = git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if not head.ok:
        raise InvalidState(
            f"the repository {origin} has no commit yet, so there is nothing to check out",
            code="no_commit",
            hint="commit something first",
        )
    warnings: list[str] = []
    if branch:
        _check_branch(git, branch)
        base = _existing(git, branch)
    else:
        branch, base = _new_name(git, task_id, name), None
    if base is None:
        warnings += _remote_of_that_name(git, branch)
    commit = base or head.line
    inside = os.path.relpath(os.path.realpath(cwd), os.path.realpath(origin))
    if inside != os.curdir and git.run("cat-file", "-t", f"{commit}:{inside}").line != "tree":
        raise InvalidInput(
            f"the folder {inside!r} is not in the commit that {branch!r} begins from",
            code="not_in_commit",
            hint=f"--cwd {origin}, or commit the folder",
        )
    warnings += _warnings(git, origin, commit)
    path = os.path.join(_parent(origin, repository, home), task_id)
    return Plan(
        path,
        branch,
        base is None,
        origin,
        repository,
        commit,
        os.path.normpath(os.path.join(path, inside)),
        _names_filters(git, commit),
        tuple(warnings),
    )


def make(made: Plan, environ: Mapping[str, str], *, trusted: bool) -> None:
    """Make the worktree, and its branch where that is new.

    Raises CuekitError (`worktree_failed`, `git_timed_out`, `cannot_write`); what was made by then
    is for `worktree_removal.remove` to take away.
    """
    parent = os.path.dirname(made.path)
    task_folders.make_ignored_folder(parent)
    git = Git(made.origin, environ, filters=trusted)
    how = ("--no-track", "-b", made.branch) if made.new else ()
    what = made.base if made.new else made.branch
    words = ("worktree", "add", "--quiet", "--no-guess-remote", *how, "--", made.path, what)
    _done(git.look(*words, limit_s=ADD_S, locks=True), made)
    if os.path.realpath(made.path) != os.path.join(os.path.realpath(parent), _name(made)):
        raise CuekitError(f"{made.path} is not the folder that was made", code="worktree_failed")
    if not os.path.isdir(made.cwd) or not _within(made.cwd, made.path):
        raise CuekitError(
            f"{made.cwd} is no folder of the worktree", code="worktree_failed", hint="--cwd"
        )
    if trusted and made.filtered:
        _settle_index(Git(made.path, environ, filters=True))


def _settle_index(git: Git) -> None:
    """Let git compare its fresh files once more, in a later second, while filters may run.

    Of a file as young as the index git compares the content, most builds by the second. Later
    looks have the filters off, and would take such a file for changed.
    """
    time.sleep(1.0 - time.time() % 1.0 + 0.01)
    git.look("status", "--porcelain", limit_s=ADD_S, locks=True)


def take_back(made: Plan | None, environ: Mapping[str, str]) -> str | None:
    """Remove the worktree of a start that failed, if nobody has worked in it; why it stays."""
    if made is None:
        return None
    from cuekit.service import worktree_removal

    try:
        return worktree_removal.remove(made.row(), environ, unused=True)
    except (CuekitError, OSError) as error:
        return f"its worktree {made.path} is kept: {error}"


def _done(done: Done, made: Plan) -> None:
    if not done.ok:
        raise CuekitError(
            f"git cannot make the worktree {made.path}: {done.words}",
            code="worktree_failed",
            hint=f"git -C {made.origin} worktree list",
        )


def _name(made: Plan) -> str:
    return os.path.basename(made.path)


def _within(path: str, folder: str) -> bool:
    real, above = os.path.realpath(path), os.path.realpath(folder)
    return real == above or real.startswith(os.path.join(above, ""))


def _place(git: Git, cwd: str) -> tuple[str, str]:
    """The top of the checkout and the repository's common folder."""
    asked = git.run("rev-parse", "--is-bare-repository", "--is-inside-work-tree")
    if not asked.ok:
        if "not a git repository" in asked.err:
            raise InvalidInput(
                f"{cwd} is not in a git repository, so it can have no worktree",
                code="no_repository",
                hint="leave --worktree out, or git init",
            )
        raise CuekitError(f"git refuses {cwd}: {asked.words}", code="git_failed")
    bare, inside = [*asked.line.split("\n"), ""][:2]
    if inside != "true":
        what = "is a bare repository" if bare == "true" else "is inside a .git folder"
        raise InvalidState(
            f"{cwd} {what}: a worktree is made from a checkout",
            code="bare_repository",
            hint="give --cwd a checkout of it",
        )
    asked = git.run("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir")
    places = asked.line.split("\n")
    if not asked.ok or len(places) != 2:
        raise CuekitError(f"git does not tell where {cwd} belongs to", code="git_failed")
    if git.run("config", "--get", "core.worktree").out.strip():
        raise InvalidState(
            f"{places[0]} is a submodule (its repository sets core.worktree)",
            code="in_submodule",
            hint="give --cwd a folder of the repository above it, or leave --worktree out",
        )
    return places[0], places[1]


def _parent(origin: str, repository: str, home: Home) -> str:
    """The folder of the worktrees: in the repository's main checkout, where there is one.

    A worktree in a worktree would go with it, and a child may submit from the one that it has.
    """
    main = os.path.dirname(repository)
    top = main if os.path.basename(repository) == ".git" and os.path.isdir(main) else origin
    return task_folders.place(top, "worktrees", os.path.join(home.root, "worktrees"))[0]


def _check_branch(git: Git, branch: str) -> None:
    asked = git.run("check-ref-format", "--branch", branch) if branch[0] != "-" else None
    misleading = branch == "@" or branch.startswith("refs/")  # git takes both for other things
    if asked is None or asked.line != branch or misleading:
        blank = any(letter.isspace() for letter in branch)
        raise InvalidInput(
            f"{branch!r} is no name of a branch",
            code="bad_branch",
            hint='--worktree -- "OBJECTIVE" takes a new branch' if blank else "git branch",
        )
    remote = git.run("show-ref", "--verify", "--quiet", f"refs/remotes/{branch}")
    if remote.ok and not _there(git, branch):
        raise InvalidInput(
            f"{branch!r} is a branch of a remote, not one of this repository",
            code="bad_branch",
            hint=f"git branch {branch.partition('/')[2]} {branch}",
        )


def _there(git: Git, branch: str) -> bool:
    return git.run("show-ref", "--verify", "--quiet", f"refs/heads/{branch}").ok


def _existing(git: Git, branch: str) -> str | None:
    """The commit of a branch that nobody has checked out; None where there is no such branch."""
    form = "--format=%(refname)%00%(objectname)%00%(worktreepath)"
    listed = git.run("for-each-ref", form, f"refs/heads/{branch}")
    full = f"refs/heads/{branch}"
    for line in listed.line.split("\n"):
        ref, oid, where = [*line.split("\0", 2), "", ""][:3]
        if ref == full and where:
            raise InvalidState(
                f"the branch {branch!r} is checked out in {where}",
                code="branch_checked_out",
                hint="name another branch, or leave the name out for a new one",
            )
        if ref == full:
            return oid
        if ref.startswith(full + "/"):
            raise _conflict(branch, ref)
    _check_above(git, branch)
    return None


def _check_above(git: Git, branch: str) -> None:
    """A branch `a` leaves no room for a branch `a/b`."""
    above = branch
    while "/" in above:
        above = above.rpartition("/")[0]
        if _there(git, above):
            raise _conflict(branch, above)


def _conflict(branch: str, other: str) -> InvalidState:
    other = other.removeprefix("refs/heads/")
    return InvalidState(
        f"git cannot have a branch {branch!r} beside the branch {other!r}",
        code="branch_conflict",
        hint="--worktree BRANCH with another name",
    )


def _new_name(git: Git, task_id: str, name: str | None) -> str:
    """`cuekit/<name>` where that is free and can be a branch, else `cuekit/<task id>`."""
    own = f"{PREFIX}{task_id}"
    slug = re.sub(r"[^\w.-]+", "-", name or "", flags=re.ASCII).strip("-.")
    wanted = f"{PREFIX}{slug}" if slug else own
    if wanted != own:
        usable = git.run("check-ref-format", "--branch", wanted)
        if not usable.ok or _there(git, wanted):
            wanted = own
    _check_above(git, wanted)
    return wanted


def _remote_of_that_name(git: Git, branch: str) -> list[str]:
    listed = git.run("for-each-ref", "--format=%(refname:short)", f"refs/remotes/*/{branch}")
    return [f"{branch} is a new branch from HEAD, not from {it}" for it in listed.line.split()[:1]]


def _warnings(git: Git, origin: str, commit: str) -> list[str]:
    """What the worktree will not have."""
    found = []
    try:
        status = git.look(
            "status", "--porcelain", "-z", "--ignore-submodules=dirty", limit_s=LOOK_S
        )
        if status.ok and status.out:
            found.append(f"what is not committed in {origin} is not in the worktree")
    except CuekitError:
        pass  # a large repository; this is only a reminder
    if git.run("cat-file", "-e", f"{commit}:.gitmodules").ok:
        found.append("submodules are empty in the worktree: git submodule update --init, there")
    return found


def _names_filters(git: Git, commit: str) -> bool:
    attributes = git.run("cat-file", "blob", f"{commit}:.gitattributes")
    return b"filter=" in attributes.out[:_ATTRIBUTES_BYTES]
