"""A click group that imports a command only when it is run, not for `--help` and not for TAB."""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from cuekit.cli.options import CONTEXT, write_examples

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Entry(NamedTuple):
    """Where a command is, and its one line of help."""

    module: str
    attribute: str
    help: str


class LazyGroup(click.Group):
    """A group over a table of entries; the table alone serves help and completion."""

    def __init__(self, name: str, table: Mapping[str, Entry], **settings: Any) -> None:
        self.examples: tuple[str, ...] = tuple(settings.pop("examples", ()))
        super().__init__(name, context_settings=CONTEXT, **settings)
        self.table = dict(table)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name."""
        entry = self.table.get(cmd_name)
        if entry is None:
            return None
        loaded: click.Command = getattr(importlib.import_module(entry.module), entry.attribute)
        return loaded

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but near names come from the table."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            if args[0].startswith("-"):
                raise
            raise click.UsageError(self._unknown(args[0]), ctx=ctx) from None

    def _unknown(self, name: str) -> str:
        import difflib

        near = difflib.get_close_matches(name, self.table, n=1)
        return f"no command {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table as a list."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self.table.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, as those of a command."""
        write_examples(self.examples, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Names from the table, options from the group itself."""
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(name, help=entry.help)
            for name, entry in self.table.items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)
