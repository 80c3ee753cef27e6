"""`cuekit init` as a user runs it."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cuekit.config.template import config_text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = Path(os.path.realpath(tmp_path)) / "it's a project"
    made.mkdir()
    return made


def cuekit(folder: Path, *words: str, status: int = 0) -> str:
    """Standard output of a command in the folder; standard error where it fails."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder.parent),
        "CUEKIT_HOME": f"{folder.parent}/cuekit",
    }
    argv = [sys.executable, "-m", "cuekit", *words]
    done = subprocess.run(argv, cwd=folder, env=environ, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr if status else done.stdout


def git(folder: Path, *words: str) -> str:
    quiet = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    argv = ["git", *words]
    done = subprocess.run(argv, cwd=folder, env=quiet, capture_output=True, text=True, check=True)
    return done.stdout


def files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_a_safe_file_appears_and_git_leaves_cuekits_files_out(folder: Path) -> None:
    git(folder, "init", "-q")
    assert json.loads(cuekit(folder, "init", "--format", "json")) == {
        "folder": str(folder),
        "dry_run": False,
        "files": [
            {"path": f"{folder}/.cuekit.yaml", "action": "created"},
            {"path": f"{folder}/.gitignore", "action": "created"},
        ],
        "warnings": [],
    }
    assert files(folder) == {".cuekit.yaml": config_text("prompt"), ".gitignore": ".cuekit/\n"}
    (folder / ".cuekit" / "tasks").mkdir(parents=True)
    (folder / ".cuekit" / "tasks" / "prompt.md").write_text("x")
    assert git(folder, "status", "--porcelain") == "?? .cuekit.yaml\n?? .gitignore\n"
    shown = json.loads(cuekit(folder, "config", "show", "--format", "json"))
    assert shown["ignored"] == []
    prompts = {row["name"] for row in shown["settings"] if row["value"] == "prompt"}
    assert prompts == {
        f"adapters.{kind}.permissions"
        for kind in ("claude-code", "codex", "opencode", "gemini", "antigravity")
    }


def test_the_file_appears_at_the_git_root(folder: Path) -> None:
    git(folder, "init", "-q")
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    assert cuekit(below, "init") == (
        f"created  {folder}/.cuekit.yaml\ncreated  {folder}/.gitignore\n"
    )
    assert list(below.iterdir()) == []


def test_outside_of_git_the_file_appears_alone_in_the_folder(folder: Path) -> None:
    assert cuekit(folder, "init") == (
        f"created  {folder}/.cuekit.yaml\nskipped  {folder}/.gitignore\n"
    )
    assert list(files(folder)) == [".cuekit.yaml"]


def test_a_dry_run_writes_nothing(folder: Path) -> None:
    git(folder, "init", "-q")
    assert cuekit(folder, "init", "--dry-run") == (
        f"would be created  {folder}/.cuekit.yaml\nwould be created  {folder}/.gitignore\n"
    )
    (folder / ".gitignore").write_text("build/\n")
    assert "would be updated" in cuekit(folder, "init", "--dry-run")
    assert files(folder) == {".gitignore": "build/\n"}


def test_a_file_that_is_there_is_kept_unless_forced(folder: Path) -> None:
    (folder / ".cuekit.yaml").write_text("submit: {}\n")
    for words in (["init"], ["init", "--dry-run"]):
        said = cuekit(folder, *words, "--format", "json", status=4)
        assert json.loads(said)["error"]["code"] == "config_exists"
    assert files(folder) == {".cuekit.yaml": "submit: {}\n"}
    assert cuekit(folder, "init", "--force").startswith("updated  ")
    assert files(folder) == {".cuekit.yaml": config_text("prompt")}


def test_a_link_in_the_files_place_is_replaced_and_never_followed(folder: Path) -> None:
    target = folder.parent / "target"
    target.write_text("precious")
    for place in (target, folder.parent / "not-there"):
        (folder / ".cuekit.yaml").symlink_to(place)
        cuekit(folder, "init", status=4)
        cuekit(folder, "init", "--force")
        assert not (folder / ".cuekit.yaml").is_symlink()
        (folder / ".cuekit.yaml").unlink()
    assert target.read_text() == "precious"
    assert not (folder.parent / "not-there").exists()


def test_a_folder_in_the_files_place_is_left(folder: Path) -> None:
    (folder / ".cuekit.yaml").mkdir()
    assert "is a folder" in cuekit(folder, "init", "--force", status=4)
    assert (folder / ".cuekit.yaml").is_dir()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("build/\n", "build/\n.cuekit/\n"),
        ("build/", "build/\n.cuekit/\n"),
        ("build/\r\n", "build/\r\n.cuekit/\r\n"),
        ("#.cuekit/\n", "#.cuekit/\n.cuekit/\n"),
        ("/.cuekit/\nbuild/\n", "/.cuekit/\nbuild/\n"),
        (".cuekit", ".cuekit"),
    ],
)
def test_the_line_is_added_to_gitignore_once(folder: Path, before: str, after: str) -> None:
    git(folder, "init", "-q")
    (folder / ".gitignore").write_bytes(before.encode())
    (folder / ".gitignore").chmod(0o640)
    cuekit(folder, "init")
    cuekit(folder, "init", "--force")
    assert (folder / ".gitignore").read_bytes() == after.encode()
    assert stat.S_IMODE((folder / ".gitignore").stat().st_mode) == 0o640


def test_gitignore_is_left_alone_on_request(folder: Path) -> None:
    git(folder, "init", "-q")
    cuekit(folder, "init", "--no-gitignore")
    assert list(files(folder)) == [".cuekit.yaml"]


def test_a_gitignore_that_is_a_link_is_not_followed(folder: Path) -> None:
    git(folder, "init", "-q")
    target = folder.parent / "target"
    target.write_text("precious")
    (folder / ".gitignore").symlink_to(target)
    done = json.loads(cuekit(folder, "init", "--format", "json"))
    assert done["files"][1]["action"] == "skipped"
    assert [".gitignore was left as it is" in line for line in done["warnings"]] == [True]
    assert target.read_text() == "precious"


def test_bypass_is_written_only_on_request_and_counts_only_with_trust(folder: Path) -> None:
    done = json.loads(cuekit(folder, "init", "--unsafe-bypass", "--format", "json"))
    assert files(folder) == {".cuekit.yaml": config_text("bypass")}
    assert len(done["warnings"]) == 1
    shown = json.loads(cuekit(folder, "config", "show", "--format", "json"))
    assert {row["value"] for row in shown["ignored"]} == {"bypass"}


def test_a_folder_that_cannot_be_written_gives_one_line(folder: Path) -> None:
    """A file system that takes no files: true for root too, who is stopped by no mode."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "CUEKIT_HOME": f"{folder}/home"}
    argv = [sys.executable, "-m", "cuekit", "init"]
    done = subprocess.run(argv, cwd="/proc/self", env=environ, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("cuekit: cannot write /proc/")
    assert done.stderr.count("\n") == 1


def test_nothing_but_the_files_is_left(folder: Path) -> None:
    git(folder, "init", "-q")
    cuekit(folder, "init")
    assert sorted(os.listdir(folder)) == [".cuekit.yaml", ".git", ".gitignore"]
    assert not (folder.parent / "cuekit").exists()
