"""`cuekit init`: a safe `.cuekit.yaml` to begin with."""

from typing import Any

import click

from cuekit.cli import render
from cuekit.cli.options import command, format_option


@command(
    "init",
    help="Write a .cuekit.yaml at the root of the git repository, or in this folder.\n\n"
    "It makes every agent ask before it acts (`permissions: prompt`). In a git repository "
    "`.cuekit/` is added to .gitignore.",
    short_help="Write a safe .cuekit.yaml for this project.",
    examples=("cuekit init --dry-run", "cuekit init", "cuekit init --force --no-gitignore"),
)
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--force", is_flag=True, help="Replace a .cuekit.yaml that is there already.")
@click.option("--no-gitignore", is_flag=True, help="Leave .gitignore as it is.")
@click.option(
    "--unsafe-bypass", is_flag=True, help="Write `permissions: bypass` in place of `prompt`."
)
@format_option
def init(dry_run: bool, force: bool, no_gitignore: bool, unsafe_bypass: bool, fmt: str) -> None:
    """Write the file and say what was done."""
    from cuekit.service import configuration
    from cuekit.service.lookup import current_folder

    done = configuration.init(
        current_folder(),
        dry_run=dry_run,
        force=force,
        gitignore=not no_gitignore,
        unsafe_bypass=unsafe_bypass,
    )
    render.emit(done, fmt, as_text)
    if fmt == "text":
        for line in done["warnings"]:
            render.tell(f"cuekit: {render.visible(line)}")


def as_text(done: dict[str, Any]) -> str:
    """One line a file, with what was done to it or would be."""
    would = "would be " if done["dry_run"] else ""
    return "\n".join(
        f"{'' if entry['action'] == 'skipped' else would}{entry['action']}  "
        f"{render.visible(entry['path'])}"
        for entry in done["files"]
    )
