"""The settings that are in force for one folder, and where each of them was said."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Key = tuple[str, ...]
"""A setting's place in the file: ("submit", "model"), ("adapters", "codex", "permissions")."""


@dataclass(frozen=True)
class Setting:
    """One value, and where it was said: `FILE:LINE`, or the name of an environment variable."""

    value: Any
    source: str


Settings = Mapping[Key, Setting]


def dotted(key: Key) -> str:
    """The name of a setting as people read it: `adapters.codex.permissions`."""
    return ".".join(key)


@dataclass(frozen=True)
class SubmitDefaults:
    """What a submit uses where its caller says nothing; None: nothing was configured."""

    agent_kind: str | None = None
    model: str | None = None
    mode: str | None = None
    timeout_s: float | None = None
    keep: bool | None = None
    session: str | None = None
    reporting: bool | None = None


@dataclass(frozen=True)
class AdapterSettings:
    """What was configured for one agent kind. `options` lie below the caller's own."""

    permissions: Literal["prompt", "bypass"] | None = None
    command: tuple[str, ...] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    protocol: str | None = None  # makes the kind one of the user's own


@dataclass(frozen=True)
class ParentSettings:
    """What agents that use cuekit over MCP may do; only the user's own file has a say in it."""

    shell: Literal["allow", "deny"] = "deny"
    approvals: Literal["allow", "deny"] = "deny"


@dataclass(frozen=True)
class MultiplexerSettings:
    """Which multiplexer, which of its servers, and how large a new pane is, in cells."""

    backend: str = "tmux"
    socket_name: str | None = None
    socket_path: str | None = None
    width: int = 200
    height: int = 50


@dataclass(frozen=True)
class Effective:
    """Everything that is configured for a folder, after precedence and trust.

    `sources` has the place of every value that is not built in, by its dotted name. `ignored` is
    one line about what the project's file may not say until it is trusted.
    """

    submit: SubmitDefaults = SubmitDefaults()
    adapters: Mapping[str, AdapterSettings] = field(default_factory=dict)
    multiplexer: MultiplexerSettings = MultiplexerSettings()
    parents: ParentSettings = ParentSettings()
    sources: Mapping[str, str] = field(default_factory=dict)
    ignored: str | None = None
    warnings: tuple[str, ...] = ()
    project_file: str | None = None
    project_trusted: bool = False
    settings: Settings = field(default_factory=dict)
    ignored_settings: Settings = field(default_factory=dict)

    def adapter(self, kind: str) -> AdapterSettings:
        """The settings of exactly this agent kind; empty ones when there are none."""
        return self.adapters.get(kind, AdapterSettings())


def effective_from(settings: Settings) -> dict[str, Any]:
    """The parts `submit`, `adapters` and `multiplexer` of an `Effective`, from flat settings."""
    kinds = dict.fromkeys(key[1] for key in settings if key[0] == "adapters")
    return {
        "submit": _submit(settings),
        "adapters": {kind: _adapter(settings, kind) for kind in kinds},
        "multiplexer": MultiplexerSettings(**_section(settings, ("multiplexer",))),
        "parents": _parents(settings),
    }


def _parents(settings: Settings) -> ParentSettings:
    shell = settings.get(("mcp", "shell"))
    approvals = settings.get(("approvals", "parents"))
    return ParentSettings(
        shell="allow" if shell and shell.value == "allow" else "deny",
        approvals="allow" if approvals and approvals.value == "allow" else "deny",
    )


def _adapter(settings: Settings, kind: str) -> AdapterSettings:
    options = _section(settings, ("adapters", kind, "options"))
    return AdapterSettings(**_section(settings, ("adapters", kind)), options=options)


def _section(settings: Settings, section: Key) -> dict[str, Any]:
    """The values that lie directly in a section, by their last name."""
    depth = len(section)
    return {
        key[depth]: setting.value
        for key, setting in settings.items()
        if len(key) == depth + 1 and key[:depth] == section
    }


def _submit(settings: Settings) -> SubmitDefaults:
    values = _section(settings, ("submit",))
    return SubmitDefaults(timeout_s=values.pop("timeout", None), **values)
