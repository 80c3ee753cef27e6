"""A session whose other side does what real codex seldom does: faults, and the odd request."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from cuekit.model.approval import ApprovalRequest, Decision, DecisionKind
from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols import event_models
from cuekit.protocols.base import Links, NotSignedIn, Sent, SessionSetup
from cuekit.protocols.codex_appserver import CodexAppServer

STAND_IN = Path(__file__).with_name("codex_stand_in.py")
SECONDS = 20.0


class Bench:
    """A session with the stand-in, and all that came of it."""

    def __init__(self, behaviour: str, folder: Path, **options: Any) -> None:
        self.events: list[AgentEvent] = []
        self.requests: list[ApprovalRequest] = []
        self.ends: list[str] = []
        self.decisions: list[Decision] = []
        setup = SessionSetup(
            argv=(sys.executable, str(STAND_IN), behaviour),
            cwd=str(folder),
            environment={"PATH": "/usr/bin:/bin"},
            run_dir=str(folder),
            options=options,
        )
        self.session = CodexAppServer(setup, Links(self.emit, self.decide))

    def emit(self, event: AgentEvent) -> None:
        event_models.validate(event)
        self.events.append(event)

    async def decide(self, request: ApprovalRequest) -> Decision:
        self.requests.append(request)
        try:
            while not self.decisions:
                await asyncio.sleep(0.01)
        except asyncio.CancelledError as cancelled:
            self.ends.append(str(cancelled.args[0]) if cancelled.args else "")
            raise
        return self.decisions.pop(0)

    def of(self, kind: EventKind) -> list[dict[str, Any]]:
        return [values for name, values in self.events if name is kind]

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not condition():
                await asyncio.sleep(0.01)

    async def ended(self, count: int = 1) -> list[str]:
        await self.until(lambda: len(self.of(EventKind.TURN_COMPLETED)) >= count)
        return [values["outcome"] for values in self.of(EventKind.TURN_COMPLETED)]

    def answer(self) -> Any:
        """What the stand-in was answered, as it tells it in its words."""
        return json.loads(self.of(EventKind.ASSISTANT_TEXT)[-1]["text"])


def run(bench: Bench, script: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        try:
            await bench.session.start()
            await script()
        finally:
            await bench.session.close()

    asyncio.run(whole())


def test_garbage_between_the_lines_is_kept_as_raw_and_the_turn_goes_on(tmp_path: Path) -> None:
    bench = Bench("garbage", tmp_path)

    async def script() -> None:
        assert await bench.session.send("go") is Sent.STARTED
        assert await bench.ended() == ["completed"]

    run(bench, script)
    assert [values["native"] for values in bench.of(EventKind.RAW)] == [
        "not json",
        [1, 2],
        {"id": 77},
        {"id": 999, "result": 1},
        {"method": 3},
        {"method": "no/such/notification", "params": {"threadId": "T", "x": 1}},
    ]


def test_an_unknown_request_is_refused_at_once(tmp_path: Path) -> None:
    bench = Bench("unknown_request", tmp_path)

    async def script() -> None:
        await bench.session.send("go")
        assert await bench.ended() == ["completed"]

    run(bench, script)
    assert bench.answer()["error"]["code"] == -32601


def test_fifty_megabytes_in_a_line_arrive_whole(tmp_path: Path) -> None:
    bench = Bench("big", tmp_path)

    async def script() -> None:
        await bench.session.send("go")
        assert await bench.ended() == ["completed"]

    run(bench, script)
    assert len(bench.of(EventKind.ASSISTANT_TEXT)[0]["text"]) == 50_000_000


def test_half_a_line_at_the_end_fails_the_turn_and_is_kept(tmp_path: Path) -> None:
    bench = Bench("half", tmp_path)

    async def script() -> None:
        await bench.session.send("go")
        assert await bench.ended() == ["failed"]
        assert await bench.session.wait() == 3

    run(bench, script)
    (raw,) = bench.of(EventKind.RAW)
    assert raw["native"] == '{"method":"item/agentMessage/delta","par'
    message = bench.of(EventKind.TURN_COMPLETED)[0]["message"]
    assert message == "codex app-server ended in the middle of the turn (exit status 3)"


def test_a_server_killed_while_an_approval_waits_abandons_it(tmp_path: Path) -> None:
    bench = Bench("dies_asking", tmp_path)

    async def script() -> None:
        await bench.session.send("go")
        await bench.until(lambda: bool(bench.requests))
        os.kill(bench.session._host.pid, signal.SIGKILL)
        assert await bench.ended() == ["failed"]
        assert await bench.session.wait() == -9
        assert not bench.session.busy

    run(bench, script)
    assert bench.ends == ["abandoned"]
    message = bench.of(EventKind.TURN_COMPLETED)[0]["message"]
    assert message == "codex app-server ended in the middle of the turn (signal 9)"


def test_a_request_that_codex_takes_back_ends_as_withdrawn(tmp_path: Path) -> None:
    bench = Bench("withdraws", tmp_path)

    async def script() -> None:
        await bench.session.send("go")
        assert await bench.ended() == ["interrupted"]
        await bench.until(lambda: bool(bench.ends) or not bench.requests)

    run(bench, script)
    assert bench.ends in (["withdrawn"], [])  # taken back before the coordinator was asked


@pytest.mark.parametrize(
    ("behaviour", "answer"),
    [("broken_request", {"decision": "decline"}), ("legacy", {"decision": "abort"})],
)
def test_what_is_not_understood_is_refused_and_nobody_is_asked(
    tmp_path: Path, behaviour: str, answer: Any
) -> None:
    bench = Bench(behaviour, tmp_path)

    async def script() -> None:
        await bench.session.send("go")
        assert await bench.ended() == ["completed"]

    run(bench, script)
    assert bench.answer() == {"result": answer}
    assert bench.requests == []


def test_a_form_of_an_mcp_server_is_answered_in_its_own_types(tmp_path: Path) -> None:
    bench = Bench("elicitation", tmp_path)
    answers = {"name": ["Ada"], "sure": ["yes"], "count": ["3"], "more": ["x"]}
    bench.decisions.append(Decision(DecisionKind.ANSWER, answers=answers))

    async def script() -> None:
        await bench.session.send("go")
        assert await bench.ended() == ["completed"]

    run(bench, script)
    content = {"name": "Ada", "sure": True, "count": 3}
    assert bench.answer() == {"result": {"action": "accept", "content": content}}
    (request,) = bench.requests
    assert [question.key for question in request.questions] == ["name", "sure", "count"]


@pytest.mark.parametrize(
    ("granted", "permissions"),
    [
        ({"fileSystem": {"write": ["/a"]}}, {"fileSystem": {"write": ["/a"]}}),
        ({"fileSystem": {"write": ["/a", "/etc"]}}, {}),
        ({"network": {"enabled": True}}, {}),
    ],
)
def test_a_part_of_the_permissions_can_be_granted_and_never_more(
    tmp_path: Path, granted: Any, permissions: Any
) -> None:
    bench = Bench("asks_permissions", tmp_path)
    decision = Decision(DecisionKind.ALLOW, granted=granted, scope="session")
    bench.decisions.append(decision)

    async def script() -> None:
        await bench.session.send("go")
        assert await bench.ended() == ["completed"]

    run(bench, script)
    scope = "session" if permissions else "turn"
    assert bench.answer() == {"result": {"permissions": permissions, "scope": scope}}


def test_a_server_that_only_retries_fails_the_turn_after_the_set_time(tmp_path: Path) -> None:
    bench = Bench("stalls", tmp_path, stall_timeout_s=0.2)

    async def script() -> None:
        await bench.session.send("go")
        assert await bench.ended() == ["failed"]
        assert await bench.session.send("again") is Sent.STARTED
        assert await bench.ended(2) == ["failed", "completed"]

    run(bench, script)
    words = "codex kept trying for 0.2 s without getting on: Reconnecting... waiting for network"
    assert bench.of(EventKind.TURN_COMPLETED)[0]["message"] == words
    recoverable = [values["recoverable"] for values in bench.of(EventKind.ERROR)]
    assert recoverable == [True, True, True, False]


@pytest.mark.parametrize(
    ("behaviour", "sent"),
    [
        ("late_steer", {Sent.STARTED}),
        ("not_steerable", {Sent.HELD}),
        ("drops_steer", {Sent.JOINED, Sent.STARTED}),  # as the turn's end is read sooner or later
    ],
)
def test_a_message_that_the_running_turn_does_not_take_begins_the_next(
    tmp_path: Path, behaviour: str, sent: set[Sent]
) -> None:
    bench = Bench(behaviour, tmp_path)

    async def script() -> None:
        await bench.session.send("first")
        assert await bench.session.send("second") in sent
        assert await bench.ended(2) == ["completed", "completed"]

    run(bench, script)
    texts = [values["text"] for values in bench.of(EventKind.PROMPT_ACCEPTED)]
    assert texts == ["first", "second"]


def test_an_interrupt_without_a_turn_is_never_sent(tmp_path: Path) -> None:
    bench = Bench("quiet", tmp_path)

    async def script() -> None:
        assert not await bench.session.interrupt()

    run(bench, script)


def test_closing_in_a_turn_ends_it_as_interrupted(tmp_path: Path) -> None:
    bench = Bench("quiet", tmp_path)

    async def script() -> None:
        await bench.session.send("go")

    run(bench, script)
    outcomes = [values["outcome"] for values in bench.of(EventKind.TURN_COMPLETED)]
    assert (len(bench.of(EventKind.TURN_STARTED)), outcomes) == (1, ["interrupted"])


def test_without_an_account_the_start_says_that_nobody_is_signed_in(tmp_path: Path) -> None:
    bench = Bench("signed_out", tmp_path)

    async def script() -> None:
        raise AssertionError

    with pytest.raises(NotSignedIn, match="codex login"):
        run(bench, script)
