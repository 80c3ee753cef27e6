"""What goes wrong, command by command: the code, the exit status, one clear line, nothing made."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cuekit.model.lifecycle import Status
from tests.support.command_line import CommandLine, cli
from tests.support.wait import wait_until

__all__ = ["cli"]

ONE_TASK = ["status", "wait", "result", "finish", "transcript", "events", "cancel", "delete"]


@pytest.mark.parametrize("command", [*ONE_TASK, "attach"])
def test_an_unknown_id_is_not_found(cli: CommandLine, command: str) -> None:
    assert cli.error("task", command, "t_nowhere") == (3, "task_not_found")


def test_a_steer_of_an_unknown_task_is_not_found(cli: CommandLine) -> None:
    assert cli.error("task", "steer", "t_nowhere", "hello") == (3, "task_not_found")


@pytest.mark.parametrize("command", ONE_TASK)
def test_last_without_a_task_is_not_found(cli: CommandLine, command: str) -> None:
    assert cli.error("task", command, "@last") == (3, "task_not_found")


@pytest.mark.parametrize(
    "ref", ["", "x", "../../etc", "t_AAAAAAAA", "t_aaaaaaaaa", "t_aa;rm", "t_%"]
)
def test_what_is_no_id_is_not_found(cli: CommandLine, ref: str) -> None:
    cli.task("t_aaaaaaaa")
    assert cli.error("task", "status", ref) == (3, "task_not_found")


def test_an_ambiguous_prefix_names_the_candidates(cli: CommandLine) -> None:
    cli.task("t_aaaaaaaa")
    cli.task("t_aaaabbbb")
    assert cli.error("task", "status", "t_aa") == (2, "ambiguous_id")
    error = json.loads(cli.run("task", "status", "t_aa", "--format", "json").stderr)["error"]
    assert error["details"] == {"candidates": ["t_aaaaaaaa", "t_aaaabbbb"]}
    assert error["message"] == "'t_aa' fits more than one task: t_aaaaaaaa, t_aaaabbbb"


def test_a_prefix_of_three_is_too_short_and_one_of_four_is_enough(cli: CommandLine) -> None:
    cli.task("t_aaaaaaaa")
    assert cli.error("task", "status", "t_a") == (2, "short_prefix")
    assert cli.json("task", "status", "t_aa")["task_id"] == "t_aaaaaaaa"


@pytest.mark.parametrize(
    "words",
    [
        ("task", "nonsense"),
        ("nonsense",),
        ("task", "status"),
        ("task", "list", "--status", "asleep"),
        ("task", "list", "--limit", "0"),
        ("task", "list", "--nonsense"),
        ("task", "wait", "t_aaaaaaaa", "--timeout", "90"),
        ("task", "wait", "t_aaaaaaaa", "--until", "never"),
        ("task", "wait", "t_aaaaaaaa", "--after", "-1"),
        ("task", "steer", "t_aaaaaaaa"),
        ("task", "steer", "t_aaaaaaaa", "hello", "--key", "C-c"),
        ("task", "steer", "t_aaaaaaaa", "hello", "--wait", "--no-submit"),
        ("task", "transcript", "t_aaaaaaaa", "--raw", "--tail", "3"),
        ("task", "transcript", "t_aaaaaaaa", "--follow", "--screen"),
        ("task", "transcript", "t_aaaaaaaa", "--tail", "some"),
        ("task", "events", "t_aaaaaaaa", "--since", "yesterday"),
        ("task", "cleanup", "--older-than", "soon"),
        ("task", "cleanup", "--status", "running"),
        ("task", "submit", "x", "--attach", "--wait"),
        ("task", "submit", "x", "--file", "y"),
        ("task", "submit"),
        ("task", "submit", "x", "--mode", "sideways"),
        ("task", "submit", "x", "--timeout", "forever"),
        ("completion", "install", "--shell", "csh"),
    ],
)
def test_wrong_usage_is_status_2(cli: CommandLine, words: tuple[str, ...]) -> None:
    cli.task("t_aaaaaaaa")
    assert cli.error(*words) == (2, "usage")
    assert os.listdir(cli.project) == [".cuekit"]  # of the task above


def test_attaching_without_a_terminal_starts_nothing(cli: CommandLine) -> None:
    submit = ("task", "submit", "--agent-kind", "shell", "true", "--attach")
    assert cli.error(*submit) == (2, "no_terminal")
    assert os.listdir(cli.project) == []


def test_near_names_are_offered(cli: CommandLine) -> None:
    assert cli.run("tusk", "list").stderr == (
        "cuekit: no command 'tusk'; did you mean 'task'?\n  try: cuekit --help\n"
    )
    assert "'--status'" in cli.run("task", "list", "--statu", "running").stderr


@pytest.mark.parametrize(
    ("words", "given", "code"),
    [
        (("x", "--adapter-options", "{"), b"", "bad_json"),
        (("x", "--adapter-options", "[1]"), b"", "bad_json"),
        (("x", "--adapter-options", "[" * 100_000), b"", "bad_json"),
        (("--file", "not-there"), b"", "no_file"),
        (("--file", "."), b"", "no_file"),
        (("-",), b"\xff\xfe", "invalid_utf8"),
        (("-",), b"a\0b", "nul_in_text"),
        (("-",), b" \n", "empty_objective"),
        (("",), b"", "empty_objective"),
        (("x", "--constraint", "\udcff"), b"", "invalid_utf8"),
        (("-",), b"a" * 1_000_001, "objective_too_long"),
    ],
)
def test_texts_that_no_agent_can_be_given(
    cli: CommandLine, words: tuple[str, ...], given: bytes, code: str
) -> None:
    submit = ("task", "submit", "--agent-kind", "shell", *words)
    assert cli.error(*submit, given=given) == (2, code)
    assert os.listdir(cli.project) == []
    assert not os.path.exists(cli.home.database)


def test_a_cursor_that_is_none_is_refused(cli: CommandLine) -> None:
    for cursor in ("x", "a_nan_t_x", "e__", "a_1e999", "a_-1_t_x"):
        assert cli.error("task", "list", "--cursor", cursor) == (2, "bad_cursor")


def test_a_transcript_that_is_not_there(cli: CommandLine) -> None:
    cli.task("t_aaaaaaaa")
    assert cli.error("task", "transcript", "t_aaaaaaaa") == (3, "no_transcript")


def test_a_transcript_that_is_a_link_is_not_followed(cli: CommandLine) -> None:
    folder = cli.task("t_aaaaaaaa")
    (folder / "transcript.txt").symlink_to("/etc/passwd")
    assert cli.error("task", "transcript", "t_aaaaaaaa") == (3, "no_transcript")


def test_a_screen_without_a_pane(cli: CommandLine) -> None:
    cli.task("t_aaaaaaaa")
    assert cli.error("task", "transcript", "t_aaaaaaaa", "--screen") == (4, "pane_gone")


@pytest.mark.parametrize("command", ["finish", "attach"])
def test_what_an_ended_task_does_not_allow(cli: CommandLine, command: str) -> None:
    cli.task("t_aaaaaaaa", Status.COMPLETED)
    status, _code = cli.error("task", command, "t_aaaaaaaa")
    assert status == 4


def test_json_that_python_has_no_json_for_is_no_json(cli: CommandLine) -> None:
    words = ("task", "list", "--format", "yaml")
    assert cli.run(*words).returncode == 2


def test_a_broken_store_is_named_and_left_alone(cli: CommandLine) -> None:
    os.makedirs(cli.home.root)
    Path(cli.home.database).write_bytes(b"this is no database, but somebody's only copy of it")
    assert cli.error("task", "list") == (1, "store_broken")
    done = cli.run("task", "list")
    assert cli.home.database in done.stderr
    content = Path(cli.home.database).read_bytes()
    assert content == b"this is no database, but somebody's only copy of it"


def test_a_store_that_breaks_in_the_middle_is_named(cli: CommandLine) -> None:
    cli.task("t_aaaaaaaa")
    db = sqlite3.connect(cli.home.database)
    db.execute("DROP TABLE task")
    db.close()
    assert cli.error("task", "list") == (1, "store_broken")
    assert cli.home.database in cli.run("task", "list").stderr


def test_a_newer_store_is_refused_by_name(cli: CommandLine) -> None:
    cli.task("t_aaaaaaaa")
    db = sqlite3.connect(cli.home.database)
    db.execute("PRAGMA user_version = 9999")
    db.close()
    assert cli.error("task", "status", "t_aaaaaaaa") == (1, "store_newer")


def test_a_home_that_is_no_path_is_refused(cli: CommandLine) -> None:
    cli.env["CUEKIT_HOME"] = "relative"
    assert cli.error("task", "list") == (2, "bad_home")


def test_a_folder_that_is_gone_is_told(cli: CommandLine) -> None:
    code = (
        "import os, sys\n"
        "from cuekit.cli.main import run\n"
        "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\n"
        "sys.exit(run(['task', 'list']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=cli.env, cwd=cli.project, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("cuekit: the folder that you are in is not there any more\n")


def test_a_fault_of_the_program_is_one_line_and_a_file(cli: CommandLine) -> None:
    code = (
        "import sys\n"
        "from cuekit.cli import main\n"
        "def broken(*_):\n"
        "    raise LookupError('what nobody foresaw')\n"
        "main.root.get_command = broken\n"
        "sys.exit(main.run(['task', 'list', '--format', 'json']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=cli.env, cwd=cli.project, capture_output=True, text=True
    )
    error = json.loads(done.stderr)["error"]
    assert (done.returncode, error["code"]) == (1, "internal_error")
    log = Path(error["details"]["log"])
    assert error["message"] == f"internal error: LookupError; its traceback is in {log}"
    assert log.parent == Path(cli.home.root, "log")
    assert (log.stat().st_mode & 0o777, log.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "what nobody foresaw" in log.read_text()


def test_an_interruption_is_status_130(cli: CommandLine) -> None:
    cli.task("t_aaaaaaaa", Status.RUNNING)
    child = subprocess.Popen(
        [sys.executable, "-m", "cuekit", "task", "wait", "t_aaaaaaaa"],
        env=cli.env,
        cwd=cli.project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    waiters = Path(cli.home.run("t_aaaaaaaa"), "waiters")
    wait_until(lambda: list(waiters.iterdir()), 20, "a waiter")
    child.send_signal(signal.SIGINT)
    out, errors = child.communicate(timeout=20)
    assert (child.returncode, out, errors.strip()) == (130, b"", b"")
    assert list(waiters.iterdir()) == []


def test_a_reader_that_goes_away_is_no_error(cli: CommandLine) -> None:
    folder = cli.task("t_aaaaaaaa", Status.COMPLETED)
    (folder / "transcript.txt").write_bytes(b"a line\r\n" * 100_000)
    child = subprocess.Popen(
        [sys.executable, "-m", "cuekit", "task", "transcript", "t_aaaaaaaa"],
        env=cli.env,
        cwd=cli.project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.readline()
    child.stdout.close()
    errors = child.stderr.read()
    assert (child.wait(timeout=30), errors) == (141, b"")
    child.stderr.close()


def test_a_time_out_is_status_5_and_tells_the_state(cli: CommandLine) -> None:
    cli.task("t_aaaaaaaa", Status.RUNNING)
    started = time.monotonic()
    done = cli.run("task", "wait", "t_aaaaaaaa", "--timeout", "200ms", "--format", "json")
    assert time.monotonic() - started >= 0.2
    assert done.returncode == 5
    assert json.loads(done.stdout)["status"] == "running"
