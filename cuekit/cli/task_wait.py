"""`cuekit task wait`."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cuekit.cli import render
from cuekit.cli.options import DURATION, command, format_option, tasks_argument
from cuekit.cli.task_status import print_views
from cuekit.model.times import short_duration

if TYPE_CHECKING:
    from cuekit.service.wait import Waited

TIMED_OUT = 5
ENDED_OTHERWISE = 6
QUIET_S = 2.0


@command(
    "wait",
    help="Wait until tasks end, idle or need somebody; then print their status.\n\n"
    "any: ended, idle after a turn, or waiting for somebody. terminal: ended. idle: a turn is "
    "over. approval: somebody is to decide or to answer. A task that has ended is never waited "
    "for. Exit status: 0, or 5 after --timeout, or 6 when a task ended other than completed.",
    short_help="Wait until tasks end, idle or need somebody.",
    examples=(
        "cuekit task wait @last",
        "cuekit task wait t_4f9k2m1x --until idle --after 3 --timeout 10m",
        "cuekit task wait t_4f9k2m1x t_8c1d0p7q --first --format json",
    ),
)
@tasks_argument
@click.option(
    "--until",
    type=click.Choice(["any", "terminal", "idle", "approval"]),
    default="any",
    show_default=True,
    help="What to wait for.",
)
@click.option(
    "--after",
    type=click.IntRange(0),
    metavar="TURN",
    help="Idle counts only after a later turn than this one.",
)
@click.option("--timeout", type=DURATION, help="Give up after so long: 90s, 30m, 2h.")
@click.option("--first", is_flag=True, help="Return as soon as one of the tasks is so.")
@format_option
def wait(
    tasks: tuple[str, ...],
    until: str,
    after: int | None,
    timeout: float | None,
    first: bool,
    fmt: str,
) -> int:
    """Wait, print the views, and give the exit status."""
    from cuekit.service.wait import Until
    from cuekit.service.wait import wait as wait_for

    line = ProgressLine(fmt)
    try:
        waited = wait_for(
            tasks,
            os.environ,
            until=Until(until),
            after=after,
            timeout_s=timeout,
            first=first,
            progress=line.show if line.wanted else None,
        )
    finally:
        line.clear()
    print_views(waited.views, fmt, several=len(tasks) > 1)
    return exit_status(waited, timeout)


def exit_status(waited: "Waited", timeout: float | None) -> int:
    """The status of a wait; says on standard error that it gave up."""
    if waited.timed_out:
        render.tell(f"cuekit: not so within {short_duration(timeout or 0)}; the task goes on")
        return TIMED_OUT
    return 0 if waited.all_completed else ENDED_OTHERWISE


class ProgressLine:
    """One line on a terminal's standard error, written over and over during a long wait."""

    def __init__(self, fmt: str) -> None:
        self.wanted = fmt == "text" and sys.stderr.isatty()
        self._shown = False

    def show(self, tasks: Sequence[object], waited_s: float) -> None:
        """Show what is waited for, once the wait is long enough to wonder."""
        if waited_s < QUIET_S:
            return
        width = render.screen_width(sys.stderr) or 80
        words = ", ".join(_words(task) for task in tasks)
        text = render.cut(f"waiting {short_duration(waited_s)}: {words}", width - 1)
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
        self._shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _words(task: object) -> str:
    status, activity = getattr(task, "status", ""), getattr(task, "activity", "")
    doing = activity if activity != "unknown" else status
    return f"{getattr(task, 'task_id', '')} {str(doing).replace('_', ' ')}"
