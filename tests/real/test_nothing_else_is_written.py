"""The user's own configuration and repository are the same before and after."""

import hashlib
import json
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.real.test_main_job import submit, wait
from tests.support.real_agents import RealAgent

# What the agents write by themselves on every run, with or without cuekit.
AGENTS_OWN = (
    ".cache/",
    ".claude/",
    ".claude.json",
    ".codex/",
    ".local/share/applications/claude-code-url-handler.desktop",
    ".local/share/claude/",
    ".local/state/claude/",
)
# The TUI of codex 0.133 and 0.171 writes these into config.toml, started by hand as well.
TIPS = ("model_availability_nux", "screen_reader_detection_done")
SETTINGS = (
    ".codex/config.toml",
    ".codex/hooks.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
)


def content(folder: Path) -> dict[str, str]:
    """Every file below a folder, by its relative path, with a digest of what is in it."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def settings(home: Path) -> dict[str, object]:
    """The settings files; of codex's, all but the tips that its TUI notes as shown."""
    found: dict[str, object] = {
        name: (home / name).read_bytes() if (home / name).exists() else None for name in SETTINGS
    }
    config = home / ".codex/config.toml"
    if config.exists():
        values = tomllib.loads(config.read_text())
        for key in TIPS:
            values.get("tui", {}).pop(key, None)
        found[".codex/config.toml"] = {name: value for name, value in values.items() if value}
    return found


def trust_records(home: Path) -> object:
    """What claude's own file says of folders."""
    file = home / ".claude.json"
    projects = json.loads(file.read_text()).get("projects", {}) if file.exists() else {}
    return {
        folder: entry.get("hasTrustDialogAccepted", False) for folder, entry in projects.items()
    }


@pytest.mark.parametrize("mode", ["interactive", "batch"])
def test_home_and_repository_are_as_they_were(any_agent: RealAgent, mode: str) -> None:
    any_agent.model.default("Nothing to do.")
    repository = any_agent.project
    before = content(repository), settings(any_agent.home), content(any_agent.home)
    task = submit(any_agent, "--trust", "--mode", mode, "look around")
    wait(any_agent, task, *(["--until", "idle"] if mode == "interactive" else []))
    any_agent.cuekit("task", "cancel", task["task_id"])
    files = {
        name: digest
        for name, digest in content(repository).items()
        if not name.startswith(".cuekit/tasks/")
    }
    assert files == before[0]
    assert settings(any_agent.home) == before[1]
    assert not any(trusted is True for trusted in dict(trust_records(any_agent.home)).values())  # type: ignore[call-overload]
    status = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=all"],
        cwd=repository,
        env=any_agent.env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert status.stdout == ""
    inside = str(any_agent.cuekit_home.resolve())
    new = [
        name
        for name in content(any_agent.home)
        if name not in before[2]
        and not name.startswith(AGENTS_OWN)
        and not str((any_agent.home / name).resolve()).startswith(inside)
    ]
    assert new == []
    any_agent.cuekit("task", "delete", task["task_id"])
    left = [name for name in content(repository) if name.startswith(".cuekit/")]
    assert left == [".cuekit/tasks/.gitignore"]
