"""`task list`: order, scope, filters, pages, and how it looks."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cuekit.model.lifecycle import Status
from tests.support.command_line import CommandLine, cli
from tests.support.wait import wait_until

__all__ = ["cli"]


def ids(found: dict[str, Any]) -> list[str]:
    return [task["task_id"] for task in found["tasks"]]


@pytest.fixture
def five(cli: CommandLine, tmp_path: Path) -> CommandLine:
    """Four tasks of this project, and one of another."""
    cli.task("t_olddone0", Status.COMPLETED, created_at=10.0, labels=["a", "b"])
    cli.task("t_oldlive0", Status.RUNNING, created_at=20.0, labels=["a"], agent_kind="codex")
    cli.task("t_newdone0", Status.FAILED, created_at=30.0)
    cli.task("t_newlive0", Status.QUEUED, created_at=40.0)
    cli.task("t_other000", Status.RUNNING, created_at=50.0, session_id="s_other", cwd=tmp_path)
    return cli


def test_active_tasks_come_first_then_the_newest(five: CommandLine) -> None:
    assert ids(five.json("task", "list")) == [
        "t_newlive0",
        "t_oldlive0",
        "t_newdone0",
        "t_olddone0",
    ]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--all"], ["t_other000", "t_newlive0", "t_oldlive0", "t_newdone0", "t_olddone0"]),
        (["--session", "s_other"], ["t_other000"]),
        (["--session", "s_nobody"], []),
        (["--status", "failed", "--status", "running"], ["t_oldlive0", "t_newdone0"]),
        (["--agent-kind", "codex"], ["t_oldlive0"]),
        (["--label", "a"], ["t_oldlive0", "t_olddone0"]),
        (["--label", "a", "--label", "b"], ["t_olddone0"]),
        (["--label", "%"], []),
        (["--cwd", "."], ["t_newlive0", "t_oldlive0", "t_newdone0", "t_olddone0"]),
        (["--cwd", ".."], ["t_other000", "t_newlive0", "t_oldlive0", "t_newdone0", "t_olddone0"]),
        (["--cwd", "nowhere"], []),
    ],
)
def test_filters(five: CommandLine, words: list[str], wanted: list[str]) -> None:
    assert ids(five.json("task", "list", *words)) == wanted


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 9])
def test_the_pages_together_are_the_whole_list(five: CommandLine, limit: int) -> None:
    whole = ids(five.json("task", "list", "--all"))
    seen: list[str] = []
    cursor = None
    while True:
        more: list[str] = ["--cursor", cursor] if cursor else []
        page = five.json("task", "list", "--all", "--limit", str(limit), *more)
        assert len(page["tasks"]) <= limit
        seen += ids(page)
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == whole


def test_tasks_of_the_same_moment_are_paged_without_loss(cli: CommandLine) -> None:
    for letter in "abcde":
        cli.task(f"t_{letter * 8}", Status.COMPLETED, created_at=10.0)
    first = cli.json("task", "list", "--limit", "2")
    second = cli.json("task", "list", "--limit", "9", "--cursor", first["next_cursor"])
    assert ids(first) + ids(second) == [f"t_{letter * 8}" for letter in "abcde"]


def test_an_empty_list_says_where_to_look(cli: CommandLine) -> None:
    done = cli.run("task", "list")
    assert done.returncode == 0
    assert done.stdout == "TASK  STATUS  ACTIVITY  AGENT  TURN  AGE  NAME  SUMMARY\n"
    assert "cuekit task list --all" in done.stderr
    assert cli.json("task", "list") == {"tasks": [], "next_cursor": None}


def test_what_an_agent_says_cannot_act_on_the_terminal(cli: CommandLine) -> None:
    cli.task("t_aaaaaaaa", summary="red \x1b[31m\x9b2J bell\x07 \u202eabc\nsecond\tline")
    out = cli.out("task", "list")
    assert "red \\x1b[31m\\x9b2J bell\\x07 \\u202eabc second line" in out
    assert all(letter.isprintable() or letter == "\n" for letter in out)


def on_terminal(cli: CommandLine, columns: int, *words: str, **env: str) -> str:
    """What a command prints on a terminal of that width."""
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-m", "cuekit", *words],
        env={**cli.env, "TERM": "xterm", **env},
        cwd=cli.project,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    ):
        os.close(theirs)
        parts = []
        while True:
            try:
                parts.append(os.read(ours, 65536))
            except OSError:
                break
    os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [30, 60, 80, 120])
def test_a_table_fits_the_terminal(cli: CommandLine, columns: int) -> None:
    cli.task("t_aaaaaaaa", name="n" * 60, summary="你好世界 " * 40)
    cli.task("t_bbbbbbbb", summary="short")
    lines = on_terminal(cli, columns, "task", "list", NO_COLOR="1").splitlines()
    from cuekit.cli.render import width_of

    assert len(lines) == 3
    assert all(width_of(line) <= columns for line in lines)
    assert lines[1].startswith("t_bbbbbbbb")


def test_colour_is_for_terminals_and_not_against_no_color(cli: CommandLine) -> None:
    cli.task("t_aaaaaaaa", Status.FAILED)
    assert "\x1b[31mfailed\x1b[0m" in on_terminal(cli, 100, "task", "list")
    assert "\x1b" not in on_terminal(cli, 100, "task", "list", NO_COLOR="1")
    assert "\x1b" not in on_terminal(cli, 100, "task", "list", TERM="dumb")
    assert "\x1b" not in cli.out("task", "list")


def test_watch_prints_the_list_again_when_it_changes(cli: CommandLine) -> None:
    cli.task("t_aaaaaaaa")
    with subprocess.Popen(
        [sys.executable, "-m", "cuekit", "task", "list", "--watch", "--format", "json"],
        env=cli.env,
        cwd=cli.project,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert ids(json.loads(child.stdout.readline())) == ["t_aaaaaaaa"]
        cli.task("t_bbbbbbbb")
        assert ids(json.loads(child.stdout.readline())) == ["t_bbbbbbbb", "t_aaaaaaaa"]
        child.send_signal(2)
        wait_until(lambda: child.poll() is not None, 20)
    assert child.returncode == 130
