"""Where a folder's configuration lies."""

import os

from cuekit.errors import InvalidInput
from cuekit.files import is_repository

PROJECT_FILE = ".cuekit.yaml"


def real_folder(folder: str) -> str:
    """The folder's absolute path without symbolic links.

    Raises InvalidInput (`no_such_folder`) when it is not an existing folder.
    """
    if not folder or "\0" in folder or not os.path.isdir(folder):
        raise InvalidInput(f"no such folder: {folder!r}", code="no_such_folder")
    return os.path.realpath(folder)


def git_root(folder: str) -> str | None:
    """The nearest folder from this one upwards that is the top of a git repository."""
    while True:
        if is_repository(folder):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def project_folder(folder: str) -> str:
    """The git root of a folder; the folder itself outside of git."""
    return git_root(folder) or folder


def project_file(folder: str) -> str | None:
    """The nearest `.cuekit.yaml` from a folder up to its git root, or None.

    Outside of git only the folder itself is looked into: whoever can write to a parent such as
    /tmp is not its owner.
    """
    top = project_folder(folder)
    while True:
        path = os.path.join(folder, PROJECT_FILE)
        if os.path.lexists(path):
            return path
        if folder == top:
            return None
        folder = os.path.dirname(folder)
