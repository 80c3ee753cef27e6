"""Installed agents: where each one is, which version it is, and which flags it knows."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from cuekit.agents import registry
from cuekit.agents.acp import ConfiguredAcp
from cuekit.agents.base import MODES, Agent, modes_of
from cuekit.errors import CuekitError
from cuekit.files import make_private_folder, read_json, replace_json
from cuekit.paths import Home, home_from, search_path

PROBE_LIMIT_S = 10.0
_VERSION = re.compile(r"\d+\.\d+\.\d+[0-9A-Za-z.+-]*")
_LONG_FLAG = re.compile(r"(?<![\w-])--[A-Za-z][A-Za-z0-9-]*")
_PATHS_KEPT = 64


@dataclass(frozen=True)
class Binary:
    """An agent's executable, and the words that stand before its own arguments."""

    path: str
    arguments: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """What to run."""
        return (self.path, *self.arguments)


@dataclass(frozen=True)
class Probe:
    """What an executable said of itself; nothing where it could not be asked."""

    version: str | None = None
    flags: frozenset[str] = frozenset()


def module(kind: str, protocol: str | None = None) -> Agent:
    """The module of an agent kind; one of the user's own is known by its configured protocol.

    Raises InvalidInput (`unknown_agent_kind`).
    """
    if protocol == "acp" and kind not in registry.KINDS:
        return ConfiguredAcp(kind)
    return registry.get(kind)


def find(
    kind: str, environ: Mapping[str, str], configured_command: Sequence[str] | None = None
) -> Binary:
    """The executable of an agent kind, on the PATH of the environment or as configured.

    Raises CuekitError with code `agent_not_installed`, saying what to install.
    """
    command = tuple(configured_command or ())
    name = command[0] if command else registry.get(kind).COMMAND
    path = _executable(name, environ)
    if path is None:
        raise CuekitError(
            f"{name!r} of the agent {kind} {_why_missing(name)}",
            code="agent_not_installed",
            hint=f"correct adapters.{kind}.command" if command else registry.get(kind).INSTALL,
            details={"agent_kind": kind, "command": name},
        )
    return Binary(path, command[1:])


def installed_kinds(environ: Mapping[str, str]) -> list[str]:
    """The agent kinds that are on the PATH; never `shell`, which is run by request only."""
    return [
        kind
        for kind in registry.KINDS
        if kind != "shell" and _executable(registry.get(kind).COMMAND, environ)
    ]


def probe(
    kind: str,
    binary: Binary,
    home: Home,
    environ: Mapping[str, str],
    limit_s: float = PROBE_LIMIT_S,
) -> Probe:
    """What the executable says to `--version` and `--help`, remembered until the file changes.

    Takes at most `limit_s` seconds and never fails; what was not told is missing. A command of the
    user's own is not asked: bridges to ACP take `--version` for a reason to start.
    """
    if kind not in registry.KINDS:
        return Probe()
    return probe_all({kind: binary}, home, environ, limit_s)[kind]


def probe_all(
    binaries: Mapping[str, Binary],
    home: Home,
    environ: Mapping[str, str],
    limit_s: float = PROBE_LIMIT_S,
) -> dict[str, Probe]:
    """The same for several agents, all asked side by side."""
    record = read_json(home.probes)
    known: dict[str, Any] = record if isinstance(record, dict) else {}
    found: dict[str, Probe] = {}
    asked: dict[str, dict[str, Any]] = {}
    for kind, binary in binaries.items():
        remembered = _remembered(known, kind, binary)
        if remembered is None:
            asked[kind] = _stamp(binary)
        else:
            found[kind] = remembered
    if asked:
        found |= _ask({kind: binaries[kind] for kind in asked}, environ, limit_s)
        _remember(known, {_key(kind, binaries[kind]): (asked[kind], found[kind]) for kind in asked})
        make_private_folder(home.root)
        with suppress(OSError):  # asked again the next time
            replace_json(home.probes, known)
    return {kind: found[kind] for kind in binaries}


def adapter_list(cwd: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """The object of `adapter list`: every agent kind, with the commands configured for a folder."""
    from cuekit.config import load

    home = home_from(environ)
    effective = load.effective(cwd, home, environ)
    configured = {kind: effective.adapter(kind).command for kind in registry.KINDS}
    return {"adapters": adapter_views(environ, home, configured)}


def adapter_views(
    environ: Mapping[str, str],
    home: Home,
    configured: Mapping[str, Sequence[str] | None] | None = None,
) -> list[dict[str, Any]]:
    """One view for each agent kind, as `adapter list` shows it.

    `configured` has the commands that the configuration names for a kind.
    """
    binaries: dict[str, Binary] = {}
    problems: dict[str, CuekitError] = {}
    for kind in registry.KINDS:
        try:
            binaries[kind] = find(kind, environ, (configured or {}).get(kind))
        except CuekitError as error:
            problems[kind] = error
    probes = probe_all(binaries, home, environ)
    return [
        _view(kind, binaries.get(kind), probes.get(kind, Probe()), problems.get(kind))
        for kind in registry.KINDS
    ]


def _view(
    kind: str, binary: Binary | None, probed: Probe, problem: CuekitError | None
) -> dict[str, Any]:
    agent = registry.get(kind)
    capabilities = {str(mode): agent.capabilities(mode).as_json() for mode in modes_of(kind)}
    default = capabilities[str(agent.capabilities(MODES[0]).default_mode)]
    shared = ("agent_kind", "default_mode", "supported_modes")
    return {
        "agent_kind": kind,
        "command": agent.COMMAND,
        "path": binary.path if binary else None,
        "arguments": list(binary.arguments) if binary else [],
        "version": probed.version,
        "installed": binary is not None,
        "install_hint": problem.hint if problem else None,
        "verified": agent.VERIFIED,
        "values_from": agent.VALUES_FROM,
        **{name: value for name, value in default.items() if name not in (*shared, "mode")},
        "default_mode": default["default_mode"],
        "supported_modes": default["supported_modes"],
        "modes": {
            mode: {name: value for name, value in values.items() if name not in (*shared, "mode")}
            for mode, values in capabilities.items()
        },
    }


def _executable(name: str, environ: Mapping[str, str]) -> str | None:
    """The absolute path of an executable by name or path; None when there is none."""
    from shutil import which

    if name.startswith("~/") and environ.get("HOME"):
        name = environ["HOME"] + name[1:]
    path = which(name, path=search_path(environ))
    return os.path.abspath(path) if path else None


def _why_missing(name: str) -> str:
    if "/" not in name:
        return "is not on the PATH"
    return "cannot be run" if os.path.exists(os.path.expanduser(name)) else "does not exist"


def _key(kind: str, binary: Binary) -> str:
    return "\0".join((kind, *binary.command))


def _stamp(binary: Binary) -> dict[str, Any]:
    """Size and time of change of each file that the command names.

    The inode's time is there too: a package manager may give every version the same file time.
    """
    stamp = {}
    for word in binary.command:
        try:
            status = os.stat(word)
        except (OSError, ValueError):
            continue
        stamp[os.path.realpath(word)] = [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
    return stamp


def _remembered(known: Mapping[str, Any], kind: str, binary: Binary) -> Probe | None:
    entry = known.get(_key(kind, binary))
    if not isinstance(entry, dict) or entry.get("stamp") != _stamp(binary):
        return None
    version, flags = entry.get("version"), entry.get("flags")
    if not isinstance(flags, list) or not isinstance(version, str | None):
        return None
    return Probe(version, frozenset(flag for flag in flags if isinstance(flag, str)))


def _remember(known: dict[str, Any], learned: Mapping[str, tuple[Any, Probe]]) -> None:
    """Note what was learned, unless it was nothing: that may be a passing trouble."""
    for key, (stamp, probed) in learned.items():
        known.pop(key, None)
        if probed != Probe():
            flags = sorted(probed.flags)
            known[key] = {"stamp": stamp, "version": probed.version, "flags": flags}
    for key in list(known)[:-_PATHS_KEPT]:
        del known[key]


def _ask(
    binaries: Mapping[str, Binary], environ: Mapping[str, str], limit_s: float
) -> dict[str, Probe]:
    from cuekit.service.ask import outputs

    calls: list[tuple[str, tuple[str, ...]]] = []
    for kind, binary in binaries.items():
        agent = registry.get(kind)
        questions = (("--version",), *agent.HELP) if agent.HELP else ()
        calls += [(kind, (*binary.command, *question)) for question in questions]
    texts = outputs([command for _, command in calls], environ, limit_s)
    return {
        kind: _understood([text for (of, _), text in zip(calls, texts, strict=True) if of == kind])
        for kind in binaries
    }


def _understood(texts: Sequence[str]) -> Probe:
    if not texts:
        return Probe()
    version = _VERSION.search(texts[0])
    return Probe(version.group().rstrip(".") if version else None, long_flags(texts[1:]))


def long_flags(texts: Iterable[str]) -> frozenset[str]:
    """The long flags that help texts name."""
    return frozenset(flag for text in texts for flag in _LONG_FLAG.findall(text))
