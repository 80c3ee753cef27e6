"""A session whose other side does what real claude seldom does: faults, and the odd request."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from cuekit.errors import CuekitError
from cuekit.model.approval import ApprovalRequest, Decision, DecisionKind
from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols import claude_approvals, claude_stream, event_models
from cuekit.protocols.base import Links, Sent, SessionSetup
from cuekit.protocols.claude_stream import ClaudeStream
from cuekit.wire.process import AgentGone

STAND_IN = Path(__file__).with_name("claude_stand_in.py")


class Bench:
    """A session with the stand-in, and all that came of it."""

    def __init__(self, behaviour: str, folder: Path) -> None:
        self.events: list[AgentEvent] = []
        self.requests: list[ApprovalRequest] = []
        self.ends: list[str] = []
        self.sent: list[Any] = []
        self.decisions: asyncio.Queue[Decision | Exception] = asyncio.Queue()
        setup = SessionSetup(
            argv=(sys.executable, str(STAND_IN), behaviour),
            cwd=str(folder),
            environment={"PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "latin-1"},
            run_dir=str(folder),
        )
        self.session = ClaudeStream(setup, Links(self.emit, self.decide, self.tap))

    def emit(self, event: AgentEvent) -> None:
        event_models.validate(event)
        self.events.append(event)

    def tap(self, direction: str, line: bytes) -> None:
        if direction == ">":
            self.sent.append(json.loads(line))

    async def decide(self, request: ApprovalRequest) -> Decision:
        self.requests.append(request)
        try:
            decision = await self.decisions.get()
        except asyncio.CancelledError as cancelled:
            self.ends.append(str(cancelled.args[0]) if cancelled.args else "")
            raise
        if isinstance(decision, Exception):
            raise decision
        return decision

    def of(self, kind: EventKind) -> list[dict[str, Any]]:
        return [values for name, values in self.events if name is kind]

    @property
    def replies(self) -> list[Any]:
        return [m["response"] for m in self.sent if m["type"] == "control_response"]

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not condition():
                await asyncio.sleep(0.005)

    async def until_ended(self) -> None:
        await self.until(lambda: bool(self.of(EventKind.TURN_COMPLETED)))


def bench(behaviour: str, folder: Path, script: Callable[[Bench], Awaitable[None]]) -> Bench:
    async def whole() -> Bench:
        made = Bench(behaviour, folder)
        await made.session.start()
        try:
            assert await made.session.send("go") is Sent.STARTED
            await script(made)
        finally:
            await made.session.close()
        return made

    return asyncio.run(whole())


async def to_the_end(made: Bench) -> None:
    await made.until_ended()


def test_garbage_is_kept_raw_and_the_turn_goes_on(tmp_path: Path) -> None:
    made = bench("garbage", tmp_path, to_the_end)

    natives = [values["native"] for values in made.of(EventKind.RAW)]
    assert natives[:2] == ["not json", "[1,2]"]
    assert {"type": 3} in natives
    assert {"type": "no_such_type"} in natives
    assert made.of(EventKind.TURN_COMPLETED)[0]["outcome"] == "completed"
    assert made.replies == []


def test_fifty_megabytes_in_one_line_are_one_text(tmp_path: Path) -> None:
    made = bench("big", tmp_path, to_the_end)

    assert [len(values["text"]) for values in made.of(EventKind.ASSISTANT_TEXT)] == [50_000_000]


def test_half_a_line_at_the_end_is_raw_and_the_turn_failed(tmp_path: Path) -> None:
    made = bench("half", tmp_path, to_the_end)

    assert made.of(EventKind.RAW) == [{"native": '{"type":"assistant","mess'}]
    (ended,) = made.of(EventKind.TURN_COMPLETED)
    message = "claude ended in the middle of the turn: out of memory"
    assert ended == {"outcome": "failed", "message": message, "code": "agent_gone"}


def test_an_unknown_request_is_answered_with_an_error_at_once(tmp_path: Path) -> None:
    made = bench("unknown_request", tmp_path, to_the_end)

    error = "not supported: no_such_request"
    assert made.replies == [{"subtype": "error", "error": error, "request_id": "r1"}]
    assert made.requests == []


def test_a_request_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    made = bench("broken_request", tmp_path, to_the_end)

    refusal = {"behavior": "deny", "message": claude_approvals.NOT_UNDERSTOOD}
    assert [reply["response"] for reply in made.replies] == [refusal]
    assert made.of(EventKind.ERROR)[0]["code"] == "request_refused"


def test_a_coordinator_that_fails_is_a_refusal(tmp_path: Path) -> None:
    async def script(made: Bench) -> None:
        made.decisions.put_nowait(OSError("disk full"))
        await made.until_ended()

    made = bench("asks", tmp_path, script)

    refusal = {"behavior": "deny", "message": claude_approvals.REFUSED}
    assert [reply["response"] for reply in made.replies] == [refusal]


def test_any_input_goes_back_on_one_line_exactly(tmp_path: Path) -> None:
    async def script(made: Bench) -> None:
        made.decisions.put_nowait(Decision(DecisionKind.ALLOW))
        await made.until_ended()

    made = bench("asks", tmp_path, script)

    allowed = {"behavior": "allow", "updatedInput": {"command": "ls \ud800 \u2028"}}
    assert [reply["response"] for reply in made.replies] == [allowed]
    assert made.of(EventKind.TURN_COMPLETED)[0]["outcome"] == "completed"


def test_a_request_that_is_taken_back_is_withdrawn_and_not_answered(tmp_path: Path) -> None:
    made = bench("withdraws", tmp_path, to_the_end)

    # Taken back before it could be asked, it was never open.
    assert made.ends in ([], ["withdrawn"])
    assert made.replies == []


def test_claude_dead_while_an_approval_waits_abandons_it(tmp_path: Path) -> None:
    async def script(made: Bench) -> None:
        await made.until_ended()
        with pytest.raises(AgentGone):
            await made.session.send("go on")
        with pytest.raises(AgentGone):
            await made.session.control({"subtype": "x"})
        assert await made.session.wait() == -9

    made = bench("dies_asking", tmp_path, script)

    assert made.ends == ["abandoned"]
    assert [values["outcome"] for values in made.of(EventKind.TURN_COMPLETED)] == ["failed"]
    assert made.replies == []


def test_an_interrupt_that_claude_does_not_hear_ends_the_turn_for_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claude_stream, "INTERRUPT_SECONDS", 0.3)

    async def script(made: Bench) -> None:
        await made.until(lambda: bool(made.of(EventKind.TURN_STARTED)))
        assert await made.session.interrupt()
        assert not made.session.busy
        assert not await made.session.interrupt()

    made = bench("deaf", tmp_path, script)

    message = "claude did not confirm it"
    assert made.of(EventKind.TURN_COMPLETED) == [{"outcome": "interrupted", "message": message}]


def test_a_result_that_cannot_be_read_does_not_leave_the_session_busy(tmp_path: Path) -> None:
    async def script(made: Bench) -> None:
        await made.until_ended()
        assert not made.session.busy

    assert bench("no_result", tmp_path, script).of(EventKind.TURN_COMPLETED)[0]["outcome"] == (
        "failed"
    )


def test_a_program_that_is_not_there_is_said(tmp_path: Path) -> None:
    async def script() -> None:
        made = Bench("x", tmp_path)
        setup = SessionSetup(("/no/such/claude",), str(tmp_path), {}, str(tmp_path))
        session = ClaudeStream(setup, Links(made.emit, made.decide))
        with pytest.raises(CuekitError) as failed:
            await session.start()
        assert failed.value.code == "agent_not_started"

    asyncio.run(script())
