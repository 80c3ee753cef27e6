"""The settings file of a launch, run as claude runs it: each command by /bin/sh."""

import json
import subprocess
from pathlib import Path

import pytest

from cuekit.agents.claude_settings import EVENTS, settings


@pytest.mark.parametrize("folder", ["plain", "a b", "it's", "$(touch x)", "a;b", '%H "q"'])
def test_each_event_runs_the_program_at_any_path(tmp_path: Path, folder: str) -> None:
    program = tmp_path / folder / "hook"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$1" >>"${0%/*}/seen"\n', encoding="utf-8")
    program.chmod(0o700)
    hooks = json.loads(settings(str(program), bypass=False))["hooks"]
    for event in EVENTS:
        ((hook,),) = [entry["hooks"] for entry in hooks[event]]
        done = subprocess.run(["/bin/sh", "-c", hook["command"]], cwd=tmp_path, check=True)
        assert done.returncode == 0
    assert (program.parent / "seen").read_text(encoding="utf-8").split() == list(EVENTS)
    assert sorted(path.name for path in tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("bypass", [True, False])
def test_the_bypass_warning_is_accepted_only_with_bypass(bypass: bool) -> None:
    content = json.loads(settings("/run/hook", bypass=bypass))
    expected = {"hooks"} | ({"skipDangerousModePermissionPrompt"} if bypass else set())
    assert set(content) == expected
