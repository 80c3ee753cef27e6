"""Configuration and trust as a user asks for them: init, config show, trust."""

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from cuekit.config import load, trust
from cuekit.config.discover import PROJECT_FILE, project_file, project_folder, real_folder
from cuekit.config.effective import HookSettings, LimitSettings
from cuekit.errors import CuekitError, InvalidInput, InvalidState
from cuekit.files import is_repository, remove_file, replace_file
from cuekit.model.lifecycle_events import EVENTS, NOTIFIED
from cuekit.model.times import rfc3339
from cuekit.paths import home_from

if TYPE_CHECKING:
    from cuekit.config.effective import Settings

BUILT_IN = "built-in"
_SUBMIT = {
    "agent_kind": None,
    "model": None,
    "mode": "interactive",
    "timeout": None,
    "keep": False,
    "session": None,
    "reporting": None,  # yes for a parent over MCP, else no
}
_PARENTS: dict[tuple[str, ...], Any] = {
    ("approvals", "parents"): "deny",
    ("approvals", "handover"): None,
    ("approvals", "preallow"): ("read", "list", "search"),
    ("approvals", "rules"): (),
    ("profiles", "folders"): (),
    ("mcp", "shell"): "deny",
}
_LIFE: dict[tuple[str, ...], Any] = {
    ("limits", "live_tasks"): LimitSettings.live_tasks,
    ("retention", "keep_for"): None,
    ("retention", "auto"): False,
    **{("hooks", event): None for event in EVENTS},
    ("hooks", "time_limit"): HookSettings.time_limit_s,
    ("notifications", "desktop"): False,
    ("notifications", "terminal"): False,
    ("notifications", "events"): NOTIFIED,
}
_SECONDS = {
    ("approvals", "handover"),
    ("submit", "timeout"),
    ("retention", "keep_for"),
    ("hooks", "time_limit"),
}
_MULTIPLEXER = {
    "backend": "tmux",
    "socket_name": None,
    "socket_path": None,
    "width": 200,
    "height": 50,
}
ORDINARY_FILE = 0o666
"""The mode of a file to be shared with others; the user's umask narrows it."""


def show(cwd: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Each setting in force for a folder, its source, and what was ignored for want of trust."""
    from cuekit.agents.registry import KINDS
    from cuekit.config.schema import SECTIONS

    home = home_from(environ)
    effective = load.effective(cwd, home, environ)
    built_in: dict[tuple[str, ...], Any] = {
        **{("submit", name): value for name, value in _SUBMIT.items()},
        **{("multiplexer", name): value for name, value in _MULTIPLEXER.items()},
        **{("adapters", kind, "permissions"): "bypass" for kind in KINDS},
        **_LIFE,
        **_PARENTS,
    }
    order = {name: place for place, name in enumerate(SECTIONS)}
    kinds = {kind: place for place, kind in enumerate(KINDS)}
    names = sorted(
        {**built_in, **effective.settings},
        key=lambda key: (order[key[0]], kinds.get(key[1], 0) if key[0] == "adapters" else 0),
    )
    return {
        "folder": real_folder(cwd),
        "user_file": home.config if os.path.lexists(home.config) else None,
        "project_file": effective.project_file,
        "project_trusted": effective.project_trusted if effective.project_file else None,
        "settings": [
            _row(key, effective.settings[key].value, effective.settings[key].source)
            if key in effective.settings
            else _row(key, built_in[key], BUILT_IN)
            for key in names
        ],
        "ignored": rows_of(effective.ignored_settings),
        "warnings": [line for line in (effective.ignored, *effective.warnings) if line],
    }


def rows_of(settings: "Settings") -> list[dict[str, Any]]:
    """Settings as a list of name, value and source."""
    return [_row(key, setting.value, setting.source) for key, setting in settings.items()]


def _row(key: tuple[str, ...], value: Any, source: str) -> dict[str, Any]:
    if key in _SECONDS and value is not None:
        value = f"{value:g}s"
    if isinstance(value, tuple):
        value = list(value)
    return {"name": ".".join(key), "value": value, "source": source}


def give_trust(
    folder: str | None, cwd: str, environ: Mapping[str, str], *, force: bool = False
) -> dict[str, Any]:
    """Trust a folder and the present content of the `.cuekit.yaml` that counts there.

    Without a folder it is the git root of `cwd`, or `cwd`. `allows` lists the settings of that
    content that count only with trust.
    Raises InvalidState (`child_may_not`), InvalidInput (`no_such_folder`, `too_wide`,
    `config_invalid`) and CuekitError as `trust.give`.
    """
    _refuse_to_children(environ, "trust")
    home = home_from(environ)
    start = real_folder(_named(folder, cwd))
    target = start if folder is not None else project_folder(start)
    if not force:
        trust.check_worth(target, environ.get("HOME"))
    file = project_file(start)
    examined = load.examine(file, home, environ) if file is not None else None
    from cuekit.config import profiles  # brings hashlib

    read = [(examined.path, examined.sha256)] if examined else []
    roles = profiles.files_of_project(target)
    trust.give(home, target, *read, *roles)
    return {
        "folder": target,
        "config": {"path": examined.path, "sha256": examined.sha256} if examined else None,
        "allows": rows_of(examined.needs_trust) if examined else [],
        "profiles": [path for path, _ in roles],
    }


def revoke_trust(folder: str | None, cwd: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Take trust back from a folder and its `.cuekit.yaml`; the folder may be gone by now.

    Raises InvalidState (`child_may_not`), NotFound (`not_trusted`) and CuekitError as
    `trust.give`.
    """
    _refuse_to_children(environ, "trust revoke")
    home = home_from(environ)
    start = os.path.realpath(_named(folder, cwd))
    target = start if folder is not None else project_folder(start)
    return {"revoked": trust.revoke(home, target, project_file(start))}


def _named(folder: str | None, cwd: str) -> str:
    """The folder that was named, or `cwd`. An empty name, of an unset variable say, is neither."""
    if folder == "":
        raise InvalidInput("the folder's name is empty", code="no_such_folder")
    return os.path.join(cwd, folder) if folder is not None else cwd


def _refuse_to_children(environ: Mapping[str, str], what: str) -> None:
    if task := environ.get("CUEKIT_TASK_ID"):
        raise InvalidState(
            f"the agent of a task may not use {what!r}: trust is the user's to give",
            code="child_may_not",
            hint=f"ask the user to run it in a shell of their own (this is inside {task[:40]!r})",
        )


def show_trust(cwd: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Everything that is trusted, and what of it counts in this folder."""
    home = home_from(environ)
    record = trust.read(home)
    here = real_folder(cwd)
    effective = load.effective(here, home, environ)
    return {
        "here": {
            "folder": here,
            "folder_trusted": trust.folder_trusted(home, here),
            "config": effective.project_file,
            "config_trusted": effective.project_trusted if effective.project_file else None,
        },
        "folders": [
            {"folder": path, "given_at": rfc3339(at), "exists": os.path.isdir(path)}
            for path, at in sorted(record.folders.items())
        ],
        "contents": [
            {
                "path": path,
                "sha256": entry.sha256,
                "given_at": rfc3339(entry.given_at),
                "state": load.content_state(path, entry.sha256),
            }
            for path, entry in sorted(record.contents.items())
        ],
    }


def init(
    cwd: str,
    *,
    dry_run: bool = False,
    force: bool = False,
    gitignore: bool = True,
    unsafe_bypass: bool = False,
) -> dict[str, Any]:
    """Write a safe `.cuekit.yaml` at the git root, or in `cwd`, and keep git off cuekit's files.

    Raises InvalidInput (`no_such_folder`), InvalidState (`config_exists`) and CuekitError
    (`cannot_write`). A .gitignore that cannot be changed is only warned of.
    """
    from cuekit.config import template

    folder = project_folder(real_folder(cwd))
    path = os.path.join(folder, PROJECT_FILE)
    existed = os.path.lexists(path)
    _check_free(path, existed, force)
    text = template.config_text("bypass" if unsafe_bypass else "prompt")
    if not dry_run:
        _write_config(path, text.encode(), replace=existed)
    files = [{"path": path, "action": "updated" if existed else "created"}]
    warnings = []
    if unsafe_bypass:
        warnings.append(
            "agents run without asking; `permissions: bypass` counts once you ran `cuekit trust`"
        )
    if gitignore:
        entry, warning = _ignore(folder, dry_run)
        files.append(entry)
        warnings += [warning] if warning else []
    return {"folder": folder, "dry_run": dry_run, "files": files, "warnings": warnings}


def _check_free(path: str, existed: bool, force: bool) -> None:
    if existed and not force:
        raise InvalidState(
            f"{path} is there already",
            code="config_exists",
            hint="see it with `cuekit config show`, or replace it with --force",
        )
    if os.path.isdir(path) and not os.path.islink(path):
        raise InvalidState(f"{path} is a folder", code="config_exists", hint="move it away")


def _write_config(path: str, data: bytes, *, replace: bool) -> None:
    """Make the file appear whole; a symbolic link in its place is replaced, never followed."""
    try:
        if replace:
            replace_file(path, data, ORDINARY_FILE)
            return
        temporary = f"{path}.{os.getpid()}"
        replace_file(temporary, data, ORDINARY_FILE)
        try:
            os.link(temporary, path)  # fails when somebody else made the file meanwhile
        finally:
            remove_file(temporary)
    except FileExistsError:
        raise InvalidState(f"{path} is there already", code="config_exists") from None
    except OSError as error:
        raise CuekitError(f"cannot write {path}: {error.strerror}", code="cannot_write") from None


def _ignore(folder: str, dry_run: bool) -> tuple[dict[str, str], str | None]:
    """Add cuekit's folder to .gitignore: what was done, and a warning when it could not be."""
    from cuekit.config import template

    path = os.path.join(folder, ".gitignore")
    skipped = {"path": path, "action": "skipped"}
    if not is_repository(folder):
        return skipped, None
    flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    existed = os.path.lexists(path)
    if dry_run and not existed:
        return {"path": path, "action": "created"}, None
    try:
        descriptor = os.open(path, flags | (0 if dry_run else os.O_CREAT), ORDINARY_FILE)
        with open(descriptor, "r+b", buffering=0) as file:
            content = file.read()
            addition = template.with_ignore_line(content)
            if addition is None:
                return skipped, None
            if not dry_run:
                _append(file.fileno(), addition, len(content))
    except OSError as error:
        return skipped, f"{path} was left as it is: {error.strerror}"
    return {"path": path, "action": "updated" if existed else "created"}, None


def _append(descriptor: int, addition: bytes, size: int) -> None:
    """Append whole or not at all."""
    try:
        if os.write(descriptor, addition) == len(addition):
            return
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, size)
        raise
    os.ftruncate(descriptor, size)
    raise OSError(28, "no space left")
