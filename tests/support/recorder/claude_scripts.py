"""The scripts of claude's recordings; each says what the model replies and what a person does."""

from __future__ import annotations

import asyncio

from cuekit.model.approval import Decision, DecisionKind
from cuekit.model.event import EventKind
from cuekit.protocols.base import AgentSession, Sent
from cuekit.protocols.claude_stream import ClaudeStream
from tests.support.model_server import Call, HttpError, Say, Shell, Think
from tests.support.recorder.plug import Scenario
from tests.support.recorder.stage import Stage
from tests.support.wait import wait_until

COLOURS = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "options": [
                {"label": "Red", "description": "warm"},
                {"label": "Blue", "description": "cold"},
            ],
            "multiSelect": False,
        }
    ]
}


async def simple_turn(stage: Stage) -> None:
    stage.model.queue(Say("Hello there."))
    session = await stage.open()
    assert await stage.turn(session, "say hello") == "completed"


async def partials(stage: Stage) -> None:
    stage.model.queue(
        Think("First I think."), Say("One, two, three.", chunks=4), Shell("echo four")
    )
    session = await stage.open()
    assert await stage.turn(session, "count to four") == "completed"
    pieces = [e.values["partial"] for e in stage.events if e.kind is EventKind.ASSISTANT_TEXT]
    assert pieces == [True] * 4 + [False, True, False], pieces


async def whole_messages(stage: Stage) -> None:
    stage.model.queue(Think("First I think."), Say("One, two, three."), Shell("echo four"))
    session = await stage.open()
    assert await stage.turn(session, "count to four") == "completed"
    pieces = [e.values["partial"] for e in stage.events if e.kind is EventKind.ASSISTANT_TEXT]
    assert pieces == [False, False]


async def tool_without_approval(stage: Stage) -> None:
    stage.model.queue(Shell("echo first"))
    stage.model.queue(Call("Read", {"file_path": str(stage.place.project / "README.md")}))
    stage.model.queue(Shell("ls no-such-file"))
    session = await stage.open()
    assert await stage.turn(session, "run it") == "completed"
    assert not stage.requests
    results = [e.values for e in stage.events if e.kind is EventKind.TOOL_RESULT]
    assert [result["is_error"] for result in results] == [False, False, True]


async def allow(stage: Stage) -> None:
    stage.model.queue(Shell("touch made.txt && echo made"))
    stage.decide(DecisionKind.ALLOW)
    session = await stage.open()
    assert await stage.turn(session, "make the file") == "completed"
    assert (stage.place.project / "made.txt").exists()


async def deny(stage: Stage) -> None:
    stage.model.queue(Shell("touch made.txt"))
    stage.decide(Decision(DecisionKind.DENY, message="Not in this folder, please."))
    session = await stage.open()
    assert await stage.turn(session, "make the file") == "completed"
    assert "Not in this folder, please." in "".join(stage.model.turns[-1].tool_results)
    assert not (stage.place.project / "made.txt").exists()
    assert stage.events[-1].values["permission_denials"][0]["native_tool"] == "Bash"


async def cancel(stage: Stage) -> None:
    stage.model.queue(Shell("touch made.txt"))
    stage.decide(DecisionKind.CANCEL_RUN)
    session = await stage.open()
    assert await stage.turn(session, "make the file") == "interrupted"
    assert not (stage.place.project / "made.txt").exists()
    assert await stage.turn(session, "go on") == "completed"


async def allow_always(stage: Stage) -> None:
    """We allow once each time: our own rule is what holds, so claude asks again."""
    for _ in range(2):
        stage.model.queue(Shell("touch made.txt"))
    stage.decide(Decision(DecisionKind.ALLOW_ALWAYS, scope="task"), DecisionKind.ALLOW)
    session = await stage.open()
    assert await stage.turn(session, "make the file twice") == "completed"
    assert len(stage.requests) == 2
    assert not (stage.place.project / ".claude").exists()


async def changed_input(stage: Stage) -> None:
    stage.model.queue(Shell("touch made.txt"))
    stage.model.queue(Call("Write", {"file_path": str(stage.place.project / "a"), "content": "a"}))
    other = str(stage.place.project / "other.txt")
    stage.decide(
        Decision(DecisionKind.ALLOW, changed_input={"command": "touch changed.txt"}),
        Decision(DecisionKind.ALLOW, changed_input={"path": other, "content": "changed\n"}),
    )
    session = await stage.open()
    assert await stage.turn(session, "make the file") == "completed"
    made = {path.name for path in stage.place.project.iterdir() if not path.name.startswith(".")}
    assert made == {"README.md", "changed.txt", "other.txt"}


async def file_change(stage: Stage) -> None:
    new = str(stage.place.project / "notes.md")
    readme = str(stage.place.project / "README.md")
    stage.model.queue(Call("Write", {"file_path": new, "content": "# Notes\n\none\n"}))
    stage.model.queue(Call("Read", {"file_path": readme}))
    edit = {"file_path": readme, "old_string": "for tests", "new_string": "for a test"}
    stage.model.queue(Call("Edit", edit))
    stage.model.queue(Call("Write", {"file_path": new, "content": "# Notes\n\ntwo\n"}))
    stage.decide(*[DecisionKind.ALLOW] * 3)
    session = await stage.open()
    assert await stage.turn(session, "change it") == "completed"
    changes = [e.values for e in stage.events if e.kind is EventKind.FILE_CHANGE]
    assert [(c["change"], c["source"]) for c in changes] == [
        ("add", "native"),
        ("update", "native"),
        ("update", "native"),
    ]
    assert all(change["diff"] for change in changes)


async def follow_up(stage: Stage) -> None:
    """One while a tool waits, which joins the turn; two while text streams, which make the next."""
    stage.model.queue(Shell("touch made.txt"))
    stage.model.queue("read both")
    session = await stage.open()
    assert await session.send("start") is Sent.STARTED
    await stage.until_requests()
    assert await session.send("also do that") is Sent.JOINED
    await read_so_far(session)
    stage.decide(DecisionKind.ALLOW)
    await stage.until_kind(EventKind.TURN_COMPLETED)
    assert stage.model.user_messages == ["start", "also do that"]
    gate = stage.model.gate()
    stage.model.queue(Say("Working. "), gate, Say("Still working."))
    assert await session.send("stream") is Sent.STARTED
    await stage.reached(gate)
    assert await session.send("one more") is Sent.JOINED
    assert await session.send("and another") is Sent.JOINED
    gate.release()
    await stage.until_kind(EventKind.TURN_COMPLETED, 3)
    assert not session.busy
    assert stage.model.user_messages[2:] == ["stream", "one more", "and another"]
    assert stage.count(EventKind.TURN_STARTED) == 3


async def read_so_far(session: AgentSession) -> None:
    """Wait until claude has read its input up to here: it answers control requests in order."""
    assert isinstance(session, ClaudeStream)
    await session.control({"subtype": "mcp_status"})


async def interrupt_command(stage: Stage) -> None:
    stage.model.queue(Shell("touch begun.txt; sleep 300; touch late.txt"))
    stage.decide(DecisionKind.ALLOW)
    session = await stage.open()
    assert await session.send("run it") is Sent.STARTED
    begun = stage.place.project / "begun.txt"
    await asyncio.to_thread(wait_until, begun.exists, 30, "the command's first file")
    assert await session.interrupt()
    assert stage.outcomes == ["interrupted"]
    assert not await session.interrupt()
    assert await stage.turn(session, "go on") == "completed"


async def interrupt_approval(stage: Stage) -> None:
    stage.model.queue(Shell("touch made.txt"))
    session = await stage.open()
    assert await session.send("make the file") is Sent.STARTED
    await stage.until_requests()
    assert await session.interrupt()
    assert stage.outcomes == ["interrupted"]
    assert not (stage.place.project / "made.txt").exists()
    assert await stage.turn(session, "go on") == "completed"


async def resume(stage: Stage) -> None:
    session = await stage.open()
    assert await stage.turn(session, "remember the number 42") == "completed"
    first = session_ids(stage)[0]
    await session.close()
    again = await stage.open(resume=first)
    assert await stage.turn(again, "which number?") == "completed"
    assert stage.model.user_messages[-2:] == ["remember the number 42", "which number?"]
    await again.close()
    fork = await stage.open(resume=first, fork=True)
    assert await stage.turn(fork, "another way") == "completed"
    assert stage.model.user_messages[-1] == "another way"
    ids = session_ids(stage)
    assert ids[:2] == [first, first]
    assert ids[2] != first


def session_ids(stage: Stage) -> list[str]:
    started = (e for e in stage.events if e.kind is EventKind.SESSION_STARTED)
    return [event.values["agent_session_id"] for event in started]


async def failed_turn(stage: Stage) -> None:
    stage.model.when("fail now", HttpError(400, "the request is not acceptable"))
    session = await stage.open()
    assert await stage.turn(session, "fail now") == "failed"
    assert stage.events[-1].values["code"] == "api_error"
    stage.model.when("try again", Say("better"))  # the failed message goes along with this one
    assert await stage.turn(session, "try again") == "completed"


async def retry(stage: Stage) -> None:
    stage.model.queue(HttpError(500, "not now"))
    stage.model.queue(HttpError(529, "too busy"))
    session = await stage.open(environment={**stage.place.env, "CLAUDE_CODE_MAX_RETRIES": "3"})
    assert await stage.turn(session, "answer") == "completed"
    errors = [e.values for e in stage.events if e.kind is EventKind.ERROR]
    assert [error["recoverable"] for error in errors] == [True, True]


async def retry_fails(stage: Stage) -> None:
    stage.model.default(HttpError(500, "not now"))
    session = await stage.open(environment={**stage.place.env, "CLAUDE_CODE_MAX_RETRIES": "1"})
    assert await stage.turn(session, "answer") == "failed"
    errors = [e.values["recoverable"] for e in stage.events if e.kind is EventKind.ERROR]
    assert errors == [True, False]


async def unauthorized(stage: Stage) -> None:
    stage.model.default(HttpError(401, "no such key"))
    session = await stage.open(environment={**stage.place.env, "CLAUDE_CODE_MAX_RETRIES": "10"})
    assert await stage.turn(session, "hello") == "failed"
    assert stage.events[-1].values["code"] == "not_signed_in"


async def question(stage: Stage) -> None:
    for _ in range(2):
        stage.model.queue(Call("AskUserQuestion", COLOURS))
    answered = Decision(DecisionKind.ANSWER, answers={"Which colour?": ["Blue"]})
    stage.decide(answered, Decision(DecisionKind.DENY, message="ask nothing"))
    session = await stage.open()
    assert await stage.turn(session, "ask me") == "completed"
    assert [request.questions[0].options for request in stage.requests] == [("Red", "Blue")] * 2
    assert "Blue" in "".join(stage.model.turns[1].tool_results)
    assert "ask nothing" in "".join(stage.model.turns[2].tool_results)


async def plan_mode(stage: Stage) -> None:
    stage.model.queue(Call("EnterPlanMode", {}))
    stage.model.queue(Call("ExitPlanMode", {"plan": "# Plan\n\n1. do it"}))
    stage.decide(*[DecisionKind.ALLOW] * 2)
    session = await stage.open()
    assert await stage.turn(session, "plan it") == "completed"
    assert "ExitPlanMode" in [request.native_tool for request in stage.requests]


async def parallel_tools(stage: Stage) -> None:
    stage.model.queue(Shell("touch a.txt"), Shell("touch b.txt"))
    stage.decide(DecisionKind.ALLOW, DecisionKind.DENY)
    session = await stage.open()
    assert await stage.turn(session, "make two files") == "completed"
    made = [(stage.place.project / name).exists() for name in ("a.txt", "b.txt")]
    assert sorted(made) == [False, True]


async def batch_refused(stage: Stage) -> None:
    stage.model.queue(Shell("touch made.txt"))
    session = await stage.open()
    assert await stage.turn(session, "make the file") == "completed"
    assert not (stage.place.project / "made.txt").exists()
    errors = [e.values for e in stage.events if e.kind is EventKind.ERROR]
    assert [error["code"] for error in errors] == ["refused_unasked"]
    assert "touch made.txt" in errors[0]["message"]


async def batch_tool(stage: Stage) -> None:
    stage.model.queue(Shell("touch made.txt"))
    session = await stage.open()
    assert await stage.turn(session, "make the file") == "completed"
    assert (stage.place.project / "made.txt").exists()


async def batch_failed(stage: Stage) -> None:
    stage.model.default(HttpError(400, "the request is not acceptable"))
    session = await stage.open()
    assert await stage.turn(session, "/fail") == "failed"
    assert "not acceptable" in stage.events[-1].values["message"]
    assert stage.model.user_messages == [" /fail"]


BATCH = "batch"
ASKS = {"dangerously_skip_permissions": False}
MCP = {"approval_channel": "mcp"}

SCENARIOS = [
    Scenario("01-simple-turn", simple_turn),
    Scenario("02-partials", partials),
    Scenario("03-tool-without-approval", tool_without_approval),
    Scenario("04-allow", allow),
    Scenario("05-deny", deny),
    Scenario("06-cancel", cancel),
    Scenario("07-allow-always", allow_always),
    Scenario("08-changed-input", changed_input),
    Scenario("09-file-change", file_change),
    Scenario("10-parallel-tools", parallel_tools),
    Scenario("11-follow-up-while-running", follow_up),
    Scenario("12-interrupt-command", interrupt_command),
    Scenario("13-interrupt-approval", interrupt_approval),
    Scenario("14-resume-and-fork", resume),
    Scenario("15-failed-turn", failed_turn),
    Scenario("16-retry", retry),
    Scenario("17-retry-fails", retry_fails),
    Scenario("18-unauthorized", unauthorized),
    Scenario("19-question", question),
    Scenario("20-plan-mode", plan_mode),
    Scenario("21-whole-messages", whole_messages, options={"verbosity": "whole"}),
    Scenario("31-mcp-allow", allow, options=MCP),
    Scenario("32-mcp-deny", deny, options=MCP),
    Scenario("33-mcp-cancel", cancel, options=MCP),
    Scenario("34-mcp-changed-input", changed_input, options=MCP),
    Scenario("35-mcp-question", question, options=MCP),
    Scenario("36-mcp-interrupt-approval", interrupt_approval, options=MCP),
    Scenario("51-batch-simple-turn", simple_turn, BATCH),
    Scenario("52-batch-tool", batch_tool, BATCH),
    Scenario("53-batch-refused", batch_refused, BATCH, options=ASKS),
    Scenario("54-batch-failed-turn", batch_failed, BATCH),
    Scenario("55-batch-whole-messages", whole_messages, BATCH, options={"verbosity": "whole"}),
]
