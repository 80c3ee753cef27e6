"""The doctor's looks at `cuekit --mcp`: its package, and the clients that know of it.

A client's own `mcp list` starts every server that it knows, and takes seconds: the file is read in
its place (docs/decisions/0023). Of it the entry `cuekit` alone is looked at; nothing else is
kept or shown, and a file that cannot be read is told of by its name.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from shlex import join
from typing import Any

from cuekit.paths import search_path
from cuekit.service.doctor_check import Check, Situation, ok, warning
from cuekit.service.mcp_clients import CLIENTS, NAME

LARGEST = 32 * 1024 * 1024
"""Bytes of a client's file: claude keeps its history beside its servers."""


def mcp(situation: Situation) -> Iterator[Check]:
    """The package can be imported, and each client that is installed."""
    from shutil import which

    yield package()
    for client in CLIENTS:
        if which(client, path=search_path(situation.environ)) is None:
            continue
        yield registration(client, situation)


def package() -> Check:
    """Whether the official package is there; only looked for, since importing it takes a second."""
    from importlib.util import find_spec

    found = find_spec("mcp")  # of "mcp.server" it would import what is above it
    folders = found.submodule_search_locations if found else None
    if not any(os.path.exists(os.path.join(folder, "server")) for folder in folders or ()):
        said = "the package mcp cannot be imported, so `cuekit --mcp` does not start"
        return Check("mcp", "failure", said, "install cuekit anew")
    return ok("mcp", "the package for `cuekit --mcp` is there")


def registration(client: str, situation: Situation) -> Check:
    """Whether a client has an entry of ours, whose program can be run."""
    name, add = f"mcp.{client}", f"cuekit mcp add {client}"
    unread = []
    for path in files_of(client, situation):
        try:
            command = entry_of(client, path, situation.cwd)
        except (OSError, ValueError):
            unread.append(path)
            continue
        if command is None:
            continue
        if not command:
            return ok(name, f"is named in {path}")
        if not _runs(command[0], situation.environ):
            said = f"{path} starts {command[0]}, which cannot be run"
            return warning(name, said, add)
        return ok(name, f"{path} starts {join(command)}")
    if unread:
        said = f"cannot be told: {unread[0]} is not read as {client} would read it"
        return warning(name, said, f"{client} mcp list")
    return ok(name, f"{client} does not know of cuekit ({add})")


def files_of(client: str, situation: Situation) -> list[str]:
    """The files of a client's that are there, the user's first."""
    environ, cwd = situation.environ, situation.cwd
    user = environ.get("HOME", "/")
    match client:
        case "codex":
            folder = environ.get("CODEX_HOME") or os.path.join(user, ".codex")
            paths = [os.path.join(folder, "config.toml")]
        case "claude":
            folder = environ.get("CLAUDE_CONFIG_DIR") or user
            paths = [os.path.join(folder, ".claude.json"), os.path.join(cwd, ".mcp.json")]
        case "gemini":
            folder = environ.get("GEMINI_CLI_HOME") or user
            paths = [os.path.join(base, ".gemini", "settings.json") for base in (folder, cwd)]
        case _:
            folder = environ.get("XDG_CONFIG_HOME") or os.path.join(user, ".config")
            folders = (os.path.join(folder, "opencode"), cwd)
            paths = [
                os.path.join(base, f"opencode.{end}")
                for base in folders
                for end in ("json", "jsonc")
            ]
    return [path for path in paths if os.path.isfile(path)]


def entry_of(client: str, path: str, cwd: str) -> list[str] | None:
    """The command of the entry `cuekit`: empty where it cannot be told, None without an entry.

    Raises OSError, and ValueError for what is not in the file's own format.
    """
    with open(path, "rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(path)
    if client == "codex":
        import tomllib

        return _command(_at(tomllib.loads(data.decode("utf-8")), "mcp_servers", NAME))
    try:
        value = json.loads(data)
    except ValueError:  # gemini and opencode take comments as well
        text = data.decode("utf-8", "replace")
        if "//" not in text and "/*" not in text:
            raise
        return [] if re.search(rf'^\s*"{NAME}"\s*:', text, re.MULTILINE) else None
    if client == "opencode":
        return _command(_at(value, "mcp", NAME))
    places = [_at(value, "mcpServers", NAME)]
    if client == "claude":
        places.append(_at(value, "projects", os.path.realpath(cwd), "mcpServers", NAME))
    found = next((place for place in places if place is not None), None)
    return _command(found)


def _at(value: Any, *names: str) -> Any:
    for name in names:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def _command(entry: Any) -> list[str] | None:
    """opencode has one list; the others a program and its arguments."""
    if not isinstance(entry, Mapping):
        return None
    command, arguments = entry.get("command"), entry.get("args")
    words = [command] if isinstance(command, str) else command
    if not isinstance(words, list):
        return []
    words = [*words, *(arguments if isinstance(arguments, list) else [])]
    return words if all(isinstance(word, str) for word in words) else []


def _runs(program: str, environ: Mapping[str, str]) -> bool:
    from shutil import which

    return which(program, path=search_path(environ)) is not None
