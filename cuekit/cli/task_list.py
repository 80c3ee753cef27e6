"""`cuekit task list`."""

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from cuekit.cli import render
from cuekit.cli.options import command, format_option
from cuekit.model.lifecycle import Status
from cuekit.model.times import short_duration

if TYPE_CHECKING:
    from cuekit.service.listing import Page

REDRAW_S = 1.0
CLEAR = "\x1b[H\x1b[2J"
HEADERS = ("TASK", "STATUS", "ACTIVITY", "AGENT", "TURN", "AGE", "NAME", "SUMMARY")


@command(
    "list",
    help="List tasks: active first, then newest.\n\n"
    "Without --all, --session or --cwd these are the tasks of the project that you stand in: "
    "the folder of its .git, or else this folder.",
    short_help="List tasks: active first, then newest.",
    examples=(
        "cuekit task list",
        "cuekit task list --all --status running --status input_required",
        "cuekit task list --label nightly --format json",
    ),
)
@click.option("--all", "every_project", is_flag=True, help="Tasks of every project.")
@click.option("--watch", is_flag=True, help="Show the list again whenever it changes, until ^C.")
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice([str(status) for status in Status]),
    help="Only tasks with this status; may be repeated.",
)
@click.option("--agent-kind", "--kind", "agent_kinds", multiple=True, help="Only this kind.")
@click.option("--session", metavar="ID", help="Only tasks of this session.")
@click.option("--label", "labels", multiple=True, help="Only tasks with this label; all of them.")
@click.option("--cwd", "folder", metavar="DIR", help="Only tasks in this folder and below it.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=50,
    show_default=True,
    help="At most so many tasks.",
)
@click.option("--cursor", help="Go on from the next_cursor of the page before.")
@format_option
def list_tasks(
    every_project: bool,
    watch: bool,
    statuses: tuple[str, ...],
    agent_kinds: tuple[str, ...],
    session: str | None,
    labels: tuple[str, ...],
    folder: str | None,
    limit: int,
    cursor: str | None,
    fmt: str,
) -> None:
    """Print a page of tasks, or each new state of it."""
    from cuekit.service import listing

    wanted = listing.wanted_tasks(
        statuses=statuses,
        agent_kinds=agent_kinds,
        session_id=session,
        labels=labels,
        folder=folder,
        every_project=every_project,
    )

    def look() -> "Page":
        return listing.list_tasks(os.environ, wanted, limit=limit, cursor=cursor)

    if watch:
        _watch(look, fmt)
        return
    page = look()
    if fmt == "json":
        render.say(render.as_json(page.as_json()))
        return
    render.say(as_text(page, time.time(), render.screen_width()))
    if not page.rows and not every_project and session is None and folder is None:
        render.tell("no task in this project; `cuekit task list --all` shows those of every one")
    if page.next_cursor:
        render.tell(f"more: --cursor {page.next_cursor}")


def as_text(page: "Page", now: float, width: int | None) -> str:
    """The page as a table."""
    return render.table(
        HEADERS,
        [
            (
                row.task_id,
                row.status,
                "-" if row.completed_at else row.activity,
                row.agent_kind,
                str(row.turn),
                short_duration(now - row.created_at),
                render.one_line(row.name or "-"),
                render.one_line((row.summary or "-")[:300]),
            )
            for row in page.rows
        ],
        width,
    )


def _watch(look: Callable[[], "Page"], fmt: str) -> None:
    """Print the list whenever it differs: on a terminal over the old one, else after it."""
    on_terminal = sys.stdout.isatty()
    shown = None
    while True:
        page = look()
        if fmt == "json":
            text = render.as_json(page.as_json())
        else:
            text = as_text(page, time.time(), render.screen_width())
        if text != shown:
            render.say(CLEAR + text if on_terminal and fmt == "text" else text)
            shown = text
        time.sleep(REDRAW_S)
