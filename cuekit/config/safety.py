"""The safety rule: what a configuration may do to the permissions of an agent. Pure.

Bypass is the default of an agent in a pane. `permissions: prompt` takes it away, `bypass` gives
nothing that is not there already, and each counts for exactly the kind that it names. A caller
changes the options that they name, and no other. A file that its user does not trust may narrow
what an agent may do, never widen it.
"""

from collections.abc import Mapping
from typing import Any

from cuekit.config.effective import Effective, Key, LimitSettings, Setting, Settings, dotted

SKIP = "dangerously_skip_permissions"

# From the narrowest value to the widest, of every option that decides how far an agent may go.
# codex: -s and -a of 0.133 to 0.171; gemini: --approval-mode of 0.61.
WIDTHS: Mapping[tuple[str, str], tuple[Any, ...]] = {
    ("codex", "sandbox"): ("read-only", "workspace-write", "danger-full-access"),
    ("codex", "ask_for_approval"): ("untrusted", "on-request", "on-failure", "never"),
    ("gemini", "approval_mode"): ("plan", "default", "auto_edit", "yolo"),
    ("antigravity", "sandbox"): (True, False),
}
# The widest value that a file without trust may ask for.
NARROW_ENOUGH: Mapping[tuple[str, str], Any] = {
    ("codex", "sandbox"): "workspace-write",
    ("codex", "ask_for_approval"): "on-request",
    ("gemini", "approval_mode"): "default",
    ("antigravity", "sandbox"): True,
}
# What an agent that asks does by itself: the widest that stays where `prompt` holds.
WHILE_ASKING: Mapping[tuple[str, str], Any] = {
    ("codex", "sandbox"): "workspace-write",
    ("codex", "ask_for_approval"): "on-request",
    ("gemini", "approval_mode"): "default",
    ("antigravity", "sandbox"): False,
}


def apply(
    spec_options: Mapping[str, Any],
    agent_kind: str,
    effective: Effective,
    *,
    caller_options: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The adapter options to launch with, and what the configuration did to them.

    `caller_options` are those that the caller named, key by key; `spec_options` may hold more
    (a role's). Configured options lie below both. The second value maps `adapter_options.NAME` to
    `{"value", "source"}` for each option that the configuration set, changed or (value None) took
    away.
    """
    settings = effective.adapter(agent_kind)
    options: dict[str, Any] = {**settings.options, **spec_options, **caller_options}
    defaults = {
        name: _source(effective, ("adapters", agent_kind, "options", name))
        for name in settings.options
        if name not in spec_options and name not in caller_options
    }
    if "mode" not in options and effective.submit.mode is not None:
        options["mode"] = effective.submit.mode
        defaults["mode"] = _source(effective, ("submit", "mode"))
    if settings.permissions == "prompt":
        source = _source(effective, ("adapters", agent_kind, "permissions"))
        for name, value in _asking(agent_kind, options, caller_options).items():
            defaults[name] = source
            options[name] = value
            if value is None:
                del options[name]
    applied = {
        f"adapter_options.{name}": {"value": options.get(name), "source": source}
        for name, source in defaults.items()
    }
    return options, applied


def _asking(
    kind: str, options: Mapping[str, Any], caller_options: Mapping[str, Any]
) -> dict[str, Any]:
    """What `prompt` changes in the options: a value to set, or None to take one away."""
    changes: dict[str, Any] = {}
    if SKIP not in caller_options:
        changes[SKIP] = False
    for name, value in options.items():
        if name not in caller_options and _too_wide(kind, name, value):
            changes[name] = None
    if kind == "codex" and _would_never_ask({**options, **changes}):
        changes["ask_for_approval"] = "on-request"
    return changes


def _would_never_ask(options: Mapping[str, Any]) -> bool:
    """Whether codex is launched with a sandbox alone, which means `-a never`; exec never asks."""
    return (
        options.get(SKIP) is False
        and options.get("sandbox") is not None
        and options.get("ask_for_approval") is None
        and options.get("mode") != "batch"
    )


def caller_warnings(
    agent_kind: str, effective: Effective, caller_options: Mapping[str, Any]
) -> tuple[str, ...]:
    """What a caller's own options do against a configured `permissions: prompt`, in words."""
    if effective.adapter(agent_kind).permissions != "prompt":
        return ()
    source = _source(effective, ("adapters", agent_kind, "permissions"))
    wider = [
        name
        for name, value in caller_options.items()
        if (name == SKIP and value is not False) or _too_wide(agent_kind, name, value)
    ]
    return tuple(
        f"adapter_options.{name}: {_shown(caller_options[name])} was asked for in spite of "
        f"permissions: prompt ({source})"
        for name in wider
    )


def split_untrusted(project: Settings, user: Settings) -> tuple[Settings, Settings]:
    """What an untrusted project's file may say beside the user's own settings, and the rest."""
    kept: dict[Key, Setting] = {}
    refused: dict[Key, Setting] = {}
    for key, setting in project.items():
        (kept if _harmless(key, setting.value, user) else refused)[key] = setting
    return kept, refused


def _harmless(key: Key, value: Any, user: Settings) -> bool:
    match key:
        case ("submit", "agent_kind"):
            return bool(value != "shell")
        case ("submit", "mode"):
            # In batch `claude -p` and others skip their own question about trust in the folder.
            return bool(value == "interactive")
        case ("submit", _):
            return True
        case ("multiplexer", name):
            return name != "socket_path"
        case ("limits", "live_tasks"):
            own = user.get(key)
            return bool(value <= (own.value if own else LimitSettings.live_tasks))
        case ("adapters", _, "permissions"):
            return bool(value == "prompt")
        case ("adapters", kind, "options", option):
            return _narrows(kind, option, value, user)
        case _:
            return False


def _narrows(kind: str, option: str, value: Any, user: Settings) -> bool:
    if option == SKIP:
        return value is False
    if option == "mode":
        return bool(value == "interactive")
    widest = NARROW_ENOUGH.get((kind, option))
    if widest is None or _wider(kind, option, value, widest):
        return False
    return not _wider(kind, option, value, _users_width(kind, option, user))


def _users_width(kind: str, option: str, user: Settings) -> Any:
    """The value of an option that the user's own settings come to."""
    own = user.get(("adapters", kind, "options", option))
    if own is not None:
        return own.value
    widths = WIDTHS[kind, option]
    permissions = user.get(("adapters", kind, "permissions"))
    skips = user.get(("adapters", kind, "options", SKIP))
    policy = user.get(("adapters", kind, "options", "ask_for_approval"))
    asks = (permissions and permissions.value == "prompt") or (skips and skips.value is False)
    if not asks and not policy:
        return widths[-1]
    # An agent that asks, in a folder without trust, writes nothing by itself (codex: read-only).
    return widths[0] if option == "sandbox" else WHILE_ASKING[kind, option]


def _too_wide(kind: str, option: str, value: Any) -> bool:
    """Whether an option's value goes further than an agent does that asks."""
    limit = (kind, option) in WHILE_ASKING
    return limit and _wider(kind, option, value, WHILE_ASKING[kind, option])


def _wider(kind: str, option: str, value: Any, limit: Any) -> bool:
    """Whether a value goes further than another; an unknown value goes furthest of all."""
    widths = WIDTHS[kind, option]
    return _rank(widths, value) > _rank(widths, limit)


def _rank(widths: tuple[Any, ...], value: Any) -> int:
    for rank, known in enumerate(widths):
        if type(known) is type(value) and known == value:
            return rank
    return len(widths)


def _source(effective: Effective, key: Key) -> str:
    return effective.sources.get(dotted(key), "the configuration")


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
