"""What `task submit` is given and cannot use, by the real command line: one line, and no trace."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.wait import wait_until
from tests.support.workplace import Workplace

SUBMIT = ("task", "submit", "--format", "json")
NAMES = ["a b", "it's", "#(touch x)", "#{pane_id}", "%H", "a;", "$(touch y)", "\\", "x" * 200]


def run(
    workplace: Workplace, *words: str | bytes, cwd: str | None = None, **env: str
) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-m", "cuekit", *SUBMIT, *words],
        env={**workplace.env, **env},
        cwd=cwd or workplace.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )


def traces(workplace: Workplace) -> list[str]:
    """Whatever a task leaves: run folders, task folders, sessions."""
    run_dir = Path(workplace.home.runs)
    runs = sorted(os.listdir(run_dir)) if run_dir.exists() else []
    folder = workplace.project / ".cuekit"
    return [*runs, *map(str, folder.rglob("t_*")), *workplace.server.sessions()]


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (("--agent-kind", "codexx", "x"), 2, "unknown_agent_kind"),
        (("--cwd", "/no/such/folder", "x"), 2, "no_such_folder"),
        (("--cwd", "nosuch", "x"), 2, "no_such_folder"),
        ((" ",), 2, "empty_objective"),
        ((b"a\xffb",), 2, "invalid_utf8"),
        (("--adapter-options", "{x", "x"), 2, "bad_json"),
        (("--adapter-options", '{"mode": "bacth"}', "x"), 2, "bad_adapter_option"),
        (("--adapter-options", '{"a": "b\\u0000"}', "x"), 2, "nul_in_text"),
        (("--adapter-options", '{"a": ["\\ud800"]}', "x"), 2, "invalid_utf8"),
        (("--name", "", "x"), 2, "bad_name"),
        (("--name", "a\x1b]0;b", "x"), 2, "bad_name"),
        (("--session", "", "x"), 2, "bad_session"),
        (("--timeout", "0s", "x"), 2, "bad_timeout"),
        (("--agent-kind", "grok", "x"), 1, "agent_not_installed"),
    ],
)
def test_what_cannot_be_used_is_named_and_leaves_no_trace(
    workplace: Workplace, words: tuple[str | bytes, ...], status: int, code: str
) -> None:
    kind = () if "--agent-kind" in words else ("--agent-kind", "shell")
    done = run(workplace, *kind, *words, PATH="/usr/bin:/bin")
    assert (done.returncode, done.stdout) == (status, b"")
    assert len(done.stderr.splitlines()) == 1
    assert json.loads(done.stderr)["error"]["code"] == code
    assert traces(workplace) == []
    assert not (workplace.project / "nosuch").exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_of_any_name_can_be_worked_in_and_hold_the_home(
    workplace: Workplace, name: str
) -> None:
    folder = workplace.root / name
    folder.mkdir()
    done = run(
        workplace,
        *("--agent-kind", "shell", "--wait", "pwd -P"),
        cwd=str(folder),
        CUEKIT_HOME=str(folder / "home"),
    )
    view = json.loads(done.stdout)
    transcript = Path(view["transcript_path"])
    assert (done.returncode, transcript.parents[3]) == (0, folder)
    wait_until(transcript.exists, 10)  # its writer may come after the end of so short a task
    wait_until(lambda: transcript.read_text("utf-8").strip() == str(folder.resolve()), 10)
    made = {path.name for path in folder.iterdir()}
    assert made == {".cuekit", "home"}


@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", ">&- <&- 2>&-"])
def test_closed_standard_streams_are_no_fault(workplace: Workplace, closed: str) -> None:
    line = f"'{sys.executable}' -m cuekit task submit --agent-kind shell --name n 'true' {closed}"
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        env=workplace.env,
        cwd=workplace.project,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    (task,) = workplace.tasks()
    assert workplace.ended(task.task_id).status == "completed"


def test_output_that_cannot_be_written_is_one_line(workplace: Workplace) -> None:
    line = f"'{sys.executable}' -m cuekit task list >/dev/full"
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        env=workplace.env,
        cwd=workplace.project,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, b"cuekit: no space left on device\n")


def test_a_socket_with_too_long_a_path_is_named(workplace: Workplace) -> None:
    socket = str(workplace.root / ("s" * 120))
    done = run(workplace, "--agent-kind", "shell", "true", CUEKIT_TMUX_SOCKET=socket)
    error = json.loads(done.stderr)["error"]
    assert (done.returncode, error["code"]) == (1, "tmux_socket")
    assert traces(workplace) == []


def test_a_supervisor_that_cannot_start_is_told_with_its_words_and_leaves_no_secret(
    workplace: Workplace, tmp_path: Path
) -> None:
    """The pane's program is a Python that fails, as one of an upgrade gone wrong would."""
    broken = tmp_path / "python"
    broken.write_text(
        f"#!/bin/sh\ncase $* in *supervisor.py*) echo 'no python here' >&2; exit 4;; esac\n"
        f"exec '{sys.executable}' \"$@\"\n",
        encoding="ascii",
    )
    broken.chmod(0o755)
    program = (
        f"import sys; sys.executable = {str(broken)!r};"
        "from cuekit.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *SUBMIT, "--agent-kind", "shell", "true"],
        env={**workplace.env, "A_TOKEN": "very-secret"},
        cwd=workplace.project,
        capture_output=True,
        timeout=15,
        check=False,
    )
    error = json.loads(done.stderr)["error"]
    assert (done.returncode, error["code"]) == (1, "supervisor_failed")
    assert "no python here" in error["message"]
    (task,) = workplace.tasks()
    assert (task.status, task.error) == ("failed", error)
    assert workplace.server.sessions() == []
    for path in Path(workplace.home.root).rglob("*"):
        assert not path.is_file() or b"very-secret" not in path.read_bytes()
