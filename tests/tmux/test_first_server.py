"""The first tmux server of a user: nobody has made its folder yet."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuekit.panes.base import TmuxUnclear
from cuekit.panes.tmux import Tmux, default_socket


@pytest.fixture
def never_used() -> Iterator[dict[str, str]]:
    """An environment in which tmux has never run."""
    with tempfile.TemporaryDirectory(prefix="ck-", dir="/tmp") as folder:
        environ = {"PATH": os.environ["PATH"], "TMUX_TMPDIR": folder, "HOME": folder}
        yield environ
        command = ["tmux", "-S", default_socket(environ), "kill-server"]
        subprocess.run(command, capture_output=True, timeout=10, check=False)


def start(environ: dict[str, str]) -> str:
    return Tmux(None, environ=environ).start_session(
        "first", ["cat"], task_id="t_first000", pipe_command=""
    )


def test_its_folder_is_made_for_the_user_alone(never_used: dict[str, str]) -> None:
    assert start(never_used).startswith("%")
    folder = Path(never_used["TMUX_TMPDIR"], f"tmux-{os.getuid()}")
    assert folder.stat().st_mode & 0o777 == 0o700
    same = subprocess.run(  # the user's own tmux finds the session without options
        ["tmux", "has-session", "-t", "=first"], env=never_used, timeout=10, check=False
    )
    assert same.returncode == 0


def test_a_folder_that_others_can_enter_is_refused(never_used: dict[str, str]) -> None:
    folder = Path(never_used["TMUX_TMPDIR"], f"tmux-{os.getuid()}")
    folder.mkdir()
    folder.chmod(0o707)
    with pytest.raises(TmuxUnclear) as caught:
        start(never_used)
    assert caught.value.code == "tmux_folder"
    assert list(folder.iterdir()) == []
