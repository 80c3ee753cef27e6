"""`task transcript`, `events` and `result`: what there is to read of a task."""

import json
import subprocess
import sys
from contextlib import closing

import pytest

from cuekit.launch import events, notify
from cuekit.model.lifecycle import Status
from cuekit.store import db, tasks
from tests.support.command_line import CommandLine, cli
from tests.support.tmux import TmuxServer, tmux_server
from tests.support.wait import wait_until

__all__ = ["cli", "tmux_server"]

A = "t_aaaaaaaa"
RAW = b"\x1b[32mok\x1b[0m\r\n10%\r20%\r\n\xff\x00end \x1b]0;title\x07\r\n"


def ended(cli: CommandLine, data: bytes = RAW, **values: object) -> None:
    """An ended task with that transcript."""
    folder = cli.task(A, Status.COMPLETED, completed_at=100.0, **values)
    (folder / "transcript.txt").write_bytes(data)


def test_the_text_is_what_a_person_read(cli: CommandLine) -> None:
    ended(cli)
    assert cli.out("task", "transcript", A) == "ok\n20%\n\ufffdend\n"


def test_raw_is_byte_for_byte(cli: CommandLine) -> None:
    ended(cli)
    done = subprocess.run(
        [sys.executable, "-m", "cuekit", "task", "transcript", A, "--raw"],
        env=cli.env,
        cwd=cli.project,
        capture_output=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, RAW, b"")


@pytest.mark.parametrize(
    ("tail", "lines"), [("0", []), ("2", ["line 98", "line 99"]), ("999", None)]
)
def test_tail_gives_the_last_lines(cli: CommandLine, tail: str, lines: list[str] | None) -> None:
    every = [f"line {number}" for number in range(100)]
    ended(cli, "".join(f"{line}\r\n" for line in every).encode())
    found = cli.json("task", "transcript", A, "--tail", tail)
    assert found == {"lines": every if lines is None else lines}


def test_text_that_would_reorder_or_hide_is_made_visible(cli: CommandLine) -> None:
    ended(cli, "a\u202eb\u200bc\r\n".encode())
    assert cli.out("task", "transcript", A) == "a\\u202eb\\u200bc\n"


def test_an_empty_transcript_is_no_error(cli: CommandLine) -> None:
    ended(cli, b"")
    assert cli.out("task", "transcript", A) == ""
    assert cli.json("task", "transcript", A) == {"lines": []}


def test_a_huge_one_that_moves_the_cursor_is_cut_and_says_so(cli: CommandLine) -> None:
    unit = b"\x1b[2;1H" + b"x" * 190
    ended(cli, unit * (10 * 1024 * 1024 // len(unit)) + b"\r\nthe end\r\n")
    lines = cli.out("task", "transcript", A).splitlines()
    assert lines[-1] == "the end"
    notes = [line for line in lines if line.startswith("[cuekit: ")]
    assert len(notes) == 1
    assert notes[0].endswith(" bytes are left out here; --raw has them]")


@pytest.mark.parametrize("words", [["--follow"], ["--follow", "--raw"]])
def test_following_goes_on_until_the_task_ends(cli: CommandLine, words: list[str]) -> None:
    folder = cli.task(A, Status.RUNNING)
    file = folder / "transcript.txt"
    file.write_bytes(b"one\r\n")
    with subprocess.Popen(
        [sys.executable, "-m", "cuekit", "task", "transcript", A, *words],
        env=cli.env,
        cwd=cli.project,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == b"one"
        with file.open("ab") as more:
            more.write(b"two\r\n")
        assert child.stdout.readline().strip() == b"two"
        with file.open("ab") as more:
            more.write(b"three")
        with closing(db.open_store(cli.home)) as store:
            tasks.move(store, A, Status.COMPLETED, {"completed_at": 100.0})
        notify.wake(cli.home.run(A))
        assert child.stdout.read().strip() == b"three"
    assert child.returncode == 0


def test_the_screen_is_that_of_the_pane(cli: CommandLine, tmux_server: TmuxServer) -> None:
    cli.env |= {"CUEKIT_TMUX_SOCKET": str(tmux_server.socket), "TERM": "xterm"}
    submit = ("task", "submit", "--agent-kind", "shell", "--mode", "batch")
    task_id = cli.json(*submit, "echo one; echo two; exec sleep 60")["task_id"]

    def screen() -> list[str]:
        return str(cli.json("task", "transcript", task_id, "--screen")["screen"]).splitlines()

    wait_until(lambda: screen()[:2] == ["one", "two"], what=screen)
    # What the terminal forgets is in the transcript all the same.
    tmux_server.run("send-keys", "-R", "-t", f"=cuekit-task-{task_id}:")
    wait_until(lambda: not any(screen()), what=screen)
    assert cli.json("task", "transcript", task_id) == {"lines": ["one", "two"]}


def test_a_kept_pane_still_has_its_screen(cli: CommandLine, tmux_server: TmuxServer) -> None:
    cli.env |= {"CUEKIT_TMUX_SOCKET": str(tmux_server.socket), "TERM": "xterm"}
    submit = ("task", "submit", "--agent-kind", "shell", "--mode", "batch")
    task_id = cli.json(*submit, "echo one; echo two", "--keep", "--wait")["task_id"]

    def screen() -> list[str]:
        return str(cli.json("task", "transcript", task_id, "--screen")["screen"]).splitlines()

    # tmux's "Pane is dead" pushes the first line out, if it notices: built with utempter it may
    # miss the end of a pane.
    wait_until(lambda: "two" in screen(), what=screen)
    assert cli.json("task", "transcript", task_id) == {"lines": ["one", "two"]}


@pytest.fixture
def happened(cli: CommandLine) -> CommandLine:
    """A running task with three events."""
    folder = str(cli.task(A, Status.RUNNING))
    for number, kind in enumerate(("status", "turn_started", "status"), start=1):
        events.append(folder, A, kind, {"status": "running", "text": f"it's {number}\x1b["}, at=1.0)
    return cli


def sequence(out: str) -> list[int]:
    return [json.loads(line)["seq"] for line in out.splitlines()]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ([], [1, 2, 3]),
        (["--since", "1"], [2, 3]),
        (["--since", "9"], []),
        (["--kind", "status"], [1, 3]),
        (["--kind", "turn_started", "--kind", "status", "--since", "2"], [3]),
    ],
)
def test_events_are_lines_of_json(
    happened: CommandLine, words: list[str], wanted: list[int]
) -> None:
    assert sequence(happened.out("task", "events", A, "--format", "json", *words)) == wanted


def test_events_for_people_are_one_safe_line_each(happened: CommandLine) -> None:
    lines = happened.out("task", "events", A).splitlines()
    assert lines[0] == (
        "    1  1970-01-01T00:00:01.000Z  status              status=running text=it's 1\\x1b["
    )
    assert len(lines) == 3


def test_events_can_be_followed_to_the_end(happened: CommandLine) -> None:
    folder = str(happened.project / ".cuekit" / "tasks" / A)
    with subprocess.Popen(
        [sys.executable, "-m", "cuekit", "task", "events", A, "--follow", "--format", "json"],
        env=happened.env,
        cwd=happened.project,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert [json.loads(child.stdout.readline())["seq"] for _ in range(3)] == [1, 2, 3]
        events.append(folder, A, "log", {"text": "four"})
        assert json.loads(child.stdout.readline())["text"] == "four"
        with closing(db.open_store(happened.home)) as store:
            tasks.move(store, A, Status.COMPLETED)
        notify.wake(happened.home.run(A))
        assert child.stdout.read() == ""
    assert child.returncode == 0


def test_a_task_without_events_has_none(cli: CommandLine) -> None:
    cli.task(A)
    assert cli.out("task", "events", A) == ""


def test_the_result_of_a_live_task_is_not_final(cli: CommandLine) -> None:
    cli.task(A, Status.RUNNING, summary="so far", mode="interactive", started_at=5.0)
    found = cli.json("task", "result", A)
    assert (found["final"], found["summary"], found["status"]) == (False, "so far", "running")
    assert found["duration_ms"] > 1000
    assert cli.run("task", "result", A).returncode == 0


def test_an_agents_own_last_message_is_the_summary(cli: CommandLine) -> None:
    ended(cli, b"noise\r\n", summary="the answer", agent_kind="codex")
    assert cli.json("task", "result", A)["summary"] == "the answer"


def test_without_one_the_end_of_the_output_is(cli: CommandLine) -> None:
    ended(cli, b"".join(b"line %d\r\n" % number for number in range(100)))
    wanted = "\n".join(f"line {number}" for number in range(80, 100))
    assert cli.json("task", "result", A)["summary"] == wanted


def test_a_tui_is_not_quoted_as_a_summary(cli: CommandLine) -> None:
    ended(cli, b"a screen\r\n", agent_kind="codex", mode="interactive")
    assert cli.json("task", "result", A)["summary"] is None


def test_a_failed_task_has_a_result_and_status_0(cli: CommandLine) -> None:
    error = {"code": "agent_failed", "message": "the agent exited with 3", "hint": "look"}
    cli.task(A, Status.FAILED, exit_code=3, error=error)
    found = cli.json("task", "result", A)
    assert (found["status"], found["exit_code"]) == ("failed", 3)
    assert found["error"] == {**error, "retryable": False, "details": {}}
    out = cli.out("task", "result", A)
    assert "  error       the agent exited with 3\n  try         look\n" in out
