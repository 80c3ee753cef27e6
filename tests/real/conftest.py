"""Fixtures for tests that run the real agents (see tests/support/real_agents.py)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent_versions import AgentVersion, chosen, on_request
from tests.support.isolate import why_not_isolated
from tests.support.real_agents import RealAgent, make_agent

REQUIRE = "CUEKIT_REQUIRE_AGENTS"
"""Set to 1 where a version that is not installed must be a failure."""

try:
    CHOSEN = chosen()
except ValueError as error:
    raise pytest.UsageError(str(error)) from None


def _versions(name: str) -> list[AgentVersion]:
    return [version for version in CHOSEN if version.name == name]


def _label(version: AgentVersion) -> str:
    return version.label


@pytest.fixture
def real_agent_folder(tmp_path: Path) -> Path:
    """Where one agent lives; a fixture of its own so that a test can look around in it."""
    folder = tmp_path / "agent"
    folder.mkdir()
    return folder


def _agent(version: AgentVersion, folder: Path) -> Iterator[RealAgent]:
    if reason := why_not_isolated():
        pytest.fail(reason, pytrace=False)
    if version.binary is None:
        text = f"{version.label} is not installed: python -m tests.support.install_agents"
        asked_for = version in CHOSEN
        if os.environ.get(REQUIRE) == "1" and asked_for:
            pytest.fail(text, pytrace=False)
        pytest.skip(text)
    agent = make_agent(version, folder)
    try:
        yield agent
    finally:
        agent.close()


@pytest.fixture(params=_versions("codex"), ids=_label)
def codex(request: pytest.FixtureRequest, real_agent_folder: Path) -> Iterator[RealAgent]:
    """A real codex, one for each chosen version."""
    yield from _agent(request.param, real_agent_folder)


@pytest.fixture(params=_versions("claude"), ids=_label)
def claude(request: pytest.FixtureRequest, real_agent_folder: Path) -> Iterator[RealAgent]:
    """A real claude, one for each chosen version."""
    yield from _agent(request.param, real_agent_folder)


@pytest.fixture(params=on_request(), ids=_label)
def acp_agent(request: pytest.FixtureRequest, real_agent_folder: Path) -> Iterator[RealAgent]:
    """Each agent that speaks ACP; skipped where it is not installed."""
    yield from _agent(request.param, real_agent_folder)


@pytest.fixture(params=[v for v in CHOSEN if v not in on_request()], ids=_label)
def any_agent(request: pytest.FixtureRequest, real_agent_folder: Path) -> Iterator[RealAgent]:
    """Every chosen version of every agent."""
    yield from _agent(request.param, real_agent_folder)
