"""`cuekit trust`: give, show and take back trust."""

import os
from typing import Any

import click

from cuekit.cli import render
from cuekit.cli.config import value_text
from cuekit.cli.groups import Entry, LazyGroup
from cuekit.cli.options import command, format_option

GROUP_COMMANDS = {
    "show": Entry("cuekit.cli.trust", "show", "Show what is trusted, and what of it counts here."),
    "revoke": Entry("cuekit.cli.trust", "revoke", "Take trust back from a folder."),
}
FOLDER = "[FOLDER]"


class _TrustGroup(LazyGroup):
    """`trust FOLDER` gives trust; a folder named as a command is written `./show`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read anything but a command's name and a call for help as the giving of trust."""
        if not args or args[0] not in (*self.table, *ctx.help_option_names):
            args = ["give", *args]
        return super().parse_args(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The commands of the table, and the unnamed one."""
        return give if cmd_name == "give" else super().get_command(ctx, cmd_name)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Both ways to call it."""
        return ["[FOLDER] [--force] | show | revoke [FOLDER]"]


group = _TrustGroup(
    "trust",
    GROUP_COMMANDS,
    help="Trust a folder, and the present content of its .cuekit.yaml.\n\n"
    "Without FOLDER it is the root of this git repository, or this folder. Agents then start in "
    "it and in the folders below (not in another repository there) without their own question "
    "about trust, and its .cuekit.yaml may name programs and widen permissions, until the file "
    "changes. --force also takes folders that hold far more than one project.",
    short_help="Trust a folder and its .cuekit.yaml.",
    examples=("cuekit trust", "cuekit trust ~/src/project", "cuekit trust show"),
)


@command(
    "trust",
    help="Trust a folder, and the present content of its .cuekit.yaml.",
    examples=("cuekit trust", "cuekit trust ~/src/project"),
)
@click.argument("folder", required=False, metavar=FOLDER)
@click.option("--force", is_flag=True, help="Also a folder that holds far more than one project.")
@format_option
def give(folder: str | None, force: bool, fmt: str) -> None:
    """Give trust, and say what it allows."""
    from cuekit.service import configuration
    from cuekit.service.lookup import current_folder

    given = configuration.give_trust(folder, current_folder(), os.environ, force=force)
    render.emit(given, fmt, _given_text)


def _given_text(given: dict[str, Any]) -> str:
    lines = [f"trusted  {render.visible(given['folder'])}"]
    if given["config"]:
        lines.append(f"trusted  {render.visible(given['config']['path'])}, as it is now")
    lines += [
        f"  it may set  {render.one_line(row['name'])}: {value_text(row['value'])}"
        for row in given["allows"]
    ]
    return "\n".join(lines)


@command(
    "show",
    help="Show what is trusted, and what of it counts here.",
    examples=("cuekit trust show", "cuekit trust show --format json"),
)
@format_option
def show(fmt: str) -> None:
    """Print the whole record."""
    from cuekit.service import configuration
    from cuekit.service.lookup import current_folder

    render.emit(configuration.show_trust(current_folder(), os.environ), fmt, _shown_text)


def _shown_text(shown: dict[str, Any]) -> str:
    here = shown["here"]
    trusted = "trusted" if here["folder_trusted"] else "not trusted"
    lines = [f"this folder is {trusted}: {render.visible(here['folder'])}"]
    if here["config"]:
        trusted = "trusted" if here["config_trusted"] else "not trusted"
        lines.append(f"its configuration is {trusted}: {render.visible(here['config'])}")
    rows = [
        [
            render.one_line(entry["folder"]),
            "folder" if entry["exists"] else "missing",
            entry["given_at"],
        ]
        for entry in shown["folders"]
    ] + [
        [render.one_line(entry["path"]), entry["state"], entry["given_at"]]
        for entry in shown["contents"]
    ]
    if rows:
        lines += ["", render.table(("TRUSTED", "STATE", "SINCE"), rows, render.screen_width())]
    return "\n".join(lines)


@command(
    "revoke",
    help="Take trust back from a folder and from its .cuekit.yaml. The folder may be gone.\n\n"
    "Without FOLDER it is the root of this git repository, or this folder.",
    short_help="Take trust back from a folder.",
    examples=("cuekit trust revoke", "cuekit trust revoke ~/src/project"),
)
@click.argument("folder", required=False, metavar=FOLDER)
@format_option
def revoke(folder: str | None, fmt: str) -> None:
    """Take trust back, and say from what."""
    from cuekit.service import configuration
    from cuekit.service.lookup import current_folder

    taken = configuration.revoke_trust(folder, current_folder(), os.environ)
    render.emit(
        taken,
        fmt,
        lambda value: "\n".join(
            f"no longer trusted  {render.visible(path)}" for path in value["revoked"]
        ),
    )
