"""`cuekit task steer`."""

import os
from typing import Any

import click

from cuekit.cli import render, texts
from cuekit.cli.options import DURATION, command, format_option, task_argument
from cuekit.cli.task_status import field
from cuekit.errors import InvalidInput
from cuekit.paths import home_from


@command(
    "steer",
    help="Send a message to a task's agent, exactly as it is, as one message.\n\n- reads it from "
    "standard input. What was seen of the message is printed: submitted, queued, held, or typed "
    "without a sign that the agent took it. A message that begins with a dash goes after --.",
    short_help="Send a message to a task's agent.",
    examples=(
        'cuekit task steer @last "use pytest, not unittest"',
        "cuekit task steer t_4f9k2m1x --wait --timeout 10m - < review.md",
        'cuekit task steer @last -- "--verbose is what I meant"',
        "cuekit task steer @last --key Escape",
    ),
)
@task_argument
@click.argument("message", required=False)
@click.option("--wait", is_flag=True, help="Wait for the agent's answer and print it.")
@click.option("--timeout", type=DURATION, help="With --wait or --when-idle: at most so long.")
@click.option("--when-idle", is_flag=True, help="Wait until the agent is idle, then send it.")
@click.option("--interrupt", is_flag=True, help="Break off what the agent does, then send it.")
@click.option("--no-submit", is_flag=True, help="Only type it; leave it in the agent's composer.")
@click.option("--as-command", is_flag=True, help="Let a first / ! $ @ # act as the agent has it.")
@click.option("--force", is_flag=True, help="Send it though the composer may hold a draft.")
@click.option("--key", metavar="NAME", help="Press this key instead, by its tmux name: C-c.")
@format_option
def steer(
    task: str,
    message: str | None,
    wait: bool,
    timeout: float | None,
    when_idle: bool,
    interrupt: bool,
    no_submit: bool,
    as_command: bool,
    force: bool,
    key: str | None,
    fmt: str,
) -> None:
    """Deliver the message and print the receipt."""
    if (message is None) == (key is None):
        raise InvalidInput(
            "give a message, or --key", code="usage", hint="cuekit task steer --help"
        )
    if wait and (no_submit or key is not None):
        raise InvalidInput("--wait needs a message that is submitted", code="usage")
    text = texts.text_from(message, "message") if message is not None else ""

    from cuekit.service.steer import steer as steer_task

    done = {"ok": True} | steer_task(
        home_from(os.environ),
        os.environ,
        task,
        text,
        wait=wait,
        timeout=timeout,
        when_idle=when_idle,
        interrupt=interrupt,
        no_submit=no_submit,
        as_command=as_command,
        force=force,
        key=key,
    )
    render.emit(done, fmt, receipt_text)


def receipt_text(done: dict[str, Any]) -> str:
    """The agent's answer where it was waited for, else what was seen of the message."""
    receipt = done["receipt"]
    seen = f", seen by {receipt['evidence']}" if receipt.get("evidence") else ""
    turn = f", turn {receipt['turn']}" if receipt.get("turn") is not None else ""
    lines = [f"{done['task_id']}  {receipt['state']}{turn}{seen}"]
    lines += [field("note", render.visible(str(text))) for text in done.get("warnings", [])]
    if done.get("answer") is not None:
        for line in lines:
            render.tell(line)
        return render.visible(str(done["answer"]))
    return "\n".join(lines)
