"""The activity module of each agent kind, loaded when it is asked for."""

from importlib import import_module
from typing import cast

from cuekit.activity.base import ActivityModule

_MODULES = {
    "codex": "codex",
    "claude-code": "claude_code",
    "gemini": "gemini",
    "grok": "grok",
}


def get(kind: str) -> ActivityModule | None:
    """The module for an agent kind; None where nothing is known of its activity."""
    name = _MODULES.get(kind)
    if name is None:
        return None
    return cast(ActivityModule, import_module(f"cuekit.activity.{name}"))
