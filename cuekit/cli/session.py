"""`cuekit session`: the tasks of one parent, a shell user's project or one MCP connection."""

import os
import time
from typing import TYPE_CHECKING, Any

import click

from cuekit.cli import render
from cuekit.cli.groups import Entry, LazyGroup
from cuekit.cli.options import command, format_option

if TYPE_CHECKING:
    from cuekit.service.cleanup import Removed

HERE = "cuekit.cli.session"
HEADERS = ("SESSION", "TASKS", "ACTIVE", "LAST", "FOLDERS")
MOST_FOLDERS = 3

group = LazyGroup(
    "session",
    {
        "list": Entry(HERE, "list_sessions", "List the sessions, the newest first."),
        "show": Entry(HERE, "show", "Show one session and its tasks."),
        "delete": Entry(HERE, "delete", "Remove the ended tasks of a session."),
    },
    help="See the tasks of each parent.\n\nA parent is a project in the shell, or one connection "
    "over MCP.",
    examples=("cuekit session list", "cuekit session show s_5b21e0d4"),
)


@command(
    "list",
    help="List the sessions, the newest first.\n\nA session is the tasks of one parent: those "
    "that were submitted in one project from the shell, or over one MCP connection.",
    short_help="List the sessions, the newest first.",
    examples=("cuekit session list", "cuekit session list --format json"),
)
@format_option
def list_sessions(fmt: str) -> None:
    """Print a table of sessions."""
    from cuekit.service.sessions import listed

    render.emit(listed(os.environ), fmt, _table)


@command(
    "show",
    help="Show one session and its tasks.\n\nID may be @here: the session of this project.",
    short_help="Show one session and its tasks.",
    examples=("cuekit session show @here", "cuekit session show s_5b21e0d4 --format json"),
)
@click.argument("session", metavar="ID")
@format_option
def show(session: str, fmt: str) -> None:
    """Print a session."""
    from cuekit.service.sessions import shown

    render.emit(shown(session, os.environ), fmt, _one)


@command(
    "delete",
    help="Remove the ended tasks of a session, with their files and panes.\n\nTasks that go on "
    "are kept, and so is the session. Exit status 4 when a task was kept.",
    short_help="Remove the ended tasks of a session.",
    examples=("cuekit session delete s_5b21e0d4 --dry-run", "cuekit session delete @here"),
)
@click.argument("session", metavar="ID")
@click.option("--dry-run", is_flag=True, help="Only tell what would be removed.")
@format_option
def delete(session: str, dry_run: bool, fmt: str) -> int:
    """Remove the tasks of a session."""
    from cuekit.cli.task_remove import show_removed
    from cuekit.service.sessions import removed

    done: Removed = removed(session, os.environ, dry_run=dry_run)
    show_removed(done, dry_run, fmt)
    return 4 if done.kept else 0


def _table(value: dict[str, Any]) -> str:
    rows = [
        (
            one["session_id"] + (" (here)" if one["here"] else ""),
            str(one["tasks"]),
            str(one["active"]),
            one["last_submitted_at"] or "-",
            _folders(one["folders"]),
        )
        for one in value["sessions"]
    ]
    return render.table(HEADERS, rows, render.screen_width())


def _folders(folders: list[str]) -> str:
    shown = ", ".join(render.one_line(folder) for folder in folders[:MOST_FOLDERS])
    return shown + (f" and {len(folders) - MOST_FOLDERS} more" if len(folders) > 3 else "")


def _one(value: dict[str, Any]) -> str:
    from cuekit.cli.task_list import HEADERS as TASK_HEADERS
    from cuekit.model.times import short_duration

    now = time.time()
    rows = [
        (
            row["task_id"],
            row["status"],
            "-" if row["completed_at"] else row["activity"],
            row["agent_kind"],
            str(row["turn"]),
            short_duration(now - _seconds(row["created_at"])),
            render.one_line(row["name"] or "-"),
            render.one_line((row["summary"] or "-")[:300]),
        )
        for row in value["task_list"]
    ]
    head = (
        f"{value['session_id']}  {value['tasks']} tasks, {value['active']} active, "
        f"in {_folders(value['folders'])}"
    )
    return f"{head}\n\n{render.table(TASK_HEADERS, rows, render.screen_width())}"


def _seconds(stamp: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(stamp).timestamp()
