"""`cuekit config`: what is configured, and where each value comes from."""

import os
from typing import Any

import click

from cuekit.cli import render
from cuekit.cli.groups import Entry, LazyGroup
from cuekit.cli.options import command, format_option

GROUP_COMMANDS = {
    "show": Entry("cuekit.cli.config", "show", "Show each setting, and where it comes from."),
}

group = LazyGroup(
    "config",
    GROUP_COMMANDS,
    help="See what is configured.",
    examples=("cuekit config show", "cuekit config show --cwd ../other --format json"),
)


@command(
    "show",
    help="Show each setting that is in force in a folder, and where it comes from: built in, or "
    "the file and the line.\n\n"
    "The project's .cuekit.yaml goes before the config.yaml in the folder CUEKIT_HOME. What the "
    "project's file may not say before you trust it is listed at the end.",
    short_help="Show each setting, and where it comes from.",
    examples=("cuekit config show", "cuekit config show --cwd ../other --format json"),
)
@click.option("--cwd", metavar="FOLDER", help="The folder to look from; by default this one.")
@format_option
def show(cwd: str | None, fmt: str) -> None:
    """Print the settings as a table or as JSON."""
    from cuekit.service import configuration
    from cuekit.service.lookup import current_folder

    folder = cwd if cwd is not None else current_folder()
    render.emit(configuration.show(folder, os.environ), fmt, as_text)


def as_text(shown: dict[str, Any]) -> str:
    """The table of settings, then what was ignored and why."""
    rows = [
        [row["name"], value_text(row["value"]), _source(row["source"])] for row in shown["settings"]
    ]
    parts = [render.table(("SETTING", "VALUE", "FROM"), rows, render.screen_width())]
    if shown["ignored"]:
        rows = [
            [row["name"], value_text(row["value"]), _source(row["source"])]
            for row in shown["ignored"]
        ]
        parts.append(render.table(("IGNORED", "VALUE", "FROM"), rows, render.screen_width()))
    parts += [render.visible(line) for line in shown["warnings"]]
    return "\n\n".join(parts)


def value_text(value: Any) -> str:
    """A setting's value for a table; `-` where nothing is set."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return render.one_line(value)
    return render.one_line(render.as_json(value))


def _source(source: str) -> str:
    return render.one_line(source)
