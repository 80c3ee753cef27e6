"""`cuekit recover`."""

import os
import time
from typing import Any

import click

from cuekit.cli import render
from cuekit.cli.options import TASK, command, format_option
from cuekit.cli.task_status import as_text as status_text
from cuekit.errors import InvalidInput


@command(
    "recover",
    help="List the tasks that a reboot or a crash broke off, and go on with those that are named."
    "\n\nA task that is gone on with is a new one, linked to the old: the agent's own conversation "
    "continues in a new pane.",
    short_help="Go on with what a reboot or a crash broke off.",
    examples=(
        "cuekit recover",
        "cuekit recover t_4f9k2m1x",
        'cuekit recover --all --message "the machine was restarted; go on"',
    ),
)
@click.argument("tasks", nargs=-1, type=TASK, metavar="[ID]...")
@click.option("--all", "every", is_flag=True, help="Go on with all that can be gone on with.")
@click.option("--message", metavar="TEXT", help="What the agents are told.")
@click.option("--trust", is_flag=True, help="Trust their folders, as the agents ask it.")
@format_option
def recover(tasks: tuple[str, ...], every: bool, message: str | None, trust: bool, fmt: str) -> int:
    """List, or resume what was chosen."""
    from cuekit.service import recover as service

    if every and tasks:
        raise InvalidInput("name tasks, or give --all", code="usage")
    if not every and not tasks:
        if message is not None or trust:
            raise InvalidInput("name the tasks to go on with, or give --all", code="usage")
        render.emit({"tasks": service.lost(os.environ)}, fmt, lost_text)
        return 0
    refs = tasks
    if every:
        refs = tuple(one["task_id"] for one in service.lost(os.environ) if one["resumable"])
    done = service.recover(refs, os.environ, message=message or service.MESSAGE, trust=trust)
    render.emit(done, fmt, views_text)
    return 1 if done["failed"] else 0


def lost_text(value: dict[str, Any]) -> str:
    """What was broken off, as a table."""
    rows = [
        [
            one["task_id"],
            one["agent_kind"],
            one["mode"],
            "yes" if one["resumable"] else "no",
            render.one_line(one["cwd"]),
            render.one_line(_last_column(one)),
        ]
        for one in value["tasks"]
    ]
    if not rows:
        return "nothing was broken off"
    headers = ("TASK", "AGENT", "MODE", "CAN GO ON", "CWD", "LAST SAID, OR WHY NOT")
    return render.table(headers, rows, render.screen_width())


def _last_column(one: dict[str, Any]) -> str:
    return str(one["problem"]["message"] if one["problem"] else one["summary"] or "-")


def views_text(value: dict[str, Any]) -> str:
    """The new tasks, and those that could not be started."""
    parts = [status_text(view, time.time()) for view in value["tasks"]]
    parts += [
        render.one_line(f"{one['task_id']} was not gone on with: {one['error']['message']}")
        for one in value["failed"]
    ]
    return "\n\n".join(parts) or "nothing to do"
