"""`task attach`: the command that shows a task's pane on the caller's terminal."""

import os
import sys
from collections.abc import Mapping

from cuekit.errors import InvalidState
from cuekit.model.task import tmux_session_name
from cuekit.panes.base import PaneGone, TmuxGone
from cuekit.paths import Home
from cuekit.service import lookup


def attach_argv(
    task_ref: str, *, read_only: bool, home: Home, environ: Mapping[str, str]
) -> list[str]:
    """The command to become: attach-session, or switch-client within the same tmux server.

    Raises PaneGone when the task's session is not there, InvalidState (`inside_other_tmux`) in
    a pane of another tmux server, TmuxUnclear, NotFound.
    """
    from cuekit.panes.tmux import Tmux

    with lookup.settled_store(environ) as (_home, db):
        task = lookup.resolve_one(db, task_ref)
    session = tmux_session_name(task.task_id)
    if task.socket_path is None:
        raise _no_pane(task.task_id)
    tmux = Tmux(task.socket_path, environ=environ)
    try:
        there = tmux.pane(session) is not None
    except TmuxGone:
        there = False
    if not there:
        raise _no_pane(task.task_id)
    around = environ.get("TMUX", "").rpartition(",")[0].rpartition(",")[0]
    if not around:
        return tmux.attach_command(session, read_only=read_only)
    if os.path.realpath(around) == tmux.socket():
        return tmux.switch_command(session, read_only=read_only)
    import shlex

    command = shlex.join(tmux.attach_command(session, read_only=read_only))
    raise InvalidState(
        "this terminal is a pane of another tmux server, and tmux is not shown within tmux",
        code="inside_other_tmux",
        hint=f"in a terminal outside of tmux: {command}",
        details={"command": command},
    )


def has_terminal() -> bool:
    """Whether this process sits at a terminal, so that a client can be shown there."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _no_pane(task_id: str) -> PaneGone:
    return PaneGone(
        f"the task {task_id} has no pane any more",
        hint=f"cuekit task transcript {task_id} shows what was on it",
    )
