"""The doctor against a real tmux server: its options, a stopped one, panes left over."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from cuekit.model.lifecycle import Status
from cuekit.paths import Home
from cuekit.service import doctor_leftovers, doctor_panes
from cuekit.service.doctor_check import Check, Situation
from cuekit.store import tasks
from cuekit.store.db import open_store
from tests.support.tmux import TmuxServer
from tests.support.wait import wait_until


def situation(server: TmuxServer, folder: Path) -> Situation:
    """A caller who would use that server."""
    environ = server.env | {
        "HOME": str(folder),
        "CUEKIT_HOME": str(folder / "ck"),
        "CUEKIT_TMUX_SOCKET": str(server.socket),
    }
    return Situation(environ, str(folder))


def states(checks: list[Check]) -> dict[str, str]:
    return {check.name: check.state for check in checks}


def test_a_healthy_server_and_no_server_are_both_well(
    tmux_server: TmuxServer, tmp_path: Path
) -> None:
    here = situation(tmux_server, tmp_path)
    assert states(list(doctor_panes.tmux(here))) == {
        "tmux": "ok",
        "tmux_socket": "ok",
        "tmux_server": "ok",
    }
    tmux_server.run("new-session", "-d", "cat")
    assert states(list(doctor_panes.tmux(here))) == {
        "tmux": "ok",
        "tmux_socket": "ok",
        "tmux_server": "ok",
        "tmux_options": "ok",
    }


def test_an_option_that_would_end_the_server_is_a_failure(
    tmux_server: TmuxServer, tmp_path: Path
) -> None:
    tmux_server.run("new-session", "-d", "-s", "person", "cat")
    with attached_client(tmux_server, "person"):  # without one the server would end at once
        tmux_server.run("set-option", "-s", "exit-unattached", "on")
        found = list(doctor_panes.tmux(situation(tmux_server, tmp_path)))
        tmux_server.run("set-option", "-s", "exit-unattached", "off")
    assert states(found)["tmux_options"] == "failure"


@contextmanager
def attached_client(server: TmuxServer, session: str) -> Iterator[None]:
    """A client in control mode, which attaches without a terminal."""
    command = ["tmux", "-S", str(server.socket), "-C", "attach-session", "-t", f"={session}"]
    client = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=server.env
    )
    assert client.stdin is not None
    try:
        wait_until(lambda: server.run("list-clients"))
        yield
    finally:
        client.stdin.close()
        client.wait(10)


def test_a_server_that_does_not_answer_is_a_failure_within_the_limit(
    tmux_server: TmuxServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_panes, "TMUX_LIMIT_S", 0.5)
    tmux_server.run("new-session", "-d", "cat")
    pid = int(tmux_server.run("display-message", "-p", "#{pid}"))
    os.kill(pid, signal.SIGSTOP)
    try:
        found = list(doctor_panes.tmux(situation(tmux_server, tmp_path)))
    finally:
        os.kill(pid, signal.SIGCONT)
    assert states(found)["tmux_server"] == "failure"


def store_task(home: Home, task_id: str, **values: object) -> None:
    """A task that has ended a minute ago, unless the values say other."""
    minute_ago = time.time() - 60
    ended = {"completed_at": minute_ago}
    with closing(open_store(home)) as db:
        tasks.insert(
            db,
            {
                "task_id": task_id,
                "agent_kind": "shell",
                "mode": "interactive",
                "cwd": "/",
                "task_dir": "/",
                "session_id": "s_00000000",
                "spec": {},
                **values,
            },
        )
        tasks.move(db, task_id, Status.RUNNING)
        tasks.move(db, task_id, Status.COMPLETED, ended)


def pane_of(server: TmuxServer, task_id: str) -> str:
    name = f"cuekit-task-{task_id}"
    server.run("new-session", "-d", "-s", name, "cat")
    server.run("set-option", "-p", "-t", f"={name}:", "@cuekit_task", task_id)
    return name


def test_panes_left_by_ended_tasks_are_found_and_closed_and_no_others(
    tmux_server: TmuxServer, tmp_path: Path
) -> None:
    here = situation(tmux_server, tmp_path)
    home = Home(str(tmp_path / "ck"))
    store_task(home, "t_leftover")
    store_task(home, "t_keptpane", keep=1)
    stale, kept, unknown = (
        pane_of(tmux_server, name) for name in ("t_leftover", "t_keptpane", "t_stranger")
    )
    tmux_server.run("new-session", "-d", "-s", "mine", "cat")
    with closing(open_store(home)) as db:
        found = list(doctor_leftovers.panes(db, here, time.time()))
    assert [(check.name, check.state) for check in found] == [
        ("stale_panes", "warning"),
        ("unknown_panes", "warning"),
    ]
    assert (stale in found[0].detail, kept in found[0].detail) == (True, False)
    assert unknown in found[1].detail
    assert found[0].mend is not None
    found[0].mend()
    assert sorted(tmux_server.sessions()) == sorted([kept, unknown, "mine"])


def test_a_process_of_an_ended_task_is_found(tmux_server: TmuxServer, tmp_path: Path) -> None:
    home = Home(str(tmp_path / "ck"))
    store_task(home, "t_strayed1")
    stray = subprocess.Popen(
        ["sleep", "60"], env=dict(os.environ) | {"CUEKIT_TASK_ID": "t_strayed1"}
    )
    try:
        with closing(open_store(home)) as db:
            (found,) = doctor_leftovers.strays(db, home, time.time())
    finally:
        stray.kill()
        stray.wait(10)
    assert (found.state, f"{stray.pid}, a process of t_strayed1" in found.detail) == (
        "warning",
        True,
    )


def test_only_an_old_run_folder_without_a_task_is_removed(tmp_path: Path) -> None:
    home = Home(str(tmp_path / "ck"))
    store_task(home, "t_ofatask0")
    for name in ("t_ofatask0", "t_abandon0", "t_starting"):
        Path(home.run(name)).mkdir(parents=True)
    for name in ("t_ofatask0", "t_abandon0"):
        os.utime(home.run(name), (0, 0))
    with closing(open_store(home)) as db:
        (found,) = doctor_leftovers.run_folders(db, home, time.time())
    assert found.state == "warning"
    assert found.mend is not None
    found.mend()
    assert sorted(os.listdir(home.runs)) == ["t_ofatask0", "t_starting"]
