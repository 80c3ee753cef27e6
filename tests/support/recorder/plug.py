"""What an agent brings along to be recorded: a module `scenarios_<agent>.py` with a `PLUG`.

One with `PLUGS` brings several."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cuekit.model.event import AgentEvent
from cuekit.protocols.base import AgentSession, Links, SessionSetup
from tests.support.model_server import ModelServer

if TYPE_CHECKING:
    from tests.support.recorder.stage import Stage


class Decoder(Protocol):
    """What each agent's decoder offers; one for each process, since it may keep state."""

    def decode_line(self, line: bytes) -> list[AgentEvent]:
        """The events of one native line; never raises."""


@dataclass(frozen=True)
class Place:
    """One version of an agent, installed and configured in a throwaway home."""

    binary: Path
    home: Path
    project: Path
    run_dir: Path  # private files of one session
    env: Mapping[str, str]
    model: ModelServer
    extra: Mapping[str, Any] = field(default_factory=dict)  # whatever else the scenarios need


@dataclass(frozen=True)
class Scenario:
    """One recording. `script` opens sessions on its stage, sends, decides and waits."""

    name: str  # the file name: "05-deny"
    script: Callable[[Stage], Awaitable[None]]
    channel: str = ""  # where an agent has several protocols: picks session and decoder
    options: Mapping[str, Any] = field(default_factory=dict)  # adapter_options
    arguments: tuple[str, ...] = ()  # added to the agent's command
    versions: tuple[str, ...] = ()  # only these; empty: every one


@dataclass(frozen=True)
class Plug:
    """How to run, decode and tell apart the messages of one agent."""

    agent: str  # the folder in tests/fixtures
    versions: Callable[[], Sequence[str]]
    place: Callable[[str, Path], AbstractContextManager[Place]]  # version, an empty folder
    setup: Callable[[Place, Scenario], SessionSetup]
    session: Callable[[SessionSetup, Links, Scenario], AgentSession]
    decoder: Callable[[Scenario], Decoder]
    scenarios: Sequence[Scenario]
    is_reply: Callable[[Any], bool]  # of our messages: one that answers an approval
    message_type: Callable[[Any], str]  # for the drift report: "item/started commandExecution"
    schemas: Callable[[str, Place], Mapping[str, str]] = lambda version, place: {}
    """More files of that version, name to text (codex: its generated schema, compacted)."""


def plugs() -> dict[str, Plug]:
    """Every agent that brings scenarios, by name."""
    package = importlib.import_module("tests.support.recorder")
    found: dict[str, Plug] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("scenarios_"):
            brought = importlib.import_module(f"{package.__name__}.{module.name}")
            for plug in getattr(brought, "PLUGS", None) or [brought.PLUG]:
                found[plug.agent] = plug
    return found
