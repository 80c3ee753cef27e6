"""The agents' own records of trusted folders."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from cuekit.service.agent_trust import recorded


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a project"
    folder.mkdir()
    return folder


def codex(home: Path, text: str) -> None:
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex" / "config.toml").write_text(text)


@pytest.mark.parametrize(("level", "expected"), [("trusted", True), ("untrusted", False)])
def test_codex_has_a_level_for_a_folder(
    tmp_path: Path, project: Path, level: str, expected: bool
) -> None:
    codex(tmp_path, f'[projects."{project}"]\ntrust_level = "{level}"\n')
    environ = {"HOME": str(tmp_path)}
    assert recorded("codex", str(project), environ) is expected
    link = tmp_path / "link"
    link.symlink_to(project)
    assert recorded("codex", str(link), environ) is expected
    assert recorded("codex", str(tmp_path), environ) is None


def test_codex_counts_the_repository_that_a_folder_or_worktree_is_in(
    tmp_path: Path, project: Path
) -> None:
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost"]
    for args in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run([*git, *args], cwd=project, check=True, env=os.environ | {"HOME": "/"})
    tree = tmp_path / "tree"
    subprocess.run([*git, "worktree", "add", "-q", str(tree)], cwd=project, check=True)
    (project / "sub").mkdir()
    codex(tmp_path, f'[projects."{project}"]\ntrust_level = "trusted"\n')
    environ = {"HOME": str(tmp_path)}
    assert recorded("codex", str(project / "sub"), environ) is True
    assert recorded("codex", str(tree), environ) is True


def test_codex_is_read_where_codex_home_says(tmp_path: Path, project: Path) -> None:
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "config.toml").write_text(
        f'projects = {{"{project}" = {{trust_level = "trusted"}}}}\n'
    )
    environ = {"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path / "else")}
    assert recorded("codex", str(project), environ) is True


@pytest.mark.parametrize("text", ["[", "projects = 3", "[projects]\nx = 1", "\xff"])
def test_a_broken_record_says_nothing(tmp_path: Path, project: Path, text: str) -> None:
    codex(tmp_path, "")
    (tmp_path / ".codex" / "config.toml").write_bytes(text.encode("latin-1"))
    (tmp_path / ".claude.json").write_text(text)
    for kind in ("codex", "claude-code", "gemini", "pi"):
        assert recorded(kind, str(project), {"HOME": str(tmp_path)}) is None


def test_claude_counts_a_folder_above(tmp_path: Path, project: Path) -> None:
    projects = {str(project): {"hasTrustDialogAccepted": True}, str(tmp_path): {}}
    (tmp_path / ".claude.json").write_text(json.dumps({"projects": projects}))
    environ = {"HOME": str(tmp_path)}
    (project / "sub").mkdir()
    assert recorded("claude-code", str(project / "sub"), environ) is True
    assert recorded("claude-code", str(tmp_path), environ) is None


@pytest.mark.parametrize(
    ("rule", "expected"), [("TRUST_FOLDER", True), ("DO_NOT_TRUST", False), ("OTHER", None)]
)
def test_gemini_has_the_nearest_rule(
    tmp_path: Path, project: Path, rule: str, expected: bool | None
) -> None:
    (tmp_path / ".gemini").mkdir()
    rules = tmp_path / ".gemini" / "trustedFolders.json"
    rules.write_text(json.dumps({str(project): rule}))
    (project / "sub").mkdir()
    assert recorded("gemini", str(project / "sub"), {"HOME": str(tmp_path)}) is expected


def test_without_a_home_nothing_is_known(project: Path) -> None:
    assert recorded("codex", str(project), {}) is None
