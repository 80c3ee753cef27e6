"""Which agents the real tests run, and where their binaries lie in the checkout."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = ROOT / "tests" / "real" / "manifest.toml"

CHOICE = "CUEKIT_AGENT_VERSIONS"
"""Environment variable: `all`, `oldest-newest` (the default) or `codex-0.133.0,claude-2.1.332`."""


@dataclass(frozen=True)
class AgentVersion:
    """One exact version of one agent."""

    name: str
    """The program: codex or claude."""
    kind: str
    """The name cuekit has for it: codex or claude-code."""
    package: str
    version: str

    @property
    def label(self) -> str:
        """For test ids and folders: `codex-0.133.0`."""
        return f"{self.name}-{self.version}"

    @property
    def folder(self) -> Path:
        """Where npm puts it."""
        return ROOT / ".agents" / self.label

    @property
    def binary(self) -> Path | None:
        """The program, or None when this version is not installed.

        claude's own binary is in a package for the platform; the one in `.bin` stays a stub
        when npm runs no install scripts.
        """
        modules = self.folder / "node_modules"
        native = sorted(
            modules.glob("@anthropic-ai/claude-code-*/claude"), key=lambda p: len(str(p))
        )
        for candidate in (*native, modules / ".bin" / self.name):
            if candidate.exists():
                return candidate
        return None


def manifest() -> list[AgentVersion]:
    """Every version that is run by default or with `all`, oldest first within its agent."""
    return _entries(on_request=False)


def on_request() -> list[AgentVersion]:
    """The versions that are run where they are installed, or when they are named."""
    return _entries(on_request=True)


def _entries(*, on_request: bool) -> list[AgentVersion]:
    data = tomllib.loads(MANIFEST.read_text(encoding="utf-8"))
    return [
        AgentVersion(name, agent["kind"], agent["package"], version)
        for name, agent in data.items()
        if agent.get("on_request", False) is on_request
        for version in agent["versions"]
    ]


def chosen(env: Mapping[str, str] = os.environ) -> list[AgentVersion]:
    """The versions for this run. ValueError for a choice that the manifest does not know."""
    every = manifest()
    choice = env.get(CHOICE, "oldest-newest")
    if choice == "all":
        return every
    if choice == "oldest-newest":
        by_name: dict[str, list[AgentVersion]] = {}
        for agent in every:
            by_name.setdefault(agent.name, []).append(agent)
        return [agent for row in by_name.values() for agent in dict.fromkeys((row[0], row[-1]))]
    known = {agent.label: agent for agent in (*every, *on_request())}
    wanted = [label.strip() for label in choice.split(",") if label.strip()]
    if unknown := [label for label in wanted if label not in known]:
        raise ValueError(f"{CHOICE}: {', '.join(unknown)}; known: all, {', '.join(known)}")
    return [known[label] for label in wanted]


def missing(env: Mapping[str, str] = os.environ) -> list[AgentVersion]:
    """Chosen versions that are not installed."""
    return [agent for agent in chosen(env) if agent.binary is None]
