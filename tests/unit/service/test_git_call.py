"""Calling git: fixed words, a clean environment, limits of time and size, nothing left running."""

import time
from pathlib import Path

import pytest

from cuekit.errors import CuekitError
from cuekit.launch import processes
from cuekit.service.git_call import Git
from tests.support.wait import wait_until


def fake(tmp_path: Path, body: str) -> dict[str, str]:
    """An environment whose git is this script."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "git").write_text(f"#!/bin/sh\n{body}\n")
    (tools / "git").chmod(0o755)
    return {"PATH": f"{tools}:/usr/bin:/bin", "GIT_DIR": "/elsewhere", "HOME": "/nowhere"}


def test_what_git_is_given(tmp_path: Path) -> None:
    environ = fake(tmp_path, 'printf "%s\\n" "$@"; env | grep ^GIT_ | sort')
    assert Git(str(tmp_path), environ).run("status", "-z").line.split("\n") == [
        "--no-pager",
        "--literal-pathspecs",
        *("-c", "core.fsmonitor=false"),
        *("-c", "core.hooksPath=/dev/null"),
        *("-c", "submodule.recurse=false"),
        *("-c", "gc.auto=0"),
        *("-c", "maintenance.auto=false"),
        *("status", "-z"),
        "GIT_ALLOW_PROTOCOL=",
        "GIT_NO_LAZY_FETCH=1",
        "GIT_OPTIONAL_LOCKS=0",
        "GIT_PAGER=cat",
        "GIT_TERMINAL_PROMPT=0",
    ]


def test_git_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    environ = fake(tmp_path, f"sleep 100 & echo $! > '{tmp_path}/pid'; wait")
    began = time.monotonic()
    with pytest.raises(CuekitError) as caught:
        Git(str(tmp_path), environ).run("status", limit_s=0.5)
    assert (caught.value.code, caught.value.retryable) == ("git_timed_out", True)
    assert time.monotonic() - began < 10
    pid = int((tmp_path / "pid").read_text())
    wait_until(lambda: not processes.alive(processes.identity(pid)), 5)


def test_git_that_says_too_much_is_ended(tmp_path: Path) -> None:
    environ = fake(tmp_path, "exec cat /dev/zero")
    with pytest.raises(CuekitError) as caught:
        Git(str(tmp_path), environ).run("status", most=100_000)
    assert caught.value.code == "git_too_much"


def test_a_git_in_a_relative_entry_of_the_path_is_passed_over(tmp_path: Path) -> None:
    fake(tmp_path, "true")
    with pytest.raises(CuekitError) as caught:
        Git(str(tmp_path), {"PATH": "tools:."})
    assert caught.value.code == "git_missing"


def test_its_complaint_is_told_without_its_prefix(tmp_path: Path) -> None:
    environ = fake(tmp_path, "echo hint: x >&2; echo 'fatal: not so' >&2; exit 128")
    done = Git(str(tmp_path), environ).run("status")
    assert (done.status, done.words, done.ok) == (128, "not so", False)
