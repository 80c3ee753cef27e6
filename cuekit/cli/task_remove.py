"""`cuekit task delete` and `cuekit task cleanup`."""

import os
from typing import TYPE_CHECKING

import click

from cuekit.cli import render
from cuekit.cli.options import DURATION, command, format_option, tasks_argument

if TYPE_CHECKING:
    from cuekit.service.cleanup import Removed

DISCARD = "Remove worktrees with all that is in them, and the branches made for them."
ENDS = ("completed", "failed", "cancelled", "timed_out", "blocked")


@command(
    "delete",
    help="Remove ended tasks, their files and what is left of their panes.\n\nA task that goes "
    "on is kept: cancel it first. So is one whose worktree holds what is not committed, or commits "
    "that are nowhere else. Exit status 4 when a task was kept.",
    short_help="Remove ended tasks and their files.",
    examples=("cuekit task delete t_4f9k2m1x", "cuekit task delete @last --dry-run"),
)
@tasks_argument
@click.option("--discard-worktree", is_flag=True, help=DISCARD)
@click.option("--dry-run", is_flag=True, help="Only tell what would be removed.")
@format_option
def delete(tasks: tuple[str, ...], discard_worktree: bool, dry_run: bool, fmt: str) -> int:
    """Remove the tasks that are named."""
    from cuekit.service.cleanup import delete as delete_tasks

    done = delete_tasks(tasks, os.environ, dry_run=dry_run, discard_worktree=discard_worktree)
    show_removed(done, dry_run, fmt)
    return 4 if done.kept else 0


@command(
    "cleanup",
    help="Remove all ended tasks that fit, with their files and panes.\n\nWithout --all these "
    "are the tasks of the project that you stand in.",
    short_help="Remove all ended tasks that fit.",
    examples=(
        "cuekit task cleanup --older-than 14d",
        "cuekit task cleanup --all --status completed --dry-run",
    ),
)
@click.option("--all", "every_project", is_flag=True, help="Tasks of every project.")
@click.option(
    "--older-than",
    type=DURATION,
    help="Only those that ended so long ago: 2h, 14d. By default retention.keep_for of your "
    "config.yaml, or all.",
)
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice(ENDS),
    help="Only those that ended so; may be repeated.",
)
@click.option("--discard-worktree", is_flag=True, help=DISCARD)
@click.option("--dry-run", is_flag=True, help="Only tell what would be removed.")
@format_option
def cleanup(
    every_project: bool,
    older_than: float | None,
    statuses: tuple[str, ...],
    discard_worktree: bool,
    dry_run: bool,
    fmt: str,
) -> int:
    """Remove what fits."""
    from cuekit.service.cleanup import cleanup as clean
    from cuekit.service.listing import wanted_tasks
    from cuekit.service.retention import keep_for

    age = keep_for(os.environ) if older_than is None else older_than
    wanted = wanted_tasks(statuses=statuses or ENDS, every_project=every_project)
    done = clean(
        os.environ,
        wanted=wanted,
        older_than_s=age,
        dry_run=dry_run,
        discard_worktree=discard_worktree,
    )
    show_removed(done, dry_run, fmt)
    return 1 if done.kept else 0


def show_removed(done: "Removed", dry_run: bool, fmt: str) -> None:
    """Print what was removed and what was kept."""
    verb = "would remove" if dry_run else "removed"
    lines = [f"{verb} {task_id}" for task_id in done.removed]
    for it in done.kept:
        lines.append(f"kept {it['task_id']}: {render.visible(it['reason'])}")
        if it["reason"].startswith(("its worktree", "its branch")):
            lines.append(
                f"  try: look at it, then cuekit task delete {it['task_id']} --discard-worktree"
            )
    render.emit(done.as_json(), fmt, lambda _: "\n".join(lines) or "nothing to remove")
