"""Running a command isolated: what it can see, what becomes of it, what is left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent_versions import ROOT
from tests.support.wait import wait_until

PROBE = """
import json, os, socket, sys
print(json.dumps({
    "uid": os.getuid(), "groups": os.getgroups(), "home": os.environ["HOME"], "cwd": os.getcwd(),
    "interfaces": [name for _, name in socket.if_nameindex()], "tmux": os.environ.get("TMUX"),
    "writable": os.access(os.environ["HOME"], os.W_OK) and os.access(os.environ["TMPDIR"], os.W_OK),
    "arguments": sys.argv[1:], "unisolated": os.environ.get("CUEKIT_TEST_UNISOLATED"),
}))
"""


def isolated(*command: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.support.isolate", "--", *command],
        cwd=ROOT,
        env={**os.environ, "TMUX": "/tmp/other,1,0", **changes},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def probe(*arguments: str) -> dict[str, Any]:
    done = isolated(sys.executable, "-c", PROBE, *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def without() -> str:
    """Why no namespace can be made here, as in a chroot without root; empty where one can."""
    return str(probe()["unisolated"] or "")


def test_the_command_is_not_root_and_sees_loopback_only_or_it_is_said_why() -> None:
    seen = probe()
    assert seen["uid"] != 0
    assert seen["interfaces"] == ["lo"] or seen["unisolated"]
    assert 0 not in seen["groups"]


def test_the_command_keeps_its_arguments_and_folder_and_gets_a_home_that_is_gone_later() -> None:
    seen = probe("a b", "--", "-x", "")
    assert seen["arguments"] == ["a b", "--", "-x", ""]
    assert (seen["cwd"], seen["tmux"], seen["writable"]) == (str(ROOT), None, True)
    assert not Path(seen["home"]).parent.exists()


@pytest.mark.parametrize(("script", "status"), [("exit 7", 7), ("kill -KILL $$", 137)])
def test_the_exit_status_is_that_of_the_command(script: str, status: int) -> None:
    assert isolated("sh", "-c", script).returncode == status


def test_a_command_that_is_not_there_is_named_in_one_line(without: str) -> None:
    done = isolated("no-such-program")
    notice = f"isolate: no network namespace here ({without}): running without\n"
    assert (done.returncode, done.stderr) == (
        70,
        (notice if without else "") + "isolate: no-such-program: No such file or directory\n",
    )


def test_processes_that_detached_themselves_end_with_the_command(without: str) -> None:
    mark = f"isolate-test-{os.getpid()}"
    done = isolated("sh", "-c", f"setsid sh -c 'sleep 300; : {mark}' >/dev/null 2>&1 &")
    assert done.returncode == 0
    if without:
        end_commands_with(mark)
    wait_until(lambda: not commands_with(mark), what=lambda: commands_with(mark))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_ending_the_runner_ends_what_it_runs(number: signal.Signals, without: str) -> None:
    mark = f"isolate-end-{os.getpid()}-{int(number)}"
    command = ["sh", "-c", f"echo $HOME; sleep 300; : {mark}"]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.isolate", "--", *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        work = Path(process.stdout.readline().strip()).parent
        assert commands_with(mark)
        process.send_signal(number)
        if without and number == signal.SIGKILL:  # nobody is left to pass it on
            end_commands_with(mark)
        wait_until(lambda: not commands_with(mark), what=lambda: commands_with(mark))
    assert work.exists() == (number == signal.SIGKILL)
    shutil.rmtree(work, ignore_errors=True)


def commands_with(mark: str) -> dict[int, str]:
    """Shells whose script carries the mark, by process id; the runner does too, but is Python."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if arguments[0] == b"sh" and any(mark.encode() in argument for argument in arguments):
            found[int(entry.name)] = str(arguments)
    return found


def end_commands_with(mark: str) -> None:
    """End what no namespace could end."""
    for pid in commands_with(mark):
        os.kill(pid, signal.SIGKILL)
