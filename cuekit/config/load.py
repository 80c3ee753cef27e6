"""From the files to the settings in force: the project's, the user's, and what is built in."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cuekit.config.discover import project_file, real_folder
from cuekit.config.effective import Effective, Key, Setting, Settings, dotted, effective_from
from cuekit.paths import Home

if TYPE_CHECKING:
    from cuekit.config.document import Document

SOCKET_VARIABLE = "CUEKIT_TMUX_SOCKET"


def effective(cwd: str, home: Home, environ: Mapping[str, str]) -> Effective:
    """What is configured for a working folder. Project before user before built in.

    Without a file this reads nothing and imports neither yaml nor pydantic.
    Raises InvalidInput (`config_invalid` with file and line, `no_such_folder`) and CuekitError
    (`trust_file_broken`, `trust_file_newer`).
    """
    file = project_file(real_folder(cwd))
    user = _settings(home.config, environ)[1]
    project: Settings = {}
    refused: Settings = {}
    trusted, ignored = False, None
    if file is not None:
        document, said = _settings(file, environ)
        if document is not None:
            from cuekit.config import safety, trust

            trusted = trust.content_trusted(home, file, document.sha256)
            project, refused = (said, {}) if trusted else safety.split_untrusted(said, user)
            if refused:
                ignored = _ignored(file, refused, trust.content_known(home, file))
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
        project_file=file,
        project_trusted=trusted,
        settings=settings,
        ignored_settings=refused,
    )


def _settings(
    path: str, environ: Mapping[str, str]
) -> tuple["Document | None", dict[Key, Setting]]:
    if not os.path.lexists(path):
        return None, {}
    from cuekit.agents.registry import KINDS
    from cuekit.config.document import read_document
    from cuekit.config.schema import settings_of

    document = read_document(path)
    if document is None:
        return None, {}
    settings = settings_of(document, KINDS)
    for key, setting in settings.items():
        if key[0] == "adapters" and key[2] == "command":
            settings[key] = Setting(_placed(setting.value, path, environ), setting.source)
    return document, settings


def _placed(command: tuple[str, ...], file: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """A configured program: `~/` is the user's home, another relative path starts at the file."""
    program = command[0]
    if program.startswith("~/") and environ.get("HOME"):
        program = os.path.join(environ["HOME"], program[2:])
    elif "/" in program:
        program = os.path.normpath(os.path.join(os.path.dirname(file), program))
    return (program, *command[1:])


def _ignored(file: str, refused: Settings, known: bool) -> str:
    names = ", ".join(dotted(key) for key in sorted(refused))
    why = "its content changed since you trusted it" if known else "you have not trusted it"
    return f"ignored in {file}, as {why}: {names} (to allow: cuekit trust)"
