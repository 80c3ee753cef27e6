"""A child that turns against its own supervisor with the files that it may write."""

import os
from pathlib import Path

import pytest

from cuekit.errors import CuekitError, NotFound
from cuekit.launch import events
from cuekit.service.transcript import raw
from tests.support.wait import wait_until
from tests.support.workplace import Workplace

IN_TASK_FOLDER = 'cd .cuekit/tasks/"$CUEKIT_TASK_ID"; '
LOCK_AND_STAY = """
import fcntl, os, signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_IGN)
file = open(sys.argv[1], "r+")
fcntl.flock(file, fcntl.LOCK_EX)
if os.fork():
    os._exit(0)
os.setsid()
while True:
    time.sleep(1)
"""


def closed(workplace: Workplace) -> bool:
    return workplace.server.sessions() == []


def test_a_pipe_in_the_place_of_the_transcript_holds_nobody_up(workplace: Workplace) -> None:
    task_id = workplace.submit(
        IN_TASK_FOLDER + "rm transcript.txt; mkfifo transcript.txt; echo bad luck; exit 3"
    )
    task = workplace.ended(task_id)
    assert (task.status, task.exit_code) == ("failed", 3)
    with pytest.raises(NotFound, match="no transcript"):
        next(raw(task_id, workplace.env))
    wait_until(lambda: closed(workplace), 10, "the session to be closed")


def test_a_link_in_the_place_of_the_transcript_is_not_read(workplace: Workplace) -> None:
    secret = workplace.root / "secret"
    secret.write_text("the-secret-of-another-folder\n", encoding="ascii")
    task_id = workplace.submit(f"{IN_TASK_FOLDER}ln -sf '{secret}' transcript.txt; exit 3")
    task = workplace.ended(task_id)
    assert "the-secret" not in str(task.error)
    assert secret.read_text(encoding="ascii") == "the-secret-of-another-folder\n"


@pytest.mark.parametrize("put", ["mkfifo events.jsonl", "ln -s /etc/passwd events.jsonl"])
def test_something_else_in_the_place_of_the_events_is_named(workplace: Workplace, put: str) -> None:
    first = "until [ -s events.jsonl ]; do sleep 0.02; done; rm events.jsonl; "
    task_id = workplace.submit(IN_TASK_FOLDER + first + put)
    assert workplace.ended(task_id).status == "completed"
    wait_until(lambda: closed(workplace), 10, "the session to be closed")
    with pytest.raises(CuekitError) as caught:
        list(events.read(workplace.task(task_id).task_dir))
    assert caught.value.code == "no_event_log"


def test_a_lock_on_the_events_that_is_never_let_go_does_not_keep_the_task(
    workplace: Workplace, tmp_path: Path
) -> None:
    program = tmp_path / "lock.py"
    program.write_text(LOCK_AND_STAY, encoding="ascii")
    task_id = workplace.submit(f"{IN_TASK_FOLDER}python3 '{program}' events.jsonl")
    assert workplace.ended(task_id).status == "completed"
    wait_until(lambda: workplace.carriers(task_id) == [], 15, "what holds the lock to be ended")
    wait_until(lambda: closed(workplace), 10, "the session to be closed")


def test_a_log_whose_end_is_no_event_is_not_read_whole(tmp_path: Path) -> None:
    events.append(str(tmp_path), "t_abcd1234", "status")
    with (tmp_path / events.FILE_NAME).open("r+b") as file:
        file.seek(events.MOST_TAIL_BYTES + 4 * events.TAIL_BYTES * 4**5)
        file.write(b"x")
    with pytest.raises(OSError, match="no event"):
        events.append(str(tmp_path), "t_abcd1234", "status")


def test_the_child_starts_with_every_signal_as_a_shell_would_give_it(workplace: Workplace) -> None:
    task_id = workplace.submit("exec grep -E '^Sig(Ign|Blk)' /proc/self/status")
    workplace.ended(task_id)
    words = workplace.transcript(task_id).split()
    assert words == [b"SigBlk:", b"0" * 16, b"SigIgn:", b"0" * 16]


def test_the_end_of_the_output_is_known_behind_a_terminal_that_was_full(
    workplace: Workplace,
) -> None:
    lines = 200_000
    task_id = workplace.submit(f"seq {lines}")
    workplace.ended(task_id, 60)
    assert workplace.transcript(task_id).endswith(f"{lines}\r\n".encode())
    run_dir = workplace.home.run(task_id)
    assert os.path.exists(os.path.join(run_dir, "transcript-done"))
