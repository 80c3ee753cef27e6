"""The command line: its table of commands, and the one place where failures become words."""

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from cuekit import __version__
from cuekit.cli import render
from cuekit.cli.groups import Entry, LazyGroup
from cuekit.errors import CuekitError, InvalidInput

INTERRUPTED = 130
OUTPUT_CLOSED = 141
"""What a shell shows for a program that SIGPIPE ended: the reader of the output went away."""

COMMANDS = {
    "task": Entry("cuekit.cli.task", "group", "Start, watch, steer and end tasks."),
    "approval": Entry("cuekit.cli.approval", "group", "See what agents ask leave for, and answer."),
    "adapter": Entry("cuekit.cli.adapter", "group", "See which agents can be given a task."),
    "agent": Entry(
        "cuekit.cli.agent", "group", "See the roles that an agent can be given with --role."
    ),
    "session": Entry("cuekit.cli.session", "group", "See the tasks of each parent."),
    "init": Entry("cuekit.cli.init", "init", "Write a safe .cuekit.yaml for this project."),
    "config": Entry("cuekit.cli.config", "group", "See what is configured."),
    "trust": Entry("cuekit.cli.trust", "group", "Trust a folder and its .cuekit.yaml."),
    "doctor": Entry("cuekit.cli.doctor", "doctor", "See what a task needs, and what to mend."),
    "recover": Entry(
        "cuekit.cli.recover", "recover", "Go on with what a reboot or a crash broke off."
    ),
    "mcp": Entry("cuekit.cli.mcp", "group", "Give agents cuekit as an MCP server."),
    "completion": Entry("cuekit.cli.completion_command", "group", "Completion for your shell."),
}


class _OutputClosed(Exception):
    """The reader of standard output is gone."""


class _Root(LazyGroup):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _OutputClosed from None


def _print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        render.say(f"cuekit {__version__}")
        ctx.exit()


def _serve_mcp(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from cuekit.mcp_server.serve import serve  # a second and 60 MiB, here alone

        ctx.exit(serve())


root = _Root(
    "cuekit",
    COMMANDS,
    help="Hand a task to a coding agent in a tmux pane of its own, and stay in command of it.",
    examples=(
        'cuekit task submit --agent-kind codex "write the tests that are missing"',
        "cuekit task list",
        'cuekit task steer @last "use pytest, not unittest"',
        "cuekit task wait @last && cuekit task result @last",
    ),
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_print_version,
            help="Show the version and exit.",
        ),
        click.Option(
            ["--mcp"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_serve_mcp,
            help="Serve MCP on standard input and output, for an agent that delegates.",
        ),
    ],
)


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command line; its exit status.

    0 done, 1 failed, 2 wrong usage, 3 not found, 4 not possible in this state, 5 timed out,
    6 a task that was waited for ended other than completed, 130 interrupted.
    """
    _fill_closed_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    fmt = "json" if _wants_json(arguments) else "text"
    try:
        status = root.main(arguments, prog_name="cuekit", standalone_mode=False)
        sys.stdout.flush()
    except _OutputClosed:
        return _output_closed()
    except BrokenPipeError:
        return _output_closed()
    except SystemExit as stopped:  # click's own: completion, or a closed pipe while it prints help
        return stopped.code if isinstance(stopped.code, int) else 0
    except click.exceptions.NoArgsIsHelpError as called_bare:
        if fmt == "text" and called_bare.ctx is not None:
            render.say(called_bare.ctx.get_help())
            return 0
        return _report(called_bare, fmt)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:  # the boundary: nothing gets past it as a traceback
        return _report(error, fmt)
    return status if isinstance(status, int) else 0


def _report(error: Exception, fmt: str) -> int:
    """Tell the user of a failure; its exit status."""
    failure = _failure(error)
    with contextlib.suppress(OSError, ValueError):  # ValueError: stream closed
        render.show_error(failure, fmt)
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _discard_output()
    return failure.exit_status


def _fill_closed_streams() -> None:
    """Put the null device where the caller closed a standard stream.

    Else the next file that is opened, the store perhaps, gets that number.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 lives as long as we


def _wants_json(arguments: Sequence[str]) -> bool:
    """Whether the caller asked for JSON, told even where the command line is wrong elsewhere."""
    before = list(arguments)
    if "--" in before:
        before = before[: before.index("--")]
    pairs = zip(before, [*before, ""][1:], strict=True)
    return any(
        word == "--format=json" or (word == "--format" and after == "json") for word, after in pairs
    )


def _failure(error: Exception) -> CuekitError:
    if isinstance(error, CuekitError):
        return error
    if isinstance(error, click.ClickException):
        return _usage_failure(error)
    sqlite = sys.modules.get("sqlite3")
    if sqlite is not None and isinstance(error, sqlite.Error):
        return _store_failure(error)
    from cuekit.cli.crash import internal_failure

    return internal_failure(error, os.environ)


def _usage_failure(error: click.ClickException) -> CuekitError:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "cuekit"
    bare = isinstance(error, click.exceptions.NoArgsIsHelpError)
    message = "a command is missing" if bare else error.format_message()
    message = message[:1].lower() + message[1:]
    return InvalidInput(message.rstrip("."), code="usage", hint=f"{path} --help")


def _store_failure(error: Exception) -> CuekitError:
    from cuekit.service.lookup import store_failure

    return store_failure(error, os.environ)


def _output_closed() -> int:
    _discard_output()
    return OUTPUT_CLOSED


def _discard_output() -> None:
    """Say nothing more, also not when the interpreter flushes what it still holds."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
