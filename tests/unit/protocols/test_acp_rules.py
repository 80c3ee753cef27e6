"""How an ACP session treats its agent: each rule for a client, with an agent that needs it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from cuekit.errors import CuekitError
from cuekit.model.approval import ApprovalRequest, Decision, DecisionKind
from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols import acp_gemini, event_models
from cuekit.protocols.acp import AcpSession
from cuekit.protocols.base import Links, NotSignedIn, Sent, SessionSetup

STAND_IN = Path(__file__).with_name("acp_stand_in.py")
SECONDS = 20.0
CANCELLED = {"outcome": {"outcome": "cancelled"}}


def selected(option: str) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": option}}


class Bench:
    """A session with the stand-in, and all that came of it."""

    def __init__(
        self,
        behaviour: str,
        folder: Path,
        kind: str = "grok",
        program: Path = STAND_IN,
        **more: Any,
    ) -> None:
        self.events: list[AgentEvent] = []
        self.requests: list[ApprovalRequest] = []
        self.ends: list[str] = []
        self.decisions: list[Decision] = []
        self.lines: list[tuple[str, Any]] = []
        environment = {"PATH": "/usr/bin:/bin", **more.pop("environment", {})}
        setup = SessionSetup(
            argv=(sys.executable, str(program), behaviour),
            cwd=str(folder),
            environment=environment,
            run_dir=str(folder),
            agent_kind=kind,
            **more,
        )
        self.session = AcpSession(setup, Links(self.emit, self.decide, self.tap))

    def emit(self, event: AgentEvent) -> None:
        event_models.validate(event)
        self.events.append(event)

    def tap(self, direction: str, line: bytes) -> None:
        if direction == ">":
            self.lines.append((direction, json.loads(line)))

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

    def sent(self, method: str | None) -> list[Any]:
        """What was written to the agent: calls of a method, or (None) the answers."""
        return [message for _, message in self.lines if message.get("method") == method]

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not condition():
                await asyncio.sleep(0.01)

    async def ended(self, count: int = 1) -> list[str]:
        await self.until(lambda: len(self.of(EventKind.TURN_COMPLETED)) >= count)
        return [values["outcome"] for values in self.of(EventKind.TURN_COMPLETED)]

    def answer(self) -> Any:
        """What the stand-in was answered, as it tells it in its words."""
        whole = [values for values in self.of(EventKind.ASSISTANT_TEXT) if not values["partial"]]
        return json.loads(whole[-1]["text"])


def run(bench: Bench, script: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        try:
            await bench.session.start()
            await script()
        finally:
            await bench.session.close()

    asyncio.run(whole())


def one_turn(bench: Bench, *decisions: Decision | DecisionKind) -> None:
    """One prompt to its end, with these decisions."""
    given = [Decision(d) if isinstance(d, DecisionKind) else d for d in decisions]
    bench.decisions += given

    async def script() -> None:
        assert await bench.session.send("go") is Sent.STARTED
        await bench.ended()

    run(bench, script)


@pytest.mark.parametrize(("behaviour", "request_id"), [("zero", 0), ("string", "u-1")])
def test_a_request_is_answered_by_its_own_id(
    behaviour: str, request_id: Any, tmp_path: Path
) -> None:
    bench = Bench(behaviour, tmp_path)
    one_turn(bench, DecisionKind.ALLOW)
    assert bench.answer() == {"jsonrpc": "2.0", "id": request_id, "result": selected("o")}


@pytest.mark.parametrize(
    ("decision", "result"),
    [
        (Decision(DecisionKind.ALLOW), selected("o")),
        (Decision(DecisionKind.ALLOW_ALWAYS, scope="project"), selected("o")),
        (Decision(DecisionKind.DENY), selected("r")),
        (Decision(DecisionKind.ALLOW, changed_input={"command": "ls"}), selected("r")),
        (Decision(DecisionKind.ANSWER, answers={"x": ["y"]}), selected("r")),
    ],
)
def test_always_goes_out_as_once_and_what_does_not_fit_as_a_refusal(
    decision: Decision, result: Any, tmp_path: Path
) -> None:
    bench = Bench("zero", tmp_path)
    one_turn(bench, decision)
    assert bench.answer()["result"] == result


def test_of_two_options_of_a_kind_the_known_one_is_taken_and_all_are_shown(tmp_path: Path) -> None:
    bench = Bench("twice", tmp_path)
    one_turn(bench, DecisionKind.ALLOW)
    assert bench.answer()["result"] == selected("proceed_once")
    assert [(option.name, option.kind) for option in bench.requests[0].options] == [
        ("Once, and switch", "allow_once"),
        ("Once", "allow_once"),
        ("Odd", "never_heard_of"),
        ("No", "reject_once"),
    ]


@pytest.mark.parametrize("behaviour", ["no_once", "broken"])
def test_what_cannot_be_allowed_once_or_read_is_refused(behaviour: str, tmp_path: Path) -> None:
    bench = Bench(behaviour, tmp_path)
    one_turn(bench, DecisionKind.ALLOW)
    assert bench.answer()["result"] == CANCELLED
    assert [values["code"] for values in bench.of(EventKind.ERROR)] == ["request_refused"]


def test_an_interrupt_answers_the_open_request_once_and_sends_cancel_first(tmp_path: Path) -> None:
    bench = Bench("asks", tmp_path)

    async def script() -> None:
        await bench.session.send("go")
        await bench.until(lambda: len(bench.requests) == 1)
        assert await bench.session.interrupt()
        assert not await bench.session.interrupt()

    run(bench, script)
    kinds = [m.get("method", "answer") for _, m in bench.lines if m.get("method") != "initialize"]
    assert kinds == ["session/new", "session/prompt", "session/cancel", "answer"]
    assert bench.sent(None) == [{"jsonrpc": "2.0", "id": 0, "result": CANCELLED}]
    assert bench.ends == ["withdrawn"]


def test_cancel_run_cancels_the_turn_before_its_request_is_answered(tmp_path: Path) -> None:
    bench = Bench("asks", tmp_path)
    one_turn(bench, DecisionKind.CANCEL_RUN)
    kinds = [m.get("method", "answer") for _, m in bench.lines][-2:]
    assert kinds == ["session/cancel", "answer"]
    assert bench.sent(None)[0]["result"] == CANCELLED


def test_an_agent_that_confirms_no_cancel_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cuekit.protocols.acp.INTERRUPT_SECONDS", 0.3)
    bench = Bench("unanswered", tmp_path)

    async def script() -> None:
        await bench.session.send("go")
        await bench.until(lambda: len(bench.requests) == 1)
        assert await bench.session.interrupt()
        assert await bench.ended() == ["interrupted"]

    run(bench, script)


@pytest.mark.parametrize("behaviour", ["withdraws", "ends_asking"])
def test_a_request_that_is_taken_back_or_outlives_its_turn_is_cancelled_once(
    behaviour: str, tmp_path: Path
) -> None:
    bench = Bench(behaviour, tmp_path)

    async def script() -> None:
        await bench.session.send("go")
        await bench.until(lambda: len(bench.sent(None)) == 1)
        await bench.ended()

    run(bench, script)
    assert [message["result"] for message in bench.sent(None)] == [CANCELLED]
    assert bench.ends in ([], ["withdrawn"])  # it need not have come to anybody


def test_a_turn_ends_before_what_is_said_in_the_next_one(tmp_path: Path) -> None:
    bench = Bench("burst", tmp_path)

    async def script() -> None:
        await bench.session.send("first")
        await bench.session.send("second")
        await bench.ended(2)

    run(bench, script)
    assert [event.kind.value for event in bench.events[1:]] == [
        "turn_started",
        "turn_completed",
        "turn_started",
        "assistant_text",
        "assistant_text",
        "turn_completed",
    ]


def test_the_asking_mode_is_set_before_the_first_prompt(tmp_path: Path) -> None:
    bench = Bench("wild", tmp_path, kind="claude-agent-acp")
    one_turn(bench)
    assert [m["method"] for m in bench.answer()] == [
        "initialize",
        "session/new",
        "session/set_mode",
        "session/prompt",
    ]
    assert bench.sent("session/set_mode")[0]["params"] == {"sessionId": "S", "modeId": "default"}


@pytest.mark.parametrize("behaviour", ["only_wild", "stubborn"])
def test_an_agent_that_cannot_be_made_to_ask_is_not_started(behaviour: str, tmp_path: Path) -> None:
    bench = Bench(behaviour, tmp_path, kind="mine")
    with pytest.raises(CuekitError, match="mode") as caught:
        one_turn(bench)
    assert caught.value.code == "agent_does_not_ask"
    assert bench.sent("session/prompt") == []


def test_the_user_can_name_the_mode_that_asks(tmp_path: Path) -> None:
    bench = Bench("only_wild", tmp_path, kind="mine", options={"asking_mode": "yolo"})
    one_turn(bench)
    assert bench.sent("session/set_mode")[0]["params"]["modeId"] == "yolo"


def test_an_agent_that_leaves_its_asking_mode_is_set_back(tmp_path: Path) -> None:
    bench = Bench("leaves", tmp_path, kind="gemini")
    one_turn(bench)
    assert bench.answer() == {"sessionId": "S", "modeId": "default"}
    assert [values["code"] for values in bench.of(EventKind.ERROR)] == ["mode_changed"]


def test_no_file_and_no_terminal_service_is_offered(tmp_path: Path) -> None:
    bench = Bench("echo", tmp_path)
    one_turn(bench)
    assert bench.answer()[0]["params"]["clientCapabilities"] == {}


def test_a_call_first_seen_in_a_request_is_begun_there_and_closed_with_the_turn(
    tmp_path: Path,
) -> None:
    bench = Bench("zero", tmp_path)
    one_turn(bench, DecisionKind.DENY)
    calls = [e for e in bench.events if "tool_id" in e.values]
    assert [e.kind.value for e in calls] == [
        "tool_call_started",
        "tool_call_completed",
        "tool_result",
    ]
    assert calls[1].values["input"] == {"command": "rm x"}
    assert (bench.requests[0].tool, bench.requests[0].tool_id) == ("shell", "call")


def test_the_unknown_is_kept_raw_and_unknown_requests_are_refused_at_once(tmp_path: Path) -> None:
    bench = Bench("unknown", tmp_path)
    one_turn(bench)
    assert bench.answer()["error"]["code"] == -32601
    natives = [values["native"] for values in bench.of(EventKind.RAW)]
    assert [native["method"] for native in natives] == [
        "_vendor/notice",
        "session/update",
        "fs/read_text_file",
    ]


def test_an_interaction_that_grok_decides_by_itself_is_no_request(tmp_path: Path) -> None:
    bench = Bench("pending", tmp_path)
    one_turn(bench)
    assert bench.requests == []


def test_notices_that_come_as_text_of_the_model_are_told_apart(tmp_path: Path) -> None:
    bench = Bench("marked", tmp_path)
    one_turn(bench)
    whole = [v["text"] for v in bench.of(EventKind.ASSISTANT_TEXT) if not v["partial"]]
    assert whole == ["done"]
    assert bench.of(EventKind.STATUS) == [
        {"what": "mode", "mode": "yolo"},
        {"what": "notice", "text": "take care"},
    ]


def test_long_lines_arrive_whole(tmp_path: Path) -> None:
    bench = Bench("long", tmp_path)
    one_turn(bench)
    assert len(bench.of(EventKind.ASSISTANT_TEXT)[-1]["text"]) == 600_000


def test_a_chatty_standard_error_blocks_nothing(tmp_path: Path) -> None:
    bench = Bench("chatty", tmp_path)
    one_turn(bench)
    assert [values["outcome"] for values in bench.of(EventKind.TURN_COMPLETED)] == ["completed"]


def test_the_whole_process_group_ends_with_the_session(tmp_path: Path) -> None:
    bench = Bench("children", tmp_path)
    one_turn(bench)
    child = int(bench.of(EventKind.ASSISTANT_TEXT)[-1]["text"])
    assert not os.path.exists(f"/proc/{child}") or "Z" in Path(f"/proc/{child}/stat").read_text()


@pytest.mark.parametrize(
    ("kind", "sent", "turns"),
    [("grok", Sent.QUEUED, 2), ("opencode", Sent.JOINED, 1)],
)
def test_a_second_prompt_goes_out_where_the_agent_keeps_both(
    kind: str, sent: Sent, turns: int, tmp_path: Path
) -> None:
    bench = Bench("busy", tmp_path, kind=kind)

    async def script() -> None:
        assert await bench.session.send("first") is Sent.STARTED
        assert await bench.session.send("second") is sent
        assert await bench.ended(turns) == ["completed"] * turns
        assert not bench.session.busy

    run(bench, script)
    assert len(bench.of(EventKind.TURN_STARTED)) == turns
    kinds = [e.kind.value for e in bench.events if e.kind.value.startswith("turn_")]
    assert kinds == ["turn_started", "turn_completed"] * turns


def test_a_second_prompt_is_held_where_the_agent_would_drop_one(tmp_path: Path) -> None:
    bench = Bench("zero", tmp_path, kind="gemini")

    async def script() -> None:
        await bench.session.send("first")
        await bench.until(lambda: len(bench.requests) == 1)
        assert await bench.session.send("second") is Sent.HELD
        assert len(bench.sent("session/prompt")) == 1
        bench.decisions += [Decision(DecisionKind.ALLOW), Decision(DecisionKind.ALLOW)]
        assert await bench.ended(2) == ["completed", "completed"]

    run(bench, script)
    blocks = [m["params"]["prompt"] for m in bench.sent("session/prompt")]
    assert [[part["text"] for part in block] for block in blocks] == [["first"], ["second"]]


def test_the_reason_of_a_denial_follows_as_the_next_prompt(tmp_path: Path) -> None:
    bench = Bench("zero", tmp_path)
    bench.decisions += [
        Decision(DecisionKind.DENY, message="use the other file"),
        Decision(DecisionKind.ALLOW),
    ]

    async def script() -> None:
        await bench.session.send("first")
        assert await bench.ended(2) == ["completed", "completed"]

    run(bench, script)
    second = bench.sent("session/prompt")[1]["params"]["prompt"]
    assert second == [{"type": "text", "text": "use the other file"}]


def test_who_is_not_signed_in_is_told_what_to_run(tmp_path: Path) -> None:
    bench = Bench("no_login", tmp_path)
    with pytest.raises(NotSignedIn) as caught:
        one_turn(bench)
    assert caught.value.hint == "run: grok login"


def test_an_agent_that_dies_while_it_asks_fails_the_turn_and_abandons_the_request(
    tmp_path: Path,
) -> None:
    bench = Bench("dies", tmp_path)
    one_turn(bench)
    ended = bench.of(EventKind.TURN_COMPLETED)
    assert [(values["outcome"], values["code"]) for values in ended] == [("failed", "agent_gone")]
    assert bench.ends in (["abandoned"], [])


@pytest.mark.parametrize(
    ("behaviour", "outcome", "code"),
    [
        ("fails", "failed", "agent_error"),
        ("odd_stop", "failed", "tired"),
        ("garbage", "completed", None),
        ("half", "failed", "agent_gone"),
    ],
)
def test_odd_ends_of_a_turn_are_told_as_what_they_are(
    behaviour: str, outcome: str, code: str | None, tmp_path: Path
) -> None:
    bench = Bench(behaviour, tmp_path)
    one_turn(bench)
    (ended,) = bench.of(EventKind.TURN_COMPLETED)
    assert (ended["outcome"], ended.get("code")) == (outcome, code)


def test_a_loaded_session_does_not_tell_its_past_again(tmp_path: Path) -> None:
    bench = Bench("echo", tmp_path, resume="S")
    one_turn(bench)
    assert bench.of(EventKind.SESSION_STARTED)[0]["agent_session_id"] == "S"
    assert "told before" not in str(bench.events)


def test_gemini_is_not_loaded_in_the_minute_in_which_its_session_began(tmp_path: Path) -> None:
    folder = tmp_path / ".gemini" / "tmp" / "p" / "chats"
    folder.mkdir(parents=True)
    now = time.time()
    minute = time.strftime("%Y-%m-%dT%H-%M", time.gmtime(now))
    assert acp_gemini.began_this_minute(str(tmp_path), "abcdefgh-1", now) is None
    (folder / f"session-{minute}-abcdefgh.jsonl").touch()
    assert acp_gemini.began_this_minute(str(tmp_path), "abcdefgh-1", now) is True
    assert acp_gemini.began_this_minute(str(tmp_path), "abcdefgh-1", now + 60) is False
