"""`cuekit completion`: TAB in bash, zsh and fish."""

import os
from typing import Any

import click

from cuekit.cli import completion, render
from cuekit.cli.groups import Entry, LazyGroup
from cuekit.cli.options import command, format_option

COMMANDS = {
    "install": Entry(
        "cuekit.cli.completion_command", "install", "Write the completion script of your shell."
    ),
    "show": Entry("cuekit.cli.completion_command", "show", "Print the script, write nothing."),
}

group = LazyGroup(
    "completion",
    COMMANDS,
    help="Completion for your shell.",
    examples=("cuekit completion install", "cuekit completion show --shell zsh"),
)

shell_option = click.option(
    "--shell",
    type=click.Choice(completion.SHELLS),
    help="The shell; by default the one that you type this in.",
)


@command(
    "install",
    help="Write the completion script of your shell.\n\nThe script is a file of cuekit's own; "
    "no file of yours is changed. Where your shell needs a line to load it, the line is printed.",
    short_help="Write the completion script of your shell.",
    examples=("cuekit completion install", "cuekit completion install --shell fish"),
)
@shell_option
@format_option
def install(shell: str | None, fmt: str) -> None:
    """Write the script and say what else there is to do."""
    shell = shell or completion.found_shell()
    place = completion.place(shell, os.environ)
    completion.write_script(place.path, completion.script(_root(), shell))
    done = {"shell": shell, "path": place.path, "line": place.line, "rc_file": place.rc_file}
    render.emit(done, fmt, _installed_text)


@command(
    "show",
    help="Print the script, write nothing.",
    examples=('eval "$(cuekit completion show --shell bash)"',),
)
@shell_option
@format_option
def show(shell: str | None, fmt: str) -> None:
    """Print the script of a shell."""
    shell = shell or completion.found_shell()
    text = completion.script(_root(), shell)
    render.emit({"shell": shell, "script": text}, fmt, lambda it: str(it["script"]))


def _root() -> click.Command:
    from cuekit.cli.main import root

    return root


def _installed_text(done: dict[str, Any]) -> str:
    lines = [f"wrote {done['path']}"]
    if done["shell"] == "fish":
        lines.append("fish loads it by itself, from the next shell on")
    elif done["shell"] == "bash":
        lines.append("bash-completion loads it by itself, from the next shell on; without it add")
        lines.append(f"  {done['line']}")
        lines.append(f"to {done['rc_file']}")
    else:
        lines += ["add this line, below `compinit`,", f"  {done['line']}", f"to {done['rc_file']}"]
    return "\n".join(lines)
