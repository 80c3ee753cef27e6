"""The demo as a newcomer starts it: every step holds, and nothing stays behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def demo(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [sys.executable, "-m", "tools.demo", *arguments],
        cwd=ROOT,
        env=os.environ | {"PATH": path} | environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def folder_of(done: subprocess.CompletedProcess[str]) -> Path:
    found = re.match(r"in (/tmp/cuekit-demo-\w+)/project", done.stdout)
    assert found, done.stdout + done.stderr
    return Path(found[1])


def test_every_step_holds_and_each_command_is_printed() -> None:
    done = demo()
    assert done.returncode == 0, done.stdout
    typed = re.findall(r"^\$ cuekit (\w+ \w+)", done.stdout, re.MULTILINE)
    assert typed == [
        "task submit",
        "task attach",
        "task transcript",
        "task steer",
        "task transcript",
        "task list",
        "task steer",
        "task wait",
        "task result",
        "task transcript",
        "task delete",
        "task submit",
        "task wait",
        "approval show",
        "approval allow",
        "task wait",
        "task steer",
        "task events",
        "task finish",
        "task result",
        "task delete",
    ]
    assert not folder_of(done).exists()


def test_a_step_that_fails_is_named_and_everything_is_ended(tmp_path: Path) -> None:
    # A child that does not answer as the demo's own: the shell is another program.
    shell = tmp_path / "cuekit"
    real = Path(sys.executable).parent / "cuekit"
    shell.write_text(
        f'#!/bin/sh\ncase "$2" in steer) set -- task steer --no-submit "$3" "$4";; esac\n'
        f'exec "{real}" "$@"\n'
    )
    shell.chmod(0o755)
    done = demo(PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert done.returncode == 1, done.stdout
    assert "demo: failed: the pane did not show 'you said: hello" in done.stdout
    assert not folder_of(done).exists()
