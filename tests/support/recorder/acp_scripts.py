"""What is played with each agent that speaks ACP."""

from __future__ import annotations

import asyncio
import time

from cuekit.model.approval import Decision, DecisionKind
from cuekit.model.event import EventKind
from cuekit.protocols.base import Sent
from tests.support.model_server import Call, HttpError, Say, Shell, Think
from tests.support.processes import marked
from tests.support.recorder.plug import Scenario
from tests.support.recorder.stage import Stage

ASKED = "python3 -c \"open('made.txt','w').write('x')\"; echo ran"
"""A command that each of them asks leave for."""


def agent_of(stage: Stage) -> str:
    """The agent's name."""
    return str(stage.place.extra["agent"])


def session_of(stage: Stage) -> str:
    """The agent's own id of the newest session."""
    started = [e for e in stage.events if e.kind is EventKind.SESSION_STARTED]
    return str(started[-1].values["agent_session_id"])


def commands(stage: Stage) -> str:
    """The command lines of everything that the agent has running."""
    return "\n".join(marked(f"HOME={stage.place.home}").values())


async def running(stage: Stage, wanted: bool) -> None:
    """Wait until the long command runs, or is gone."""
    async with asyncio.timeout(30):
        while ("time.sleep(300)" in commands(stage)) is not wanted:
            await asyncio.sleep(0.05)


async def after_the_minute(stage: Stage) -> None:
    """gemini destroys a session that is loaded in the minute in which it began."""
    if agent_of(stage) == "gemini":
        await asyncio.sleep(60.5 - time.time() % 60)


async def simple_turn(stage: Stage) -> None:
    stage.model.queue("hello there")
    session = await stage.open()
    assert await stage.turn(session, "say hello") == "completed"


async def partials(stage: Stage) -> None:
    stage.model.queue(Think("I think about it."), Say("one two three four", chunks=4, gap=0.05))
    session = await stage.open()
    assert await stage.turn(session, "count") == "completed"
    assert stage.model.turns[-1].newest_user_messages[-1:] == ["count"]


async def tool_without_approval(stage: Stage) -> None:
    name = {"grok": "read_file", "gemini": "read_file", "opencode": "read"}[agent_of(stage)]
    key = {"grok": "target_file", "gemini": "file_path", "opencode": "filePath"}[agent_of(stage)]
    stage.model.queue(Call(name, {key: str(stage.place.project / "README.md")}))
    session = await stage.open()
    assert await stage.turn(session, "read it") == "completed"
    assert not stage.requests


async def allow(stage: Stage) -> None:
    stage.model.queue(Say("I run it."), Shell(ASKED))
    stage.decide(DecisionKind.ALLOW)
    session = await stage.open()
    assert await stage.turn(session, "run it") == "completed"
    assert len(stage.requests) == 1
    assert "ran" in stage.model.turns[-1].tool_results[-1]


async def deny(stage: Stage) -> None:
    stage.model.queue(Shell(ASKED))
    stage.decide(Decision(DecisionKind.DENY, message="not now, please"))
    session = await stage.open()
    await stage.turn(session, "run it")
    await stage.until_kind(EventKind.TURN_COMPLETED, 2)
    assert stage.model.turns[-1].newest_user_messages[-1:] == ["not now, please"]
    assert not (stage.place.project / "made.txt").exists()


async def cancel_run(stage: Stage) -> None:
    stage.model.queue(Shell(ASKED))
    stage.decide(DecisionKind.CANCEL_RUN)
    session = await stage.open()
    assert await stage.turn(session, "run it") == "interrupted"
    assert not (stage.place.project / "made.txt").exists()
    assert await stage.turn(session, "go on") == "completed"


async def allow_always(stage: Stage) -> None:
    """Always goes out as once: the agent asks again, and our rule would answer."""
    stage.model.queue(Shell(ASKED))
    stage.model.queue(Shell(ASKED))
    stage.decide(Decision(DecisionKind.ALLOW_ALWAYS, scope="project"), DecisionKind.ALLOW)
    session = await stage.open()
    assert await stage.turn(session, "run it") == "completed"
    assert len(stage.requests) == 2


async def file_change(stage: Stage) -> None:
    path = str(stage.place.project / "note.txt")
    calls = {
        "grok": Call("write", {"file_path": path, "content": "one\ntwo\n"}),
        "gemini": Call("write_file", {"file_path": path, "content": "one\ntwo\n"}),
        "opencode": Call("write", {"filePath": path, "content": "one\ntwo\n"}),
    }
    stage.model.queue(calls[agent_of(stage)])
    stage.decide(DecisionKind.ALLOW)
    session = await stage.open()
    assert await stage.turn(session, "write it") == "completed"
    changes = [e.values for e in stage.events if e.kind is EventKind.FILE_CHANGE]
    assert [change["path"] for change in changes] == [path]
    assert "+one\n+two\n" in changes[0]["diff"]


async def follow_up(stage: Stage) -> None:
    gate = stage.model.gate()
    stage.model.queue(Say("working"), gate, Say(" finished"))
    session = await stage.open()
    await session.send("be slow")
    await stage.reached(gate)
    sent = await session.send("and then this")
    gate.release()
    joins = sent is Sent.JOINED
    await stage.until_kind(EventKind.TURN_COMPLETED, 1 if joins else 2)
    assert set(stage.outcomes) == {"completed"}
    assert stage.model.user_messages[-1] == "and then this"


async def interrupt(stage: Stage) -> None:
    gate = stage.model.gate()
    stage.model.queue(Say("working"), gate)
    session = await stage.open()
    await session.send("be slow")
    await stage.reached(gate)
    assert await session.interrupt()
    assert stage.outcomes == ["interrupted"]
    gate.release()
    assert await stage.turn(session, "again") == "completed"


async def interrupt_command(stage: Stage) -> None:
    stage.model.queue(Shell("python3 -c 'import time; print(1, flush=True); time.sleep(300)'"))
    stage.decide(DecisionKind.ALLOW)
    session = await stage.open()
    await session.send("run it")
    await stage.until_requests()
    await running(stage, True)
    assert await session.interrupt()
    assert stage.outcomes == ["interrupted"]
    await running(stage, False)


async def interrupt_approval(stage: Stage) -> None:
    stage.model.queue(Shell(ASKED))
    session = await stage.open()
    await session.send("run it")
    await stage.until_requests()
    assert await session.interrupt()
    assert stage.outcomes == ["interrupted"]
    stage.model.queue(Shell(ASKED))
    stage.decide(DecisionKind.ALLOW)
    assert await stage.turn(session, "now really") == "completed"
    assert len(stage.requests) == 2


async def resume(stage: Stage) -> None:
    session = await stage.open()
    assert await stage.turn(session, "remember the word apple") == "completed"
    session_id = session_of(stage)
    await session.close()
    await after_the_minute(stage)
    again = await stage.open(resume=session_id)
    count = len(stage.events)
    assert await stage.turn(again, "which word was it") == "completed"
    assert stage.model.user_messages[-1] == "which word was it"
    assert any("apple" in text for text in stage.model.turns[-1].user_messages)
    assert not any("apple" in str(event.values) for event in stage.events[count:])


async def failed_turn(stage: Stage) -> None:
    stage.model.default(HttpError(400, "the request is bad"))
    session = await stage.open()
    assert await stage.turn(session, "go") == "failed"


SCENARIOS = [
    Scenario("01-simple-turn", simple_turn),
    Scenario("02-partials", partials),
    Scenario("03-tool-without-approval", tool_without_approval),
    Scenario("04-allow", allow),
    Scenario("05-deny", deny),
    Scenario("06-cancel-run", cancel_run),
    Scenario("07-allow-always", allow_always),
    Scenario("09-file-change", file_change),
    Scenario("11-follow-up-while-running", follow_up),
    Scenario("12-interrupt", interrupt),
    Scenario("13-interrupt-command", interrupt_command),
    Scenario("14-interrupt-approval", interrupt_approval),
    Scenario("15-resume", resume),
    Scenario("16-failed-turn", failed_turn),
]
