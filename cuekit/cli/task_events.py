"""`cuekit task events`."""

import os
from typing import Any

import click

from cuekit.cli import render
from cuekit.cli.options import command, format_option, task_argument

FIXED = frozenset({"seq", "time", "task_id", "kind"})
LONGEST_VALUE = 200


@command(
    "events",
    help="Print what happened to a task, event by event.\n\nWith --format json each line is an "
    "object {seq, time, task_id, kind, ...}; give the last seq to --since to go on from there.",
    short_help="Print what happened, event by event.",
    examples=(
        "cuekit task events @last",
        "cuekit task events t_4f9k2m1x --since 12 --follow --format json",
        "cuekit task events @last --kind status --kind turn_completed",
    ),
)
@task_argument
@click.option("--since", type=click.IntRange(0), default=0, metavar="SEQ", help="Only later ones.")
@click.option("--kind", "kinds", multiple=True, help="Only events of this kind; may be repeated.")
@click.option("--follow", is_flag=True, help="Go on until the task has ended.")
@format_option
def events(task: str, since: int, kinds: tuple[str, ...], follow: bool, fmt: str) -> None:
    """Print one line an event."""
    from cuekit.service.event_log import task_events

    for event in task_events(task, os.environ, since=since, kinds=kinds, follow=follow):
        render.emit(event, fmt, as_text)


def as_text(event: dict[str, Any]) -> str:
    """One event as one line for people."""
    values = " ".join(
        f"{name}={render.one_line(_shown(value))}"
        for name, value in event.items()
        if name not in FIXED and value is not None
    )
    return f"{event['seq']:>5}  {event['time']}  {event['kind']:<18}  {values}".rstrip()


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else render.as_json(value)
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"
