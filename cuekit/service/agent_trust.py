"""The agents' own records of which folders their user trusts. Read, never written."""

import os
from collections.abc import Iterator, Mapping
from typing import Any


def recorded(kind: str, folder: str, environ: Mapping[str, str]) -> bool | None:
    """What the agent's own configuration says on a folder: trusted, not trusted, or None: nothing.

    Known for codex, claude-code and gemini; a record that cannot be read says nothing.
    """
    reader = _READERS.get(kind)
    home = environ.get("HOME", "")
    if reader is None or not os.path.isabs(home):
        return None
    return reader(os.path.realpath(folder), environ, home)


def asks(kind: str) -> bool:
    """Whether the agent's TUI asks about a folder that it has no record of."""
    return kind in _READERS


def _codex(folder: str, environ: Mapping[str, str], home: str) -> bool | None:
    """`projects."<folder>".trust_level` of config.toml, of the folder or of its repository."""
    import tomllib

    root = environ.get("CODEX_HOME") or os.path.join(home, ".codex")
    try:
        with open(os.path.join(root, "config.toml"), "rb") as file:
            projects = tomllib.load(file).get("projects")
    except (OSError, ValueError):
        return None
    if not isinstance(projects, dict):
        return None
    for place in (folder, _repository(folder)):
        entry = projects.get(place)
        level = entry.get("trust_level") if isinstance(entry, dict) else None
        if level in ("trusted", "untrusted"):
            return bool(level == "trusted")
    return None


def _claude(folder: str, environ: Mapping[str, str], home: str) -> bool | None:
    """`projects["<folder>"].hasTrustDialogAccepted` of .claude.json, of the folder or one above."""
    projects = _json(os.path.join(environ.get("CLAUDE_CONFIG_DIR") or home, ".claude.json"))
    entries = projects.get("projects")
    if not isinstance(entries, dict):
        return None
    for place in _upward(folder):
        entry = entries.get(place)
        if isinstance(entry, dict) and entry.get("hasTrustDialogAccepted") is True:
            return True
    return None


def _gemini(folder: str, environ: Mapping[str, str], home: str) -> bool | None:
    """trustedFolders.json: the nearest rule from the folder upward."""
    rules = _json(os.path.join(home, ".gemini", "trustedFolders.json"))
    parents = {os.path.dirname(place) for place, rule in rules.items() if rule == "TRUST_PARENT"}
    for place in _upward(folder):
        if rules.get(place) == "TRUST_FOLDER" or place in parents:
            return True
        if rules.get(place) == "DO_NOT_TRUST":
            return False
    return None


_READERS = {"codex": _codex, "claude-code": _claude, "gemini": _gemini}


def _json(path: str) -> dict[str, Any]:
    from cuekit.files import read_json

    value = read_json(path)
    return value if isinstance(value, dict) else {}


def _upward(folder: str) -> Iterator[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _repository(folder: str) -> str:
    """The main folder of the git repository that a folder is in; the folder itself if in none.

    A linked worktree belongs to the repository that it was made from.
    """
    for place in _upward(folder):
        mark = os.path.join(place, ".git")
        if os.path.isdir(mark):
            return place
        if os.path.isfile(mark):
            return _origin_of_worktree(mark) or place
    return folder


def _origin_of_worktree(mark: str) -> str | None:
    """From `gitdir: /repo/.git/worktrees/name` in a worktree's .git file to `/repo`."""
    try:
        with open(mark, encoding="utf-8", errors="replace") as file:
            text = file.read(4096)
    except OSError:
        return None
    if not text.startswith("gitdir:"):
        return None
    target = os.path.join(os.path.dirname(mark), text.removeprefix("gitdir:").strip())
    parts = os.path.normpath(target).split(os.sep)
    if len(parts) > 3 and parts[-2] == "worktrees" and parts[-3] == ".git":
        return os.path.realpath(os.sep.join(parts[:-3]) or os.sep)
    return None
