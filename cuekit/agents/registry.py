"""The agent kinds, each loaded by name when it is asked for."""

from importlib import import_module
from typing import cast

from cuekit.agents.base import Agent
from cuekit.errors import InvalidInput

_MODULES = {
    "codex": "codex",
    "claude-code": "claude_code",
    "gemini": "gemini",
    "opencode": "opencode",
    "antigravity": "antigravity",
    "pi": "pi",
    "jcode": "jcode",
    "grok": "grok",
    "shell": "shell",
}
KINDS = tuple(_MODULES)
"""All kinds, in the order in which they are shown."""

_OTHER_NAMES = {"claude": "claude-code", "agy": "antigravity", "sh": "shell", "bash": "shell"}


def get(kind: str) -> Agent:
    """The module of an agent kind.

    Raises InvalidInput with code `unknown_agent_kind`, naming the nearest kind.
    """
    if kind not in _MODULES:
        raise InvalidInput(
            f"no agent kind is called {kind!r}",
            code="unknown_agent_kind",
            hint=_hint(kind),
            details={"agent_kind": kind, "known": list(KINDS)},
        )
    return cast(Agent, import_module(f"cuekit.agents.{_MODULES[kind]}"))


def _hint(kind: str) -> str:
    from difflib import get_close_matches

    plain = kind.strip().lower().replace("_", "-").replace(" ", "-")
    near = _OTHER_NAMES.get(plain)
    if near is None:
        near = next(iter(get_close_matches(plain, KINDS, 1)), None)
    return f"did you mean {near!r}?" if near else f"one of: {', '.join(KINDS)}"
