"""`cuekit task transcript`."""

import os
import sys

import click

from cuekit.cli import render
from cuekit.cli.options import command, format_option, task_argument
from cuekit.errors import InvalidInput


@command(
    "transcript",
    help="Print what the task's pane showed, as readable text.\n\nThe bytes themselves, colours "
    "and cursor movements included, are printed by --raw, and are in the file that `cuekit task "
    "status` names.",
    short_help="Print what the task's pane showed.",
    examples=(
        "cuekit task transcript @last",
        "cuekit task transcript t_4f9k2m1x --tail 50",
        "cuekit task transcript @last --follow",
        "cuekit task transcript @last --raw > session.bin",
    ),
)
@task_argument
@click.option("--raw", is_flag=True, help="The bytes as they came.")
@click.option("--follow", is_flag=True, help="Go on until the task has ended.")
@click.option("--tail", type=click.IntRange(0), metavar="N", help="Only the last N lines.")
@click.option("--screen", is_flag=True, help="What attaching would show now.")
@format_option
def transcript(
    task: str, raw: bool, follow: bool, tail: int | None, screen: bool, fmt: str
) -> None:
    """Print lines, bytes or the screen."""
    _check(raw=raw, follow=follow, tail=tail, screen=screen, fmt=fmt)
    from cuekit.service import transcript as service

    if raw:
        for data in service.raw(task, os.environ, follow=follow):
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
    elif screen:
        text = service.screen(task, os.environ)
        render.emit({"screen": text}, fmt, lambda it: render.visible(it["screen"]))
    elif fmt == "json":
        lines = list(service.readable(task, os.environ, tail=tail))
        render.say(render.as_json({"lines": lines}))
    else:
        for line in service.readable(task, os.environ, follow=follow, tail=tail):
            render.say(render.visible(line))


def _check(*, raw: bool, follow: bool, tail: int | None, screen: bool, fmt: str) -> None:
    chosen = [
        name
        for name, wanted in (("--raw", raw), ("--tail", tail is not None), ("--screen", screen))
        if wanted
    ]
    if len(chosen) > 1:
        raise InvalidInput(f"{' and '.join(chosen)} exclude each other", code="usage")
    if follow and (screen or tail is not None):
        raise InvalidInput(f"--follow and {chosen[0]} exclude each other", code="usage")
    if fmt == "json" and (raw or follow):
        raise InvalidInput("--format json goes with neither --raw nor --follow", code="usage")
