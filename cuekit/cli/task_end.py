"""`cuekit task cancel` and `cuekit task finish`."""

import os

from cuekit.cli.options import command, format_option, task_argument, tasks_argument
from cuekit.cli.task_status import print_views


@command(
    "cancel",
    help="Stop tasks and end their processes.\n\nThe agent is asked first; then its whole "
    "process tree is ended and shown to be gone. A task that has ended stays as it is.",
    short_help="Stop tasks and end their processes.",
    examples=("cuekit task cancel @last", "cuekit task cancel t_4f9k2m1x t_8c1d0p7q"),
)
@tasks_argument
@format_option
def cancel(tasks: tuple[str, ...], fmt: str) -> None:
    """Cancel each task and print its status view."""
    from cuekit.service.cancel import cancel as cancel_tasks

    views = cancel_tasks(tasks, os.environ)
    print_views(views, fmt, several=len(tasks) > 1)


@command(
    "finish",
    help="End an idle agent politely: completed.\n\nRefused (exit status 4) while the agent "
    "works or waits for somebody.",
    short_help="End an idle agent politely: completed.",
    examples=("cuekit task wait @last --until idle && cuekit task finish @last",),
)
@task_argument
@format_option
def finish(task: str, fmt: str) -> None:
    """Finish one task and print its status view."""
    from cuekit.service.cancel import finish as finish_task

    print_views([finish_task(task, os.environ)], fmt, several=False)
