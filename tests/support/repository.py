"""The least that makes a folder the top of a git repository, without running git."""

from pathlib import Path


def mark_repository(folder: Path) -> None:
    """Give a folder, made if missing, a `.git` that has a HEAD."""
    git = folder / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
