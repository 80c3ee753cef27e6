"""A stage for one scenario: a real session, scripted decisions, and everything that was said."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from typing import Any

from cuekit.model.approval import ApprovalRequest, Decision, DecisionKind
from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols.base import AgentSession, Links, Sent, SessionSetup
from tests.support.model_server import Gate, ModelServer
from tests.support.recorder.plug import Place, Plug, Scenario

WAIT_SECONDS = 60.0
START = "# start"
"""Begins each process in a recording; whoever decodes one takes a new decoder there."""


class Stage:
    """Given to a scenario's script."""

    def __init__(self, plug: Plug, place: Place, scenario: Scenario) -> None:
        self.place = place
        self.scenario = scenario
        self.lines: list[tuple[str, bytes]] = []
        self.events: list[AgentEvent] = []
        self.requests: list[ApprovalRequest] = []
        self.ended: list[str] = []  # why requests ended without a decision
        self.links = Links(self._emit, self._await_decision, self._tap)
        self._plug = plug
        self._decisions: asyncio.Queue[Decision] = asyncio.Queue()
        self._changed = asyncio.Event()
        self._open: list[AgentSession] = []

    @property
    def model(self) -> ModelServer:
        """The scripted model; see tests/support/model_server."""
        return self.place.model

    def setup(self, **changes: Any) -> SessionSetup:
        """The agent's usual setup, changed where the scenario needs it; notes a process's start."""
        self.note("start")
        return dataclasses.replace(self._plug.setup(self.place, self.scenario), **changes)

    async def open(self, **changes: Any) -> AgentSession:
        """Start a session (`resume=...` and so on go into its setup); closed at the end."""
        session = self._plug.session(self.setup(**changes), self.links, self.scenario)
        self._open.append(session)
        await session.start()
        return session

    async def turn(self, session: AgentSession, text: str) -> str:
        """Send a text and wait for the end of the turn that it begins; the outcome."""
        done = self.count(EventKind.TURN_COMPLETED)
        sent = await session.send(text)
        assert sent is Sent.STARTED, sent
        await self.until_kind(EventKind.TURN_COMPLETED, done + 1)
        return self.outcomes[-1]

    def decide(self, *answers: Decision | DecisionKind) -> None:
        """The next decisions, in order; a request waits as long as there is none."""
        for answer in answers:
            decision = Decision(answer) if isinstance(answer, DecisionKind) else answer
            self._decisions.put_nowait(decision)

    def note(self, text: str) -> None:
        """A line for the reader of the recording."""
        self.lines.append(("#", text.encode()))

    async def until(self, condition: Callable[[], bool], what: str = "") -> None:
        """Wait for a condition on events or requests; TimeoutError names what was missing."""
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while not condition():
                    self._changed.clear()
                    if not condition():
                        await self._changed.wait()
        except TimeoutError:
            tail = [*self.events[-5:], *self.lines[-5:]]
            raise TimeoutError(f"{self.scenario.name}: no {what}; the last: {tail}") from None

    async def until_kind(self, kind: EventKind, count: int = 1) -> None:
        """Wait until that many events of a kind have come."""
        await self.until(lambda: self.count(kind) >= count, f"{count} {kind}")

    async def until_requests(self, count: int = 1) -> None:
        """Wait until the agent has asked that many times."""
        await self.until(lambda: len(self.requests) >= count, f"{count} approval requests")

    async def until_line(self, text: str, count: int = 1) -> None:
        """Wait until the agent has written that many lines that hold a text."""
        wanted = text.encode()

        def enough() -> bool:
            seen = [line for mark, line in self.lines if mark == "<" and wanted in line]
            return len(seen) >= count

        await self.until(enough, f"{count} lines with {text}")

    async def reached(self, gate: Gate) -> None:
        """Wait until the model stands at a gate: a turn runs for certain."""
        await asyncio.to_thread(gate.wait_reached, WAIT_SECONDS)

    def count(self, kind: EventKind) -> int:
        """How many events of a kind came so far."""
        return sum(event.kind is kind for event in self.events)

    @property
    def outcomes(self) -> list[str]:
        """How each turn ended."""
        ended = (e for e in self.events if e.kind is EventKind.TURN_COMPLETED)
        return [str(event.values["outcome"]) for event in ended]

    async def close(self) -> None:
        """End what the script left open."""
        for session in self._open:
            await session.close()

    def _emit(self, event: AgentEvent) -> None:
        self.events.append(event)
        self._changed.set()

    def _tap(self, direction: str, line: bytes) -> None:
        self.lines.append((direction, line))
        self._changed.set()

    async def _await_decision(self, request: ApprovalRequest) -> Decision:
        self.requests.append(request)
        self._changed.set()
        try:
            return await self._decisions.get()
        except asyncio.CancelledError as cancelled:
            self.ended.append(str(cancelled.args[0]) if cancelled.args else "")
            self._changed.set()
            raise
