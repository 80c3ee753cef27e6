"""Where the files of a task are: below its working directory, or in cuekit's own home."""

import contextlib
import os

from cuekit import files
from cuekit.paths import Home


def choose(cwd: str, task_id: str, home: Home) -> tuple[str, str | None]:
    """The task's folder, and a warning when it cannot be below the working directory."""
    folder, why = place(cwd, "tasks", home.tasks)
    chosen = os.path.join(folder, task_id)
    return chosen, f"{why}: the task's files are in {chosen}" if why else None


def place(base: str, name: str, fallback: str) -> tuple[str, str | None]:
    """`<base>/.cuekit/<name>`, or the fall-back with the reason; nothing is made.

    A repository may bring a link or a file of that name: what it leads to is not ours to write.
    """
    wanted = os.path.join(base, ".cuekit", name)
    for folder in (os.path.dirname(wanted), wanted):
        if os.path.islink(folder) or (os.path.lexists(folder) and not os.path.isdir(folder)):
            return fallback, f"{folder} is not a folder of its own"
    nearest = wanted
    while not os.path.isdir(nearest):
        nearest = os.path.dirname(nearest)
    if os.access(nearest, os.W_OK | os.X_OK) and _may_make(nearest):
        return wanted, None
    return fallback, f"{base} cannot be written"


def _may_make(folder: str) -> bool:
    """Whether the file system takes writes (access() says yes to root on a read-only one)."""
    return not os.statvfs(folder).f_flag & os.ST_RDONLY


def make(task_dir: str) -> None:
    """Make a task's folder in one that git ignores."""
    make_ignored_folder(os.path.dirname(task_dir))
    os.mkdir(task_dir, 0o700)


def make_ignored_folder(folder: str) -> None:
    """Make a private folder, and the file that has git ignore all in it."""
    files.make_private_folder(folder)
    ignore = os.path.join(folder, ".gitignore")
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(ignore, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(b"*\n")
