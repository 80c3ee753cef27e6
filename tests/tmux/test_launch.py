"""The main job with a shell as the agent, in real panes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cuekit import files
from cuekit.errors import CuekitError
from cuekit.launch import events, processes, sentinel
from cuekit.model.task import tmux_session_name
from cuekit.service.cancel import finish
from cuekit.store import tasks
from tests.support.wait import wait_until
from tests.support.workplace import Workplace

STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print("away", flush=True)
    else:
        os._exit(0)
while True:
    time.sleep(1)
"""


def kinds_of_events(workplace: Workplace, task_id: str) -> list[str]:
    return [event["kind"] for event in events.read(workplace.task(task_id).task_dir)]


def test_a_shell_task_completes_with_its_output_its_code_and_no_pane_left(
    workplace: Workplace,
) -> None:
    task_id = workplace.submit("printf 'one\\ntwo\\n'")
    task = workplace.ended(task_id)
    assert (task.status, task.exit_code, task.exit_signal, task.error) == (
        "completed",
        0,
        None,
        None,
    )
    assert workplace.transcript(task_id) == b"one\r\ntwo\r\n"
    left = sentinel.read(workplace.home.run(task_id))
    assert left is not None
    assert (left.exit_code, left.exit_signal, left.cause) == (0, None, "exited")
    assert kinds_of_events(workplace, task_id) == ["status", "run_finished"]
    wait_until(lambda: workplace.server.sessions() == [], 5, "the session to be closed")


@pytest.mark.parametrize(
    ("objective", "code", "number"),
    [("exit 1", 1, None), ("exit 255", 255, None), ("kill -9 $$", 137, 9), ("kill $$", 143, 15)],
)
def test_every_way_to_end_is_known(
    workplace: Workplace, objective: str, code: int, number: int | None
) -> None:
    task = workplace.ended(workplace.submit(objective))
    assert (task.status, task.exit_code, task.exit_signal) == ("failed", code, number)


def test_a_failure_carries_the_last_words(workplace: Workplace) -> None:
    task = workplace.ended(workplace.submit("echo starting; echo 'disk on fire' >&2; exit 7"))
    assert task.error is not None
    assert task.error["code"] == "agent_failed"
    assert task.error["message"] == "the agent exited with 7: starting | disk on fire"


def test_twenty_that_exit_at_once_have_twenty_right_codes_and_whole_transcripts(
    workplace: Workplace,
) -> None:
    ids = [workplace.submit(f"echo number {n}; exit {n}") for n in range(20)]
    assert [workplace.ended(task_id).exit_code for task_id in ids] == list(range(20))
    expected = [f"number {n}\r\n".encode() for n in range(20)]
    assert [workplace.transcript(task_id) for task_id in ids] == expected


def test_the_transcript_has_every_byte_of_a_large_output(workplace: Workplace) -> None:
    task_id = workplace.submit("seq 1 200000")
    assert workplace.ended(task_id, 60).status == "completed"
    expected = b"".join(b"%d\r\n" % n for n in range(1, 200001))
    assert workplace.transcript(task_id) == expected


def test_fifty_submits_at_once_are_fifty_right_results(workplace: Workplace) -> None:
    started = [
        workplace.command(
            "task",
            "submit",
            "--agent-kind",
            "shell",
            "--label",
            f"n{n}",
            f"echo this is {n}; exit {n % 7}",
        )
        for n in range(50)
    ]
    for one in started:
        _, errors = one.communicate(timeout=110)
        assert one.returncode == 0, errors
    found = {task.labels[0]: task for task in workplace.tasks()}
    assert sorted(found) == sorted(f"n{n}" for n in range(50))
    for n in range(50):
        task = workplace.ended(found[f"n{n}"].task_id)
        assert task.exit_code == n % 7
        assert workplace.transcript(task.task_id) == f"this is {n}\r\n".encode()


def test_the_childs_environment_is_the_submitting_shells(workplace: Workplace) -> None:
    workplace.env |= {"SECRET_KEY": "s3cret; 'q'\nline", "CLAUDECODE": "1", "TMUX": "x,1,2"}
    out = workplace.project / "env"
    task_id = workplace.submit(f"env -0 > '{out.name}'")
    workplace.ended(task_id)
    got = dict(pair.split("=", 1) for pair in out.read_text().split("\0") if pair)
    assert got["SECRET_KEY"] == "s3cret; 'q'\nline"
    assert got["CUEKIT_TASK_ID"] == task_id
    assert "CLAUDECODE" not in got
    assert got["TERM"].startswith(("tmux", "screen"))
    assert str(workplace.server.socket) in got["TMUX"]


def test_a_secret_is_in_no_file_and_no_process_list_after_the_start(workplace: Workplace) -> None:
    workplace.env["SECRET_KEY"] = "hunter2-unlikely-word"
    task_id = workplace.submit("sleep 60")
    command_lines = [
        path.read_bytes()
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if path.parent.joinpath("environ").exists()
    ]
    assert not [line for line in command_lines if b"hunter2-unlikely-word" in line]
    kept = [path for path in Path(workplace.home.root).rglob("*") if path.is_file()]
    assert not [path for path in kept if b"hunter2-unlikely-word" in path.read_bytes()]
    assert "hunter2" not in workplace.server.run("show-environment", "-g")
    workplace.cancel(task_id)


def test_files_are_private(workplace: Workplace) -> None:
    workplace.ended(workplace.submit("true"))
    tasks_folder = workplace.project / ".cuekit" / "tasks"
    for root in (Path(workplace.home.root), tasks_folder):
        for path in [root, *root.rglob("*")]:
            assert path.stat().st_mode & 0o077 == 0, path
    assert (tasks_folder / ".gitignore").read_text() == "*\n"


def test_a_time_out_fires_by_itself(workplace: Workplace) -> None:
    task_id = workplace.submit("sleep 60", timeout_s=0.3)
    task = workplace.ended(task_id, 10)
    assert task.status == "timed_out"
    assert workplace.carriers(task_id) == []


def test_cancel_leaves_no_process_not_even_a_stubborn_one(workplace: Workplace) -> None:
    program = workplace.root / "stubborn.py"
    program.write_text(STUBBORN)
    workplace.env["PROGRAM"] = str(program)
    task_id = workplace.submit(f'{sys.executable} "$PROGRAM"')
    wait_until(lambda: b"away" in workplace.transcript_now(task_id), 10, "the child to be away")
    assert len(workplace.carriers(task_id)) >= 2
    view = workplace.cancel(task_id)[0]
    assert view["status"] == "cancelled"
    assert workplace.carriers(task_id) == []
    assert tmux_session_name(task_id) not in workplace.server.sessions()
    assert workplace.cancel(task_id)[0]["status"] == "cancelled"


def test_what_a_child_leaves_running_is_ended(workplace: Workplace) -> None:
    task_id = workplace.submit("(trap '' HUP; sleep 100) & echo done")
    assert workplace.ended(task_id).status == "completed"
    wait_until(lambda: workplace.carriers(task_id) == [], 10, "the stray to be ended")


def test_a_killed_supervisor_is_noticed_and_nothing_runs_on(workplace: Workplace) -> None:
    task_id = workplace.submit("trap '' HUP TERM; sleep 100 & wait; sleep 100")
    supervisor = workplace.task(task_id).supervisor
    assert supervisor is not None
    os.kill(supervisor["pid"], signal.SIGKILL)
    # tmux's own hook settles it: nobody asks.
    task = workplace.ended(task_id)
    assert (task.status, task.error and task.error["code"]) == ("failed", "supervisor_lost")
    assert workplace.carriers(task_id) == []
    wait_until(lambda: workplace.server.sessions() == [], 5, "the session to be closed")


def test_a_killed_pane_is_noticed(workplace: Workplace) -> None:
    task_id = workplace.submit("trap '' HUP TERM; sleep 100 & wait; sleep 100")
    workplace.server.run("kill-session", "-t", f"={tmux_session_name(task_id)}")
    task = workplace.ended(task_id)
    assert (task.status, task.error and task.error["code"]) == ("failed", "pane_lost")
    assert workplace.carriers(task_id) == []


def test_a_killed_tmux_server_is_noticed(workplace: Workplace) -> None:
    ids = [workplace.submit("sleep 100") for _ in range(3)]
    pid = int(workplace.server.run("display-message", "-p", "#{pid}"))
    os.kill(pid, signal.SIGKILL)
    for task_id in ids:
        task = workplace.ended(task_id)
        assert (task.status, task.error and task.error["code"]) == ("failed", "pane_lost")
        assert workplace.carriers(task_id) == []


def test_both_killed_are_settled_by_the_next_command(workplace: Workplace) -> None:
    task_id = workplace.submit("trap '' HUP; sleep 100")
    supervisor = workplace.task(task_id).supervisor
    assert supervisor is not None
    server = int(workplace.server.run("display-message", "-p", "#{pid}"))
    os.kill(server, signal.SIGSTOP)
    os.kill(supervisor["pid"], signal.SIGKILL)
    os.kill(server, signal.SIGKILL)
    wait_until(lambda: not processes.alive(supervisor), 5)
    assert workplace.status(task_id)["error"]["code"] == "supervisor_lost"
    assert workplace.carriers(task_id) == []


def test_finish_completes_an_idle_task_only(workplace: Workplace) -> None:
    task_id = workplace.submit("sleep 100")
    with pytest.raises(CuekitError) as refused:
        finish(task_id, workplace.env)
    assert refused.value.code == "not_idle"
    assert not workplace.task(task_id).ended


def test_control_c_at_the_pane_reaches_the_child_alone(workplace: Workplace) -> None:
    task_id = workplace.submit(
        "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 1; done"
    )
    wait_until(lambda: b"ready" in workplace.transcript_now(task_id), 10)
    pane = f"={tmux_session_name(task_id)}:"
    for _ in range(3):
        workplace.server.try_run("send-keys", "-t", pane, "C-c")
    assert workplace.ended(task_id).exit_code == 5


def test_a_stopped_child_is_continued(workplace: Workplace) -> None:
    task_id = workplace.submit("kill -STOP $$; echo on again")
    assert workplace.ended(task_id).status == "completed"
    assert b"on again" in workplace.transcript(task_id)


def test_a_missing_interpreter_is_told_at_once(workplace: Workplace) -> None:
    task = workplace.ended(workplace.submit("/no/such/program"))
    assert task.exit_code == 127
    assert task.error is not None
    assert task.error["code"] == "agent_not_started"


def test_a_child_that_is_gone_from_disk_leaves_a_failed_task(workplace: Workplace) -> None:
    folder = workplace.project / "short lived"
    folder.mkdir()
    task_id = workplace.submit("echo here; sleep 1; rm -rf ../short*; exit 4", cwd=str(folder))
    task = workplace.ended(task_id)
    assert (task.status, task.exit_code) == ("failed", 4)


def test_kept_sessions_stay_until_they_are_deleted(workplace: Workplace) -> None:
    task_id = workplace.submit("echo bye", keep=True)
    workplace.ended(task_id)
    lock = f"{workplace.home.run(task_id)}/lock"
    wait_until(lambda: not files.is_locked(lock), 5)
    assert workplace.server.sessions() == [tmux_session_name(task_id)]
    # tmux scrolls by a line when it writes that the pane is dead.
    pane = f"={tmux_session_name(task_id)}:"
    assert "bye" in workplace.server.run("capture-pane", "-p", "-S", "-5", "-t", pane)


def test_the_session_stays_while_a_client_looks_and_closes_when_it_leaves(
    workplace: Workplace,
) -> None:
    task_id = workplace.submit("sleep 1; echo the end")
    name = tmux_session_name(task_id)
    viewer = subprocess.Popen(
        ["tmux", "-S", str(workplace.server.socket), "-C", "attach-session", "-t", f"={name}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=workplace.env,
    )
    try:
        wait_until(lambda: workplace.server.run("list-clients", "-t", f"={name}"), 5)
        workplace.ended(task_id)
        lock = f"{workplace.home.run(task_id)}/lock"
        wait_until(lambda: not files.is_locked(lock), 5)
        assert workplace.server.sessions() == [name]
    finally:
        viewer.communicate(b"detach-client\n", timeout=10)
    wait_until(lambda: workplace.server.sessions() == [], 10, "the session to be closed")


def test_two_live_tasks_cannot_have_one_name(workplace: Workplace) -> None:
    first = workplace.submit("sleep 60", name="builder")
    with pytest.raises(CuekitError) as refused:
        workplace.submit("sleep 60", name="builder")
    assert refused.value.code == "name_taken"
    assert [task.task_id for task in workplace.tasks()] == [first]
    assert len(list((workplace.project / ".cuekit" / "tasks").glob("t_*"))) == 1
    workplace.cancel(first)
    workplace.ended(workplace.submit("true", name="builder"))


def test_the_supervisor_needs_the_cuekit_files_only_at_its_start(workplace: Workplace) -> None:
    task_id = workplace.submit("sleep 0.5; exit 6")
    supervisor = workplace.task(task_id).supervisor
    assert supervisor is not None
    maps = Path(f"/proc/{supervisor['pid']}/cmdline").read_bytes().split(b"\0")
    assert maps[1:3] == [b"-I", b"-S"]
    assert workplace.ended(task_id).exit_code == 6


def test_a_late_supervisor_starts_nothing_after_the_task_was_cancelled(
    workplace: Workplace,
) -> None:
    task_id = workplace.submit("sleep 60")
    workplace.cancel(task_id)
    run_dir = workplace.home.run(task_id)
    again = subprocess.run(
        ["/bin/sh", f"{run_dir}/launch.sh"], capture_output=True, timeout=10, check=False
    )
    assert again.returncode == 0
    assert workplace.carriers(task_id) == []
    assert workplace.task(task_id).status == "cancelled"


def test_events_are_numbered_and_a_torn_tail_is_repaired(tmp_path: Path) -> None:
    folder = str(tmp_path)
    assert [events.append(folder, "t_x", "status") for _ in range(3)] == [1, 2, 3]
    log = tmp_path / "events.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole + b'{"seq": 4, "kind": "sta')
    assert events.append(folder, "t_x", "error") == 4
    assert log.read_bytes().startswith(whole)
    assert [(one["seq"], one["kind"]) for one in events.read(folder)] == [
        (1, "status"),
        (2, "status"),
        (3, "status"),
        (4, "error"),
    ]


def test_identity_tells_a_process_from_a_later_one() -> None:
    child = subprocess.Popen(["sleep", "60"])
    who = processes.identity(child.pid)
    assert processes.alive(who)
    child.kill()
    child.wait()
    assert not processes.alive(who)
    assert who is not None
    assert not processes.alive({**who, "pid": os.getpid()})
    assert processes.alive(processes.identity(os.getpid()))


def test_a_stored_time_is_the_time_of_the_end(workplace: Workplace) -> None:
    before = time.time()
    task = workplace.ended(workplace.submit("true"))
    assert task.started_at is not None
    assert task.completed_at is not None
    assert before <= task.created_at <= task.started_at <= task.completed_at <= time.time()
    assert tasks.progress_of(task).turn == 0
