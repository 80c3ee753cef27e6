"""Files that appear whole, private and locked."""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

from cuekit.errors import CuekitError

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


def make_private_folder(path: str) -> None:
    """Make a folder and its missing parents, readable by the user alone; one that exists stays.

    Raises CuekitError when it cannot be made.
    """
    try:
        os.makedirs(path, mode=PRIVATE_FOLDER, exist_ok=True)
    except OSError as error:
        raise CuekitError(
            f"cannot make the folder {path}: {error.strerror}", code="cannot_write"
        ) from None


def replace_file(path: str, data: bytes, mode: int = PRIVATE_FILE) -> None:
    """Write a file so that a reader sees the old content or the new, never a part."""
    temporary = f"{path}.{os.getpid()}.new"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        remove_file(temporary)
        raise


def replace_json(path: str, value: Any) -> None:
    """Write a JSON file whole, for the user alone."""
    import json  # not at the top: many commands lock files, few read JSON

    replace_file(path, json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogateescape"))


def read_json(path: str) -> Any:
    """The content of a JSON file, or None when it is missing, unreadable or broken."""
    import json

    try:
        with open(path, "rb") as file:
            return json.loads(file.read().decode("utf-8", "surrogateescape"))
    except (OSError, ValueError):
        return None


def open_regular(path: str) -> BinaryIO:
    """Open a file for reading that another program may have put something else in the place of.

    Raises OSError for a symbolic link and for what is no regular file; a FIFO is not waited for.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return open(descriptor, "rb")


def remove_file(path: str) -> None:
    """Remove a file if it is there."""
    with suppress(FileNotFoundError):
        os.unlink(path)


def try_lock(path: str) -> int | None:
    """Take an exclusive lock on a file at once; the open descriptor, or None when another holds it.

    The lock ends with the last descriptor, so it cannot outlive its holder.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return None
        raise
    return descriptor


def is_locked(path: str) -> bool:
    """Whether somebody holds the lock on a file; False when the file is not there."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return True
        raise
    else:
        return False
    finally:
        os.close(descriptor)


@contextmanager
def locked(path: str, seconds: float) -> Iterator[None]:
    """Hold the exclusive lock on a file, waiting at most so many seconds for it.

    Raises CuekitError with code `busy` when another holds it for longer.
    """
    deadline = time.monotonic() + seconds
    while (descriptor := try_lock(path)) is None:
        if time.monotonic() >= deadline:
            raise CuekitError(
                f"another process has held {path} for {seconds:g} s",
                code="busy",
                hint="try again; if it stays so, see which process has the file open",
                retryable=True,
            )
        time.sleep(0.01)
    try:
        yield
    finally:
        os.close(descriptor)


def is_repository(folder: str) -> bool:
    """Whether git would take a folder for the top of a repository, by its `.git`.

    In a linked worktree and in a submodule that is a file. A folder without HEAD is none: some
    programs leave an empty `.git` where they protect the name (codex 0.133 to 0.171 in /tmp).
    """
    mark = os.path.join(folder, ".git")
    return os.path.isfile(mark) or os.path.lexists(os.path.join(mark, "HEAD"))


def project_root(cwd: str) -> str:
    """The folder of the project that a folder belongs to: the nearest repository above it.

    Without one it is the folder itself. Symbolic links are resolved.
    """
    folder = os.path.realpath(cwd)
    above = folder
    while True:
        if is_repository(above):
            return above
        parent = os.path.dirname(above)
        if parent == above:
            return folder
        above = parent


def project_of(cwd: str) -> str:
    """The project that a folder's tasks are counted to: as `project_root`, but a worktree that
    cuekit made (`<project>/.cuekit/worktrees/<task id>`) is of its origin's.

    For sessions and standing rules. Trust is asked of the folder itself.
    """
    root = project_root(cwd)
    above, name = os.path.split(root)
    origin = above.removesuffix("/.cuekit/worktrees")
    is_ours = origin != above and name.startswith("t_") and os.path.isfile(f"{root}/.git")
    return project_root(origin or "/") if is_ours else root
