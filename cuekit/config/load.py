"""From the files to the settings in force: the project's, the user's, and what is built in."""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass

from cuekit.config.discover import project_file, real_folder
from cuekit.config.effective import Effective, Setting, Settings, dotted, effective_from
from cuekit.errors import InvalidInput
from cuekit.paths import Home

SOCKET_VARIABLE = "CUEKIT_TMUX_SOCKET"


def effective(cwd: str, home: Home, environ: Mapping[str, str]) -> Effective:
    """What is configured for a working folder. Project before user before built in.

    Without a file this reads nothing and does not import yaml.
    Raises InvalidInput (`config_invalid` with file and line, `no_such_folder`) and CuekitError
    (`trust_file_broken`, `trust_file_newer`).
    """
    file = project_file(real_folder(cwd))
    user = user_settings(home, environ)
    examined = _examine(file, user, environ) if file is not None else None
    project: Settings = {}
    refused: Settings = {}
    trusted, ignored = False, None
    warnings: tuple[str, ...] = ()
    if examined is not None:
        from cuekit.config import trust

        if examined.users_own:
            warnings = (_users_own(examined, home),)
        trusted = trust.content_trusted(home, examined.path, examined.sha256)
        refused = {} if trusted else examined.needs_trust
        project = {key: at for key, at in examined.settings.items() if key not in refused}
        if refused:
            ignored = _ignored(examined.path, refused, trust.content_known(home, examined.path))
    settings = {**user, **project}
    # One file's name and another's path of a socket exclude one another: the nearer file's counts.
    for one, other in (("socket_name", "socket_path"), ("socket_path", "socket_name")):
        if ("multiplexer", one) in project and ("multiplexer", other) not in project:
            settings.pop(("multiplexer", other), None)
    if socket := environ.get(SOCKET_VARIABLE):
        settings.pop(("multiplexer", "socket_name"), None)
        settings["multiplexer", "socket_path"] = Setting(socket, SOCKET_VARIABLE)
    return Effective(
        **effective_from(settings),
        sources={dotted(key): setting.source for key, setting in settings.items()},
        ignored=ignored,
        warnings=warnings,
        project_file=examined.path if examined else None,
        project_trusted=trusted,
        settings=settings,
        ignored_settings=refused,
    )


@dataclass(frozen=True)
class Examined:
    """One reading of a project's file: its content by hash, and what of it counts only trusted."""

    path: str
    sha256: str
    settings: Settings
    needs_trust: Settings
    users_own: tuple[str, ...] = ()  # names that only the user's own file may say


def examine(file: str, home: Home, environ: Mapping[str, str]) -> Examined | None:
    """Read a project's file once, for its hash and its settings; None when it is gone.

    Raises InvalidInput (`config_invalid`).
    """
    return _examine(file, user_settings(home, environ), environ)


def _examine(file: str, user: Settings, environ: Mapping[str, str]) -> Examined | None:
    from cuekit.config import safety

    read = _read(file, environ)
    if read is None:
        return None
    from cuekit.config.schema import USER_ONLY

    sha256, said = read
    settings = {key: setting for key, setting in said.items() if key not in USER_ONLY}
    users_own = tuple(dotted(key) for key in said if key in USER_ONLY)
    return Examined(file, sha256, settings, safety.split_untrusted(settings, user)[1], users_own)


def content_state(file: str, sha256: str) -> str:
    """Whether a file still has a content: `current`, `changed` or `missing`."""
    from cuekit.config.document import content_digest, read_bytes

    try:
        data = read_bytes(file)
    except InvalidInput:
        return "changed"
    if data is None:
        return "missing"
    return "current" if content_digest(data) == sha256 else "changed"


def user_settings(home: Home, environ: Mapping[str, str]) -> Settings:
    """What the user's own file says. Raises InvalidInput (`config_invalid`)."""
    read = _read(home.config, environ)
    if read is None:
        return {}
    if os.stat(home.config).st_mode & stat.S_IWOTH:
        raise InvalidInput(
            f"{home.config}: every user can write to it, so it cannot be trusted",
            code="config_invalid",
            hint=f"chmod o-w {home.config}",
        )
    return read[1]


def _read(path: str, environ: Mapping[str, str]) -> tuple[str, Settings] | None:
    """The hash and the settings of a file; None when there is none."""
    if not os.path.lexists(path):
        return None
    from cuekit.agents.registry import KINDS
    from cuekit.config.document import read_document
    from cuekit.config.schema import settings_of

    document = read_document(path)
    if document is None:
        return None
    settings = settings_of(document, KINDS)
    for key, setting in settings.items():
        is_hook = key[0] == "hooks" and key[1] != "time_limit"
        if is_hook or (key[0] == "adapters" and key[2] == "command"):
            settings[key] = Setting(_placed(setting.value, path, environ), setting.source)
        if key == ("profiles", "folders"):
            folders = tuple(_below_home(folder, environ) for folder in setting.value)
            settings[key] = Setting(folders, setting.source)
    return document.sha256, settings


def _placed(command: tuple[str, ...], file: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """A configured program: `~/` is the user's home, another relative path starts at the file."""
    program = _below_home(command[0], environ)
    if "/" in program:
        program = os.path.normpath(os.path.join(os.path.dirname(file), program))
    return (program, *command[1:])


def _below_home(path: str, environ: Mapping[str, str]) -> str:
    if path.startswith("~/") and environ.get("HOME"):
        return os.path.join(environ["HOME"], path[2:])
    return path


def _users_own(examined: Examined, home: Home) -> str:
    names = ", ".join(examined.users_own)
    return f"ignored in {examined.path}: {names} (only {home.config} may say it)"


def _ignored(file: str, refused: Settings, known: bool) -> str:
    names = ", ".join(dotted(key) for key in sorted(refused))
    why = "its content changed since you trusted it" if known else "you have not trusted it"
    return f"ignored in {file}, as {why}: {names} (to allow: cuekit trust)"
