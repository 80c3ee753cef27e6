"""`cuekit task result`."""

import os
from typing import Any

from cuekit.cli import render
from cuekit.cli.options import command, format_option, task_argument
from cuekit.cli.task_status import field, worktree_text
from cuekit.model.times import short_duration


@command(
    "result",
    help="Show what came out of a task: the agent's last message, exit, files, time.\n\nWhile "
    "the task goes on this is what there is so far (final: false). Exit status 0 whatever it is: "
    "`cuekit task wait` tells a success from a failure.",
    short_help="Show what came out of a task.",
    examples=(
        "cuekit task wait @last && cuekit task result @last",
        "cuekit task result t_4f9k2m1x --format json",
    ),
)
@task_argument
@format_option
def result(task: str, fmt: str) -> None:
    """Print the result."""
    from cuekit.service.result import result as result_of

    render.emit(result_of(task, os.environ), fmt, as_text)


def as_text(found: dict[str, Any]) -> str:
    """The result for people: the words of the agent first."""
    lines = [render.visible(found["summary"]).rstrip(), ""] if found["summary"] else []
    final = "" if found["final"] else ", not final"
    lines.append(f"{found['task_id']}  {render.coloured(found['status'])}{final}")
    if found["exit_signal"] is not None:
        lines.append(field("exit", f"signal {found['exit_signal']}"))
    elif found["exit_code"] is not None:
        lines.append(field("exit", str(found["exit_code"])))
    if found["duration_ms"] is not None:
        lines.append(field("took", short_duration(found["duration_ms"] / 1000)))
    if found["usage"]:
        lines.append(field("usage", ", ".join(f"{k} {v}" for k, v in found["usage"].items())))
    lines += [
        field("changed", render.one_line(f"{change['kind']} {change['path']}"))
        for change in found["files_changed"]
    ]
    if found["files_changed_note"]:
        lines.append(field("changed", render.visible(f"({found['files_changed_note']})")))
    if found["diff_stat"]:
        lines.append(field("diff", _diff(found["diff_stat"])))
    if found["worktree"]:
        lines.append(field("worktree", render.visible(worktree_text(found["worktree"]))))
    lines += [field(it["kind"], render.visible(it["path"])) for it in found["artifacts"]]
    if found["error"]:
        lines.append(field("error", render.visible(found["error"]["message"])))
        if found["error"]["hint"]:
            lines.append(field("try", render.visible(found["error"]["hint"])))
    return "\n".join(lines)


def _diff(stat: dict[str, int]) -> str:
    files = "1 file" if stat["files"] == 1 else f"{stat['files']} files"
    return f"{files}, +{stat['insertions']} -{stat['deletions']}"
