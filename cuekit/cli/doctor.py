"""`cuekit doctor`."""

import os
from typing import Any

import click

from cuekit.cli import render
from cuekit.cli.options import command, format_option

MARKS = {"ok": "ok", "warning": "warn", "failure": "FAIL"}


@command(
    "doctor",
    examples=("cuekit doctor", "cuekit doctor --fix", "cuekit doctor --format json"),
)
@click.option("--fix", is_flag=True, help="Mend what is safe to mend without asking.")
@format_option
def doctor(fix: bool, fmt: str) -> int:
    """See what a task needs, and what to mend.

    Looks at tmux, the terminal, the store, the configuration and each agent. Every line says what
    was seen and, where something is wrong, what mends it. The exit status is 1 when anything is a
    failure; a warning is something to know of.
    """
    from cuekit.service.doctor import examine
    from cuekit.service.lookup import current_folder

    report = examine(os.environ, current_folder(), mend=fix)
    render.emit(report, fmt, _as_text)
    return 0 if report["ok"] else 1


def _as_text(report: dict[str, Any]) -> str:
    checks = report["checks"]
    width = max(len(check["name"]) for check in checks)
    lines = []
    for check in checks:
        mark = MARKS[check["state"]]
        lines.append(f"{mark:<4}  {check['name']:<{width}}  {render.one_line(check['detail'])}")
        if check["fix"] and check["state"] != "ok":
            lines.append(f"{'':<4}  {'':<{width}}  try: {render.one_line(check['fix'])}")
    counts = {state: sum(check["state"] == state for check in checks) for state in MARKS}
    lines.append(
        f"{counts['ok']} ok, {counts['warning']} to know of, {counts['failure']} to mend first"
    )
    return "\n".join(lines)
