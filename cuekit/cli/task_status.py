"""`cuekit task status`, and the text of a status view that other commands print too."""

import os
import time
from collections.abc import Sequence
from typing import Any

from cuekit.cli import render
from cuekit.cli.options import command, format_option, tasks_argument
from cuekit.model.times import seconds_of, short_duration

LABEL_WIDTH = 12
SUMMARY_LINES = 12


@command(
    "status",
    help="Show what is known of tasks now.\n\nExit status 0 whatever state they are in.",
    short_help="Show what is known of tasks now.",
    examples=("cuekit task status @last", "cuekit task status t_4f9k2m1x --format json"),
)
@tasks_argument
@format_option
def status(tasks: tuple[str, ...], fmt: str) -> None:
    """Print one view a task."""
    from cuekit.service.status import status as status_of

    print_views(status_of(tasks, os.environ), fmt, several=len(tasks) > 1)


def print_views(views: Sequence[dict[str, Any]], fmt: str, *, several: bool) -> None:
    """Print status views: one as it is, several as `{tasks: [...]}`, or as text."""
    value = {"tasks": list(views)} if several else views[0]
    render.emit(value, fmt, lambda _: "\n\n".join(as_text(view, time.time()) for view in views))


def as_text(view: dict[str, Any], now: float) -> str:
    """One view as a block of lines for people."""
    lines = [f"{view['task_id']}  {render.coloured(view['status'])}  {_agent(view)}"]
    fields = [
        ("activity", _activity(view, now)),
        ("turn", _turn(view)),
        ("reported", _reported(view)),
        ("name", view["name"]),
        ("labels", ", ".join(view["labels"])),
        ("resumed", view["resumed_from"]),
        ("cwd", view["cwd"]),
        ("worktree", worktree_text(view["worktree"]) if view["worktree"] else None),
        ("times", _times(view, now)),
        ("exit", _exit(view)),
        ("attach", view["attach_hint"] if view["supports_attach"] else None),
        ("transcript", view["transcript_path"]),
        ("can", _abilities(view)),
    ]
    lines += [field(name, render.visible(text)) for name, text in fields if text]
    lines += [field("warning", render.visible(text)) for text in view["warnings"]]
    if view["error"]:
        lines.append(field("error", render.visible(view["error"]["message"])))
        if view["error"]["hint"]:
            lines.append(field("try", render.visible(view["error"]["hint"])))
    if view["summary"]:
        lines.append(field("says", _shortened(view["summary"])))
    return "\n".join(lines)


def worktree_text(worktree: dict[str, Any]) -> str:
    """A worktree in a few words."""
    return f"{worktree['path']} on {worktree['branch']}"


def field(name: str, text: str) -> str:
    """A named value; further lines of it stand under the first."""
    indent = " " * (LABEL_WIDTH + 2)
    return f"  {name:<{LABEL_WIDTH}}" + text.replace("\n", "\n" + indent)


def _agent(view: dict[str, Any]) -> str:
    model = f" {render.one_line(view['model'])}" if view["model"] else ""
    return f"{view['agent_kind']}{model}, {view['mode']}"


def _activity(view: dict[str, Any], now: float) -> str | None:
    if view["completed_at"] or view["activity"] == "unknown":
        return None
    text = str(view["activity"]).replace("_", " ")
    if view["activity_detail"]:
        text += f" ({view['activity_detail']})"
    if view["activity_since"]:
        text += f" for {short_duration(now - seconds_of(view['activity_since']))}"
    if view["activity_source"]:
        text += f", known from {view['activity_source'].replace('_', ' ')}"
    return text


def _turn(view: dict[str, Any]) -> str | None:
    if not view["turn"]:
        return None
    return str(view["turn"]) + (f", the last one {view['last_turn']}" if view["last_turn"] else "")


def _reported(view: dict[str, Any]) -> str | None:
    reported = view["reported"]
    if not reported:
        return None
    return f"{reported['type'].replace('_', ' ')}: {_shortened(reported['message'])}"


def _times(view: dict[str, Any], now: float) -> str:
    created = seconds_of(view["created_at"])
    if not view["completed_at"]:
        return f"made {view['created_at']}, {short_duration(now - created)} ago"
    took = short_duration(seconds_of(view["completed_at"]) - created)
    return f"made {view['created_at']}, ended {view['completed_at']} after {took}"


def _exit(view: dict[str, Any]) -> str | None:
    if view["exit_signal"] is not None:
        return f"signal {view['exit_signal']}"
    return str(view["exit_code"]) if view["exit_code"] is not None else None


def _abilities(view: dict[str, Any]) -> str | None:
    if view["completed_at"]:
        return None
    names = ("steering", "attach", "approvals")
    return ", ".join(name for name in names if view[f"supports_{name}"]) or "nothing but wait"


def _shortened(text: str) -> str:
    lines = render.visible(text.strip()).split("\n")
    rest = len(lines) - SUMMARY_LINES
    if rest > 0:
        lines = [*lines[:SUMMARY_LINES], f"... {rest} more lines: cuekit task result"]
    return "\n".join(lines)
