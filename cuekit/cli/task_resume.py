"""`cuekit task resume`."""

import os
import time

import click

from cuekit.cli import render, texts
from cuekit.cli.options import command, format_option, task_argument
from cuekit.cli.task_status import as_text as status_text


@command(
    "resume",
    help="Go on with the conversation of an ended task, in a new pane.\n\nThe new task is linked "
    "to the old one, and has its agent, folder, model and options. With --fork the old "
    "conversation stays as it is, and may still be running.",
    short_help="Go on with an ended conversation.",
    examples=(
        'cuekit task resume @last "now write the tests for it"',
        'cuekit task resume t_4f9k2m1x --fork "try it with sqlite instead"',
    ),
)
@task_argument
@click.argument("message")
@click.option("--fork", is_flag=True, help="Branch off; leave the old conversation as it is.")
@click.option(
    "--mode",
    type=click.Choice(["interactive", "batch", "supervised"]),
    help="Another mode than the old task's.",
)
@click.option("--trust", is_flag=True, help="Trust the working directory, as the agent asks it.")
@format_option
def resume(task: str, message: str, fork: bool, mode: str | None, trust: bool, fmt: str) -> None:
    """Start the new task and print its status."""
    from cuekit.service.resume import resume as resume_task

    text = texts.text_from(message, "message")
    view = resume_task(task, text, os.environ, fork=fork, mode=mode, trust=trust)
    render.emit(view, fmt, lambda it: status_text(it, time.time()))
