"""What the commands share: the command class with examples, option types, common options."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cuekit.errors import InvalidInput
from cuekit.model.times import parse_duration

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])


def normalized(token: str) -> str:
    """`--agent_kind` is `--agent-kind`: scripts write options in both ways."""
    return token.replace("_", "-")


CONTEXT = {
    "token_normalize_func": normalized,
    "help_option_names": ["-h", "--help"],
    "max_content_width": 100,
}


def write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    """Write example command lines as a section of the help."""
    if examples:
        with formatter.section("Examples"):
            for example in examples:
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")


class Command(click.Command):
    """A command whose help ends with examples."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they are, never rewrapped."""
        write_examples(self.examples, formatter)


def command(
    name: str, *, examples: Sequence[str], **settings: Any
) -> Callable[[Callable[..., Any]], Command]:
    """Make a function a command; `examples` are whole command lines."""
    return click.command(name, cls=Command, examples=examples, context_settings=CONTEXT, **settings)


class Duration(click.ParamType[float]):
    """A duration such as `90s`, `30m`, `2h`; the value is seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Seconds; a usage error for anything else."""
        if isinstance(value, float | int):
            return float(value)
        try:
            return parse_duration(str(value))
        except InvalidInput as error:
            self.fail(
                f"{error.message} ({error.hint})" if error.hint else error.message, param, ctx
            )


class TaskRef(click.ParamType[str]):
    """A task id, a unique prefix of it, or `@last`."""

    name = "task"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The reference as it was typed; the service resolves it."""
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        """The newest tasks whose id begins so; nothing at all when the store cannot be read."""
        import os

        from click.shell_completion import CompletionItem

        from cuekit.service.listing import completions

        return [
            CompletionItem(task_id, help=help_line)
            for task_id, help_line in completions(incomplete, os.environ)
        ]


DURATION = Duration()
TASK = TaskRef()


def format_option(function: F) -> F:
    """`--format text|json`, which every command has."""
    return click.option(
        "--format",
        "fmt",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Text for people, or one JSON object for programs.",
    )(function)


def task_argument(function: F) -> F:
    """One task."""
    return click.argument("task", type=TASK, metavar="ID")(function)


def tasks_argument(function: F) -> F:
    """One task or more."""
    return click.argument("tasks", type=TASK, metavar="ID...", nargs=-1, required=True)(function)
