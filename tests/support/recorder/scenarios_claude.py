"""What is recorded of claude: stream-json both ways (01 to 49) and batch (51 and up)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cuekit.protocols.base import AgentSession, Links, SessionSetup
from cuekit.protocols.claude_batch import ClaudeBatch
from cuekit.protocols.claude_stream import ClaudeStream
from cuekit.protocols.decode_claude import Decoder
from tests.support.agent_versions import manifest
from tests.support.real_agents import make_agent
from tests.support.recorder.claude_scripts import BATCH, SCENARIOS
from tests.support.recorder.plug import Place, Plug, Scenario


def versions() -> Sequence[str]:
    """Those of the manifest, oldest first."""
    return [entry.version for entry in manifest() if entry.name == "claude"]


@contextmanager
def place(version: str, folder: Path) -> Iterator[Place]:
    """A claude of that version with a home, a project and a model of its own."""
    entry = next(e for e in manifest() if (e.name, e.version) == ("claude", version))
    real = make_agent(entry, folder)
    run_dir = folder / "run"
    run_dir.mkdir(mode=0o700)
    try:
        yield Place(real.binary, real.home, real.project, run_dir, real.env, real.model)
    finally:
        real.close()


def setup(where: Place, scenario: Scenario) -> SessionSetup:
    """The setup that the product itself would make."""
    return SessionSetup(
        argv=(str(where.binary), *scenario.arguments),
        cwd=str(where.project),
        environment=dict(where.env),
        run_dir=str(where.run_dir),
        options=dict(scenario.options),
    )


def session(setup: SessionSetup, links: Links, scenario: Scenario) -> AgentSession:
    """A conversation, or a run of one prompt."""
    return ClaudeBatch(setup, links) if scenario.channel == BATCH else ClaudeStream(setup, links)


def decoder(scenario: Scenario) -> Decoder:
    """The one decoder that both have."""
    return Decoder()


def is_reply(message: Any) -> bool:
    """Whether a message of ours answers a request of claude's."""
    return isinstance(message, dict) and message.get("type") == "control_response"


def message_type(message: Any) -> str:
    """The type, with the subtype, the kind of the block or of the control request."""
    if not isinstance(message, dict):
        return "(no object)"
    names = [message.get("type"), message.get("subtype")]
    for holder in ("event", "request"):
        inner = message.get(holder)
        if isinstance(inner, dict):
            names += [inner.get("type"), inner.get("subtype")]
            delta = inner.get("delta") or inner.get("content_block")
            names.append(delta.get("type") if isinstance(delta, dict) else None)
    body = message.get("message")
    content = body.get("content") if isinstance(body, dict) else None
    if isinstance(content, list) and content and isinstance(content[0], dict):
        names.append(content[0].get("type"))
    return " ".join(str(name) for name in names if name is not None)


PLUG = Plug(
    agent="claude",
    versions=versions,
    place=place,
    setup=setup,
    session=session,
    decoder=decoder,
    scenarios=SCENARIOS,
    is_reply=is_reply,
    message_type=message_type,
)
