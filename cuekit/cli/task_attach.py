"""`cuekit task attach`."""

import os
import shlex
import sys

import click

from cuekit.cli import render
from cuekit.cli.options import command, format_option, task_argument
from cuekit.errors import InvalidInput
from cuekit.paths import home_from


@command(
    "attach",
    help="Show a task's pane on this terminal.\n\ncuekit replaces itself with tmux; leave the "
    "pane again with tmux's own detach key (C-b d), and the task goes on.",
    short_help="Show a task's pane on this terminal.",
    examples=(
        "cuekit task attach @last",
        "cuekit task attach t_4f9k2m1x --read-only",
        'eval "$(cuekit task attach @last --print)"',
    ),
)
@task_argument
@click.option("--read-only", is_flag=True, help="Look, and let no key through.")
@click.option("--print", "only_print", is_flag=True, help="Print the command, do not run it.")
@format_option
def attach(task: str, read_only: bool, only_print: bool, fmt: str) -> None:
    """Become the multiplexer's client, or print how."""
    argv = attach_argv(task, read_only=read_only)
    if only_print or fmt == "json":
        render.emit({"argv": argv, "command": shlex.join(argv)}, fmt, lambda it: str(it["command"]))
        return
    become(argv)


def attach_argv(task: str, *, read_only: bool) -> list[str]:
    """The command that shows a task's pane."""
    from cuekit.service.attach import attach_argv as argv_of

    return argv_of(task, read_only=read_only, home=home_from(os.environ), environ=os.environ)


def require_terminal() -> None:
    """Raises InvalidInput where there is no terminal to show a pane on."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInput(
            "attaching needs a terminal",
            code="no_terminal",
            hint="cuekit task attach ID --print shows the command, cuekit task transcript the text",
        )


def become(argv: list[str]) -> None:
    """Replace this process with the command. Raises InvalidInput where there is no terminal."""
    require_terminal()
    sys.stdout.flush()
    os.execvp(argv[0], argv)  # noqa: S606 - tmux takes over this terminal
