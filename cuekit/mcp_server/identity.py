"""Who the parent is: a session of its own, and the task that it is the child of, if it is one."""

import os
from collections.abc import Mapping

from cuekit.launch import processes
from cuekit.model.report import FOLDER_VARIABLE, TASK_VARIABLE, TOKEN_VARIABLE

INHERITED = (
    TASK_VARIABLE,
    TOKEN_VARIABLE,
    FOLDER_VARIABLE,
    "CUEKIT_HOME",
    "CUEKIT_TMUX_SOCKET",
    "TMUX_TMPDIR",
)
"""What agents may keep from the MCP servers that they start: codex passes on a few names only."""


def new_session() -> str:
    """The id of a connection's session."""
    return f"s_{os.urandom(4).hex()}"


def environment(environ: Mapping[str, str], pid: int) -> dict[str, str]:
    """The server's environment, with what its client did not pass on.

    Who is a task's child is so even if the client hides it: a child must not count as a person.
    """
    found = dict(environ)
    if TASK_VARIABLE in found:
        return found
    for values in processes.environments_above(pid):
        told = {name: values[name] for name in INHERITED if name in values}
        found = {**told, **found}
        if TASK_VARIABLE in told:
            return {**found, **{name: told[name] for name in INHERITED[:3] if name in told}}
    return found
