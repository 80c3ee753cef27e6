"""Where cuekit keeps its files. Pure: the environment is an argument."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from cuekit.errors import InvalidInput


class Home(NamedTuple):
    """The user's own cuekit folder (CUEKIT_HOME, by default `~/.cuekit`), private to the user."""

    root: str

    @property
    def database(self) -> str:
        """The SQLite file of all tasks."""
        return os.path.join(self.root, "state.db")

    @property
    def creation_lock(self) -> str:
        """The lock under which the database is first made."""
        return os.path.join(self.root, "state.lock")

    @property
    def runs(self) -> str:
        """The folder of the private run folders."""
        return os.path.join(self.root, "run")

    def run(self, task_id: str) -> str:
        """The private folder (0700) of what decides the truth about a task or is secret."""
        return os.path.join(self.runs, task_id)

    @property
    def tasks(self) -> str:
        """Task folders of those tasks whose working directory cannot be written."""
        return os.path.join(self.root, "tasks")

    @property
    def trust(self) -> str:
        """The record of what the user trusts."""
        return os.path.join(self.root, "trust.json")

    @property
    def probes(self) -> str:
        """What was learned about installed agents, by path, size and time of change."""
        return os.path.join(self.root, "probes.json")

    @property
    def config(self) -> str:
        """The user's own configuration."""
        return os.path.join(self.root, "config.yaml")


def home_from(environ: Mapping[str, str]) -> Home:
    """The home folder that the environment names.

    Raises InvalidInput when it is relative, holds a line break, or cannot be told.
    """
    root = environ.get("CUEKIT_HOME", "")
    if not root:
        base = environ.get("HOME", "")
        if not base:
            raise InvalidInput(
                "neither CUEKIT_HOME nor HOME is set", code="no_home", hint="set CUEKIT_HOME"
            )
        root = os.path.join(base, ".cuekit")
    if not os.path.isabs(root) or "\n" in root or "\r" in root:
        raise InvalidInput(
            f"CUEKIT_HOME is not an absolute path on one line: {root!r}", code="bad_home"
        )
    return Home(os.path.normpath(root))


def search_path(environ: Mapping[str, str]) -> str:
    """PATH without its empty and relative entries: those are the working folder's, not the user's.

    A program named `codex` in a fresh clone must not stand in for the user's own.
    """
    entries = (environ.get("PATH") or os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if os.path.isabs(entry))
