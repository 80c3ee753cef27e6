"""The settings that are in force for one folder, and where each of them was said."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cuekit.model.lifecycle_events import NOTIFIED

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
class ApprovalSettings:
    """What the user has decided about approvals before any is asked."""

    handover_s: float | None = None  # an inbox approval of a TUI goes to its pane after so long
    preallow: tuple[str, ...] | None = None  # tools that only read, allowed inside the folder
    rules: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True)
class LimitSettings:
    """How many tasks may go on at once, over all projects."""

    live_tasks: int = 100


@dataclass(frozen=True)
class RetentionSettings:
    """How long ended tasks are kept; only the user's own file has a say in it."""

    keep_for_s: float | None = None
    auto: bool = False  # a submit removes what is older


@dataclass(frozen=True)
class HookSettings:
    """The user's own commands, by event, and the notifications that are given by themselves."""

    commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    time_limit_s: float = 10.0
    desktop: bool = False
    terminal: bool = False
    notified: tuple[str, ...] = NOTIFIED


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
    approvals: ApprovalSettings = ApprovalSettings()
    profile_folders: tuple[str, ...] = ()
    limits: LimitSettings = LimitSettings()
    retention: RetentionSettings = RetentionSettings()
    hooks: HookSettings = HookSettings()
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
    """The sections of an `Effective`, from flat settings."""
    kinds = dict.fromkeys(key[1] for key in settings if key[0] == "adapters")
    return {
        "submit": _submit(settings),
        "adapters": {kind: _adapter(settings, kind) for kind in kinds},
        "multiplexer": MultiplexerSettings(**_section(settings, ("multiplexer",))),
        "parents": _parents(settings),
        "approvals": _approvals(settings),
        "profile_folders": _section(settings, ("profiles",)).get("folders", ()),
        "limits": LimitSettings(**_section(settings, ("limits",))),
        "retention": _retention(settings),
        "hooks": _hooks(settings),
    }


def _parents(settings: Settings) -> ParentSettings:
    shell = settings.get(("mcp", "shell"))
    approvals = settings.get(("approvals", "parents"))
    return ParentSettings(
        shell="allow" if shell and shell.value == "allow" else "deny",
        approvals="allow" if approvals and approvals.value == "allow" else "deny",
    )


def _approvals(settings: Settings) -> ApprovalSettings:
    values = _section(settings, ("approvals",))
    values.pop("parents", None)
    return ApprovalSettings(handover_s=values.pop("handover", None), **values)


def _retention(settings: Settings) -> RetentionSettings:
    values = _section(settings, ("retention",))
    return RetentionSettings(keep_for_s=values.pop("keep_for", None), **values)


def _hooks(settings: Settings) -> HookSettings:
    commands = _section(settings, ("hooks",))
    limit = commands.pop("time_limit", HookSettings.time_limit_s)
    given = _section(settings, ("notifications",))
    notified = given.pop("events", NOTIFIED)
    return HookSettings(commands=commands, time_limit_s=limit, notified=notified, **given)


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
