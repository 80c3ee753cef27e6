"""What is recorded of the agents that speak ACP: grok, gemini and opencode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cuekit.agents import registry
from cuekit.agents.base import LaunchContext
from cuekit.model.task import TaskSpec
from cuekit.protocols import acp_agents
from cuekit.protocols.acp import AcpSession
from cuekit.protocols.base import AgentSession, Links, SessionSetup
from cuekit.protocols.decode_acp import Decoder
from tests.support.agent_versions import on_request
from tests.support.real_agents import make_agent
from tests.support.recorder.acp_scripts import SCENARIOS
from tests.support.recorder.plug import Place, Plug, Scenario

AGENTS = ("grok", "gemini", "opencode")


def is_reply(message: Any) -> bool:
    """Whether a message of ours answers a request of the agent's."""
    return isinstance(message, dict) and "method" not in message and "id" in message


def message_type(message: Any) -> str:
    """The method with the kind of update, or what an answer is of."""
    if not isinstance(message, dict):
        return "(no object)"
    if "method" not in message:
        result = message.get("result")
        return "answer " + " ".join(sorted(result)) if isinstance(result, dict) else "answer"
    params = message.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    kind = update.get("sessionUpdate") if isinstance(update, dict) else None
    return f"{message['method']} {kind}" if kind else str(message["method"])


def session(setup: SessionSetup, links: Links, scenario: Scenario) -> AgentSession:
    """The one session of ACP."""
    return AcpSession(setup, links)


def arguments(agent: str, where: Place) -> tuple[str, ...]:
    """The command that the product itself would start."""
    context = LaunchContext(
        binary=str(where.binary),
        version=None,
        known_flags=frozenset(),
        task_id="t_00000000",
        run_dir=str(where.run_dir),
        task_dir=str(where.run_dir),
        cwd=str(where.project),
        prompt_file=str(where.run_dir / "prompt.md"),
        folder_trusted=True,
        hook_program=None,
    )
    build: Any = registry.get(agent)
    return tuple(build.supervised_arguments(TaskSpec(agent, objective="none"), context))


def plug_of(agent: str) -> Plug:
    """How to record one of them."""

    def versions() -> Sequence[str]:
        return [entry.version for entry in on_request() if entry.name == agent]

    @contextmanager
    def place(version: str, folder: Path) -> Iterator[Place]:
        entry = next(e for e in on_request() if (e.name, e.version) == (agent, version))
        real = make_agent(entry, folder)
        run_dir = folder / "run"
        run_dir.mkdir(mode=0o700)
        extra = {"agent": agent}
        try:
            yield Place(real.binary, real.home, real.project, run_dir, real.env, real.model, extra)
        finally:
            real.close()

    def setup(where: Place, scenario: Scenario) -> SessionSetup:
        return SessionSetup(
            argv=(*arguments(agent, where), *scenario.arguments),
            cwd=str(where.project),
            environment=dict(where.env),
            run_dir=str(where.run_dir),
            options=dict(scenario.options),
            agent_kind=agent,
        )

    def decoder(scenario: Scenario) -> Decoder:
        return Decoder(title_is_command=acp_agents.known(agent).title_is_command)

    return Plug(
        agent=agent,
        versions=versions,
        place=place,
        setup=setup,
        session=session,
        decoder=decoder,
        scenarios=SCENARIOS,
        is_reply=is_reply,
        message_type=message_type,
    )


PLUGS = tuple(plug_of(agent) for agent in AGENTS)
