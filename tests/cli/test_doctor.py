"""`cuekit doctor` as it is typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.tmux import TmuxServer


@pytest.fixture
def environ(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A caller with a home, a PATH without agents, and a tmux server of its own."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("tmux", "git", "sh"):
        found = next(
            Path(folder, name)
            for folder in os.environ["PATH"].split(os.pathsep)
            if Path(folder, name).exists()
        )
        (programs / name).symlink_to(found)
    server = TmuxServer()
    try:
        yield server.env | {
            "PATH": str(programs),
            "HOME": str(tmp_path),
            "CUEKIT_HOME": str(tmp_path / "ck"),
            "CUEKIT_TMUX_SOCKET": str(server.socket),
            "LANG": "C.UTF-8",
        }
    finally:
        server.close()


def doctor(environ: dict[str, str], cwd: Path, *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "cuekit", "doctor", *arguments],
        cwd=cwd,
        env=environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_its_json_has_the_documented_shape(environ: dict[str, str], tmp_path: Path) -> None:
    status, out, err = doctor(environ, tmp_path, "--format", "json")
    report = json.loads(out)
    assert (status, err, report["ok"], set(report)) == (0, "", True, {"ok", "checks"})
    for check in report["checks"]:
        assert set(check) == {"name", "state", "detail", "fix"}
        assert check["state"] in ("ok", "warning")
    assert not (tmp_path / "ck").exists()


def test_every_agent_kind_but_the_shell_is_looked_at(
    environ: dict[str, str], tmp_path: Path
) -> None:
    from cuekit.agents.registry import KINDS

    _, out, _ = doctor(environ, tmp_path, "--format", "json")
    names = {check["name"] for check in json.loads(out)["checks"]}
    assert {f"agent.{kind}" for kind in KINDS if kind != "shell"} <= names
    assert "agents" in names  # none is installed, and that is said


def test_a_failure_gives_status_1_and_says_what_mends_it(
    environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "bin" / "tmux").unlink()
    status, out, _ = doctor(environ, tmp_path)
    lines = out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("FAIL  tmux "))
    assert (status, "apt-get install tmux" in lines[at + 1]) == (1, True)


def test_an_agent_that_is_installed_is_run_for_its_version_and_flags(
    environ: dict[str, str], tmp_path: Path
) -> None:
    codex = tmp_path / "bin" / "codex"
    codex.write_text('#!/bin/sh\necho "codex-cli 0.171.0"; echo "  --model <M>"\n')
    codex.chmod(0o755)
    status, out, _ = doctor(environ, tmp_path, "--format", "json")
    checks = {check["name"]: check for check in json.loads(out)["checks"]}
    assert status == 1
    assert checks["agent.codex"]["detail"] == f"0.171.0 at {codex}"
    assert checks["agent.codex.flags"]["state"] == "failure"
    assert "--sandbox" in checks["agent.codex.flags"]["detail"]


def test_fix_mends_what_is_safe(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "ck").mkdir(mode=0o755)
    status, out, _ = doctor(environ, tmp_path, "--fix", "--format", "json")
    checks = {check["name"]: check for check in json.loads(out)["checks"]}
    assert status == 0
    assert checks["privacy"]["detail"].startswith("mended: ")
    assert (tmp_path / "ck").stat().st_mode & 0o777 == 0o700


def test_a_word_too_many_is_wrong_usage(environ: dict[str, str], tmp_path: Path) -> None:
    status, _, err = doctor(environ, tmp_path, "everything")
    assert (status, err.splitlines()[0].startswith("cuekit: ")) == (2, True)


def test_help_has_an_example(environ: dict[str, str], tmp_path: Path) -> None:
    status, out, _ = doctor(environ, tmp_path, "--help")
    assert (status, "cuekit doctor --fix" in out) == (0, True)
