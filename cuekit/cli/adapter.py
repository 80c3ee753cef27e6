"""`cuekit adapter`: the agents that a task can be given to."""

import os
from typing import Any

import click

from cuekit.cli import render
from cuekit.cli.groups import Entry, LazyGroup
from cuekit.cli.options import command, format_option

GROUP_COMMANDS = {
    "list": Entry("cuekit.cli.adapter", "list_adapters", "List the agents and what each can do."),
}
EXAMPLES = ("cuekit adapter list", "cuekit adapter list --format json")

group = LazyGroup(
    "adapter",
    GROUP_COMMANDS,
    help="See which agents can be given a task, which are installed, and what each can do.",
    short_help="See which agents can be given a task.",
    examples=EXAMPLES,
)

HEADERS = ("AGENT", "VERSION", "VERIFIED", "FOUND", "FLAGS FROM")
ABILITY_HEADERS = ("AGENT", "SUPERVISED", "INTERACTIVE", "BATCH")
ABILITIES = {
    "supports_steering": "steer",
    "supports_attach": "attach",
    "supports_model_selection": "model",
    "supports_interrupt": "interrupt",
    "follow_up_while_running": "follow-up",
    "supports_activity": "activity",
    "supports_approvals": "approvals",
    "supports_resume": "resume",
    "supports_fork": "fork",
    "supports_live_progress": "live-progress",
    "can_modify_tool_input": "change-input",
    "partial_message_streaming": "streaming",
    "emits_file_change_events": "file-changes",
}


@command(
    "list",
    help="List every agent kind: the program found on your PATH (or configured) and its version, "
    "whether cuekit was tried with it, and what it can do in each mode.\n\n"
    "Each program is asked once for --version and --help; the answers are kept until its file "
    "changes.",
    short_help="List the agents and what each can do.",
    examples=EXAMPLES,
)
@click.option("--cwd", metavar="FOLDER", help="Whose configuration counts; by default this one.")
@format_option
def list_adapters(cwd: str | None, fmt: str) -> None:
    """Print the agents as two tables or as JSON."""
    from cuekit.service import adapters
    from cuekit.service.lookup import current_folder

    folder = cwd if cwd is not None else current_folder()
    render.emit(adapters.adapter_list(folder, os.environ), fmt, as_text)


def as_text(value: dict[str, Any]) -> str:
    """The table of programs, then that of abilities."""
    width = render.screen_width()
    found = [_found_row(adapter) for adapter in value["adapters"]]
    able = [
        [
            adapter["agent_kind"],
            "yes" if "supervised" in adapter["modes"] else "no",
            abilities(adapter["modes"]["interactive"]),
            abilities(adapter["modes"]["batch"]),
        ]
        for adapter in value["adapters"]
    ]
    return "\n\n".join(
        [
            render.table(HEADERS, found, width),
            render.table(ABILITY_HEADERS, able, width),
        ]
    )


def abilities(capabilities: dict[str, bool]) -> str:
    """What is true of the capabilities of a mode, in short words."""
    return " ".join(word for name, word in ABILITIES.items() if capabilities[name])


def _found_row(adapter: dict[str, Any]) -> list[str]:
    found = adapter["path"] or f"not installed: {adapter['install_hint']}"
    return [
        adapter["agent_kind"],
        render.one_line(adapter["version"] or "-"),
        "yes" if adapter["verified"] else "no",
        render.one_line(found),
        render.one_line(adapter["values_from"]),
    ]
