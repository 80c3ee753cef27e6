"""`cuekit task report`, for the child itself."""

import os
from typing import Any

import click

from cuekit.cli import render, texts
from cuekit.cli.options import command, format_option
from cuekit.errors import InvalidInput

STATES = {
    "stored": "reported",
    "late": "kept, though the task has ended",
    "duplicate": "reported already under that key",
    "left": "left for the task's supervisor, since the store cannot be written from here",
}


@command(
    "report",
    help="For the agent of a task: tell its parent how the work goes.\n\nTask and token come from "
    "the environment that the agent was started with. completed, failed and blocked say how it "
    "came out, help_requested that it cannot go on without an answer. Reporting ends nothing.",
    short_help="For the agent itself: report to its parent.",
    examples=(
        'cuekit task report --type progress --message "half of the tests pass"',
        'cuekit task report --type help_requested --message "which of the two APIs?"',
        "cuekit task report --type completed --message done --payload '{\"tests\": 14}' --key end",
    ),
)
@click.option(
    "--type",
    "kind",
    required=True,
    metavar="TYPE",
    help="progress, log, completed, failed, blocked or help_requested.",
)
@click.option("--message", required=True, metavar="TEXT", help="What to tell; - reads it.")
@click.option("--payload", metavar="JSON", help="Anything more, for programs.")
@click.option("--key", metavar="TEXT", help="The same key again is the same report.")
@format_option
def report(kind: str, message: str, payload: str | None, key: str | None, fmt: str) -> None:
    """Hand the report in and say what became of it."""
    from cuekit.service.report import report as hand_in

    text = texts.text_from(message, "message")
    done = hand_in(kind, text, os.environ, payload=_parsed(payload), key=key)
    render.emit(done, fmt, lambda it: f"{it['task_id']}  {it['type']}: {STATES[it['state']]}")


def _parsed(payload: str | None) -> Any:
    if payload is None:
        return None
    import json

    try:
        return json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"--payload is not JSON: {error}", code="bad_json", hint="--payload '{\"tests\": 14}'"
        ) from None
