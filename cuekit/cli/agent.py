"""`cuekit agent`: the roles that an agent can be given."""

import os
from typing import Any

import click

from cuekit.cli import render
from cuekit.cli.groups import Entry, LazyGroup
from cuekit.cli.options import command, format_option

group = LazyGroup(
    "agent",
    {"list": Entry("cuekit.cli.agent", "list_agents", "List the roles and where each is from.")},
    help="See the roles that an agent can be given with --role.",
    examples=("cuekit agent list", 'cuekit task submit --role reviewer "review the last commit"'),
)


@command(
    "list",
    help="List the role profiles: those built in, yours in the folder agents of CUEKIT_HOME, and "
    "the project's in .cuekit/agents.\n\nA project's profile that you have not trusted (cuekit "
    "trust) may add a role, but not take the place of another.",
    short_help="List the roles and where each is from.",
    examples=("cuekit agent list", "cuekit agent list --instructions --format json"),
)
@click.option("--cwd", metavar="FOLDER", help="Whose project's roles; by default this one's.")
@click.option("--instructions", is_flag=True, help="Show what each role is told as well.")
@format_option
def list_agents(cwd: str | None, instructions: bool, fmt: str) -> None:
    """Print the roles."""
    from cuekit.service import roles
    from cuekit.service.lookup import current_folder

    folder = cwd if cwd is not None else current_folder()
    render.emit(roles.listed(folder, os.environ, instructions=instructions), fmt, as_text)


def as_text(value: dict[str, Any]) -> str:
    """A table, then the files that are no roles."""
    rows = [
        [
            one["id"],
            one["source"],
            one["agent_kind"] or "-",
            one["model"] or "-",
            render.one_line(one["description"]),
        ]
        for one in value["profiles"]
    ]
    headers = ("ROLE", "FROM", "AGENT", "MODEL", "WHAT IT DOES")
    parts = [render.table(headers, rows, render.screen_width())]
    for one in value["profiles"]:
        if "instructions" in one:
            parts.append(f"{one['id']}:\n{render.visible(one['instructions'])}")
    parts += [f"left out: {render.visible(line)}" for line in value["problems"]]
    return "\n\n".join(parts)
