"""Help, version and completion: of every command, and without loading any of them."""

import os
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from cuekit import __version__
from cuekit.cli.groups import LazyGroup
from cuekit.cli.main import root
from cuekit.model.lifecycle import Status
from tests.support.command_line import CommandLine, cli

__all__ = ["cli"]


def groups(group: LazyGroup = root, path: tuple[str, ...] = ()) -> Iterator[tuple[str, LazyGroup]]:
    """Every group with its path."""
    yield " ".join(path), group
    for name, command in commands_of(group):
        if isinstance(command, LazyGroup):
            yield from groups(command, (*path, name))


def commands_of(group: LazyGroup) -> list[tuple[str, click.Command]]:
    context = click.Context(group)
    found = [(name, group.get_command(context, name)) for name in group.table]
    return [(name, command) for name, command in found if command is not None]


EVERY = [
    (f"{path} {name}".strip(), command)
    for path, group in groups()
    for name, command in commands_of(group)
]


@pytest.mark.parametrize(("path", "group"), list(groups()))
def test_the_table_says_of_each_command_what_it_says_of_itself(path: str, group: LazyGroup) -> None:
    told = {name: entry.help for name, entry in group.table.items()}
    assert told == {name: command.get_short_help_str(200) for name, command in commands_of(group)}


@pytest.mark.parametrize(("path", "command"), EVERY)
def test_each_help_runs_and_has_an_example(path: str, command: click.Command) -> None:
    context = click.Context(command, info_name=f"cuekit {path}")
    text = command.get_help(context)
    examples = text.partition("Examples:\n")[2].splitlines()
    assert examples
    assert any(f"cuekit {path}" in line for line in examples)


@pytest.mark.parametrize(("path", "command"), EVERY)
def test_each_command_takes_a_format(path: str, command: click.Command) -> None:
    if isinstance(command, LazyGroup):
        return
    formats = [option for option in command.params if "--format" in option.opts]
    assert len(formats) == 1
    assert getattr(formats[0].type, "choices", None) == ("text", "json")


def test_the_help_of_a_command_is_printed(cli: CommandLine) -> None:
    assert cli.out("task", "list", "--help").startswith("Usage: cuekit task list [OPTIONS]\n")


@pytest.mark.parametrize("words", [(), ("task",), ("completion",)])
def test_a_group_alone_shows_its_help(cli: CommandLine, words: tuple[str, ...]) -> None:
    assert cli.out(*words) == cli.out(*words, "--help")


def test_the_version_is_printed(cli: CommandLine) -> None:
    assert cli.out("--version") == f"cuekit {__version__}\n"


def modules_after(*words: str, env: dict[str, str] | None = None) -> set[str]:
    """The modules that are loaded once a command has run."""
    code = (
        "import sys\n"
        "from cuekit.cli.main import run\n"
        "run(sys.argv[1:])\n"
        "print('\\n' + ' '.join(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


def own(modules: set[str]) -> set[str]:
    return {name for name in modules if name.startswith("cuekit.")}


def test_the_first_help_loads_no_command() -> None:
    assert own(modules_after("--help")) == {
        "cuekit.cli",
        "cuekit.cli.groups",
        "cuekit.cli.main",
        "cuekit.cli.options",
        "cuekit.cli.render",
        "cuekit.errors",
        "cuekit.model",
        "cuekit.model.times",
    }


def test_the_help_of_a_group_loads_its_table_alone() -> None:
    assert own(modules_after("task", "--help")) - own(modules_after("--help")) == {
        "cuekit.cli.task"
    }


HEAVY = {
    "asyncio",
    "importlib.metadata",
    "libtmux",
    "pydantic",
    "pyte",
    "shellingham",
    "yaml",
    "hashlib",
    "secrets",
}


@pytest.mark.parametrize(
    ("words", "unwanted"),
    [
        (("task", "list"), {"json", "subprocess", "cuekit.panes", "cuekit.agents", "shutil"}),
        (("task", "list", "--format", "json"), {"subprocess", "cuekit.panes", "cuekit.agents"}),
        (("task", "status", "t_aaaaaaaa"), {"subprocess"}),
        (("task", "result", "t_aaaaaaaa"), {"subprocess"}),
    ],
)
def test_commands_that_look_load_nothing_heavy(
    cli: CommandLine, words: tuple[str, ...], unwanted: set[str]
) -> None:
    cli.task("t_aaaaaaaa", Status.COMPLETED)
    loaded = modules_after(*words, env=cli.env)
    assert loaded & (HEAVY | unwanted) == set()
    assert "cuekit.service.lookup" in loaded


def complete(cli: CommandLine, *words: str) -> list[str]:
    """What TAB offers after these words; the last one is incomplete."""
    done = cli.run(
        env={
            "_CUEKIT_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(("cuekit", *words)),
            "COMP_CWORD": str(len(words)),
        }
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def test_tab_offers_commands_options_and_tasks(cli: CommandLine) -> None:
    cli.task("t_aaaaaaaa")
    cli.task("t_bbbbbbbb")
    assert complete(cli, "tas") == ["task"]
    assert complete(cli, "task", "st") == ["status", "steer"]
    assert complete(cli, "task", "list", "--la") == ["--label"]
    assert complete(cli, "task", "status", "t_b") == ["t_bbbbbbbb"]
    assert complete(cli, "task", "status", "@") == ["@last"]


def test_tab_makes_no_store(cli: CommandLine) -> None:
    assert complete(cli, "task", "status", "t_") == []
    assert not os.path.exists(cli.home.root)


def test_tab_is_silent_about_a_broken_store(cli: CommandLine) -> None:
    os.makedirs(cli.home.root)
    with open(cli.home.database, "wb") as file:
        file.write(b"no database")
    assert complete(cli, "task", "status", "t_") == []


@pytest.mark.parametrize("spelling", ["--agent-kind", "--agent_kind"])
def test_both_spellings_of_an_option_are_taken(cli: CommandLine, spelling: str) -> None:
    cli.task("t_aaaaaaaa", agent_kind="codex")
    cli.task("t_bbbbbbbb", agent_kind="shell")
    found = cli.json("task", "list", spelling, "codex")
    assert [task["task_id"] for task in found["tasks"]] == ["t_aaaaaaaa"]
