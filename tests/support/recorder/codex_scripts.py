"""The scripts of codex's recordings; each says what the model replies and what a person does.

There is no scenario for a changed input: codex takes none (a decision has no place for it).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from cuekit.model.approval import Decision, DecisionKind
from cuekit.model.event import EventKind
from cuekit.protocols.base import Sent
from cuekit.protocols.codex_exec import CodexExec, ExecOutcome
from tests.support.model_server import Call, Drop, HttpError, Say, Shell, Think
from tests.support.recorder.plug import Scenario
from tests.support.recorder.stage import Stage

ESCALATED = {"sandbox_permissions": "require_escalated", "justification": "May I?"}
PATCH = """*** Begin Patch
*** Update File: README.md
@@
-A project for tests.
+A changed project.
*** Add File: notes.md
+# Notes
*** End Patch
"""
FULL_ACCESS = {"sandbox": "danger-full-access"}
READ_ONLY = {"sandbox": "read-only"}


async def simple_turn(stage: Stage) -> None:
    stage.model.queue(Say("Hello there."))
    session = await stage.open()
    assert await stage.turn(session, "say hello") == "completed"


async def partials(stage: Stage) -> None:
    stage.model.queue(Think("First I think."), Say("One, two, three, four.", chunks=6, gap=0.02))
    session = await stage.open()
    assert await stage.turn(session, "count to four") == "completed"
    assert stage.count(EventKind.ASSISTANT_TEXT) > 3


async def tool_without_approval(stage: Stage) -> None:
    stage.model.queue(Shell("echo first; sleep 2; echo second"))
    stage.model.queue(Shell("exit 3"))
    session = await stage.open()
    assert await stage.turn(session, "run it") == "completed"
    await stage.until_kind(EventKind.TOOL_RESULT, 2)


async def allow(stage: Stage) -> None:
    stage.model.queue(Shell("touch made.txt && echo made", ESCALATED))
    stage.decide(DecisionKind.ALLOW)
    session = await stage.open()
    assert await stage.turn(session, "make the file") == "completed"
    assert (stage.place.project / "made.txt").exists()


async def deny(stage: Stage) -> None:
    stage.model.queue(Shell("touch made.txt", ESCALATED))
    stage.decide(Decision(DecisionKind.DENY, message="Not in this folder, please."))
    session = await stage.open()
    assert await stage.turn(session, "make the file") == "completed"
    await stage.until(
        lambda: "Not in this folder, please." in stage.model.user_messages, "reason at the model"
    )
    assert not (stage.place.project / "made.txt").exists()


async def cancel(stage: Stage) -> None:
    stage.model.queue(Shell("touch made.txt", ESCALATED))
    stage.decide(DecisionKind.CANCEL_RUN)
    session = await stage.open()
    assert await stage.turn(session, "make the file") == "interrupted"
    assert not (stage.place.project / "made.txt").exists()


async def allow_always(stage: Stage) -> None:
    """We answer `accept` each time: our own rule is what holds, so codex asks again."""
    for _ in range(2):
        stage.model.queue(Shell("touch made.txt", ESCALATED))
    stage.decide(Decision(DecisionKind.ALLOW_ALWAYS, scope="task"), DecisionKind.ALLOW)
    session = await stage.open()
    assert await stage.turn(session, "make the file twice") == "completed"
    assert len(stage.requests) == 2


async def file_change(stage: Stage) -> None:
    stage.model.queue(Call("apply_patch", {"input": PATCH}))
    session = await stage.open()
    assert await stage.turn(session, "change it") == "completed"
    assert stage.count(EventKind.FILE_CHANGE) == 2


async def file_change_approval(stage: Stage) -> None:
    stage.model.queue(Call("apply_patch", {"input": PATCH}))
    stage.model.queue(Call("apply_patch", {"input": PATCH.replace("notes.md", "more.md")}))
    stage.decide(DecisionKind.DENY, DecisionKind.ALLOW)
    session = await stage.open()
    assert await stage.turn(session, "change it") == "completed"
    assert [len(request.input["paths"]) for request in stage.requests] == [2, 2]
    assert (stage.place.project / "more.md").exists()
    assert not (stage.place.project / "notes.md").exists()


async def follow_up(stage: Stage) -> None:
    gate = stage.model.gate()
    stage.model.queue(Say("Working. "), gate, Say("Still working."))
    session = await stage.open()
    assert await session.send("start") is Sent.STARTED
    await stage.reached(gate)
    assert await session.send("also do that") is Sent.JOINED
    gate.release()
    await stage.until_kind(EventKind.TURN_COMPLETED)
    assert stage.model.user_messages == ["start", "also do that"]
    assert await stage.turn(session, "and a second turn") == "completed"


async def interrupt_command(stage: Stage) -> None:
    stage.model.queue(Shell("echo begun; sleep 300; touch late.txt", {"yield_time_ms": 30000}))
    session = await stage.open()
    assert await session.send("run it") is Sent.STARTED
    await stage.until_kind(EventKind.TOOL_CALL_STARTED)
    assert await session.interrupt()
    assert stage.outcomes == ["interrupted"]
    assert not await session.interrupt()
    assert await stage.turn(session, "go on") == "completed"


async def interrupt_approval(stage: Stage) -> None:
    stage.model.queue(Shell("touch made.txt", ESCALATED))
    session = await stage.open()
    assert await session.send("make the file") is Sent.STARTED
    await stage.until_requests()
    assert await session.interrupt()
    await stage.until_line("serverRequest/resolved")
    assert not (stage.place.project / "made.txt").exists()
    assert await stage.turn(session, "go on") == "completed"


async def resume(stage: Stage) -> None:
    session = await stage.open()
    assert await stage.turn(session, "remember the number 42") == "completed"
    opened = [e for e in stage.events if e.kind is EventKind.SESSION_STARTED]
    thread = opened[0].values["agent_session_id"]
    await session.close()
    again = await stage.open(resume=thread)
    assert await stage.turn(again, "which number?") == "completed"
    assert stage.model.user_messages[-2:] == ["remember the number 42", "which number?"]
    await again.close()
    fork = await stage.open(resume=thread, fork=True)
    assert await stage.turn(fork, "another way") == "completed"


async def failed_turn(stage: Stage) -> None:
    stage.model.queue(HttpError(400, "the request is not acceptable"))
    session = await stage.open()
    assert await stage.turn(session, "fail") == "failed"
    assert await stage.turn(session, "try again") == "completed"


async def retry(stage: Stage) -> None:
    stage.model.queue(Say("Half of"), Drop())
    session = await stage.open()
    assert await stage.turn(session, "answer") == "completed"
    errors = [e.values for e in stage.events if e.kind is EventKind.ERROR]
    assert errors
    assert all(error["recoverable"] for error in errors)


async def unauthorized(stage: Stage) -> None:
    stage.model.default(HttpError(401, "no such key"))
    session = await stage.open()
    assert await stage.turn(session, "hello") == "failed"
    assert stage.events[-1].values["code"] == "not_signed_in"


async def permissions(stage: Stage) -> None:
    other = stage.place.home / "other"
    other.mkdir()
    asked = {"file_system": {"write": [str(other)]}}
    call = {"reason": "I need to write outside", "permissions": asked}
    for _ in range(2):
        stage.model.queue(Call("request_permissions", call))
    stage.decide(DecisionKind.ALLOW, DecisionKind.DENY)
    session = await stage.open()
    assert await stage.turn(session, "ask for more") == "completed"
    assert [request.tool for request in stage.requests] == ["permissions", "permissions"]


async def question(stage: Stage) -> None:
    asked = {
        "id": "q1",
        "header": "Colour",
        "question": "Which colour?",
        "options": [
            {"label": "Red", "description": "warm"},
            {"label": "Blue", "description": "cold"},
        ],
    }
    for _ in range(2):
        stage.model.queue(Call("request_user_input", {"questions": [asked]}))
    stage.decide(Decision(DecisionKind.ANSWER, answers={"q1": ["Red"]}), DecisionKind.DENY)
    session = await stage.open()
    assert await stage.turn(session, "ask me") == "completed"
    assert "Red" in "".join(stage.model.turns[1].tool_results)


async def plan(stage: Stage) -> None:
    steps = [{"step": "first", "status": "in_progress"}, {"step": "second", "status": "pending"}]
    stage.model.queue(Call("update_plan", {"explanation": "why", "plan": steps}))
    session = await stage.open()
    assert await stage.turn(session, "plan it") == "completed"


async def exec_run(stage: Stage, prompt: str, outcome: str, **changes: Any) -> ExecOutcome:
    session = await stage.open(**changes)
    assert isinstance(session, CodexExec)
    assert await session.send(prompt) is Sent.STARTED
    await session.wait()
    assert session.outcome
    assert session.outcome.outcome == outcome, session.outcome
    return session.outcome


async def exec_simple(stage: Stage) -> None:
    stage.model.queue(Think("First I think."), Say("Hello there."))
    await exec_run(stage, "say hello", "completed")


async def exec_tool(stage: Stage) -> None:
    stage.model.queue(Shell("echo first"))
    stage.model.queue(Shell("exit 3"))
    await exec_run(stage, "run it", "completed")


async def exec_file_change(stage: Stage) -> None:
    stage.model.queue(Call("apply_patch", {"input": PATCH}))
    await exec_run(stage, "change it", "completed")
    assert stage.count(EventKind.FILE_CHANGE) == 2


async def exec_refused(stage: Stage) -> None:
    stage.model.queue(Shell("touch made.txt", ESCALATED))
    done = await exec_run(stage, "make the file", "completed")
    assert done.refusals


async def exec_failed(stage: Stage) -> None:
    stage.model.queue(HttpError(400, "the request is not acceptable"))
    done = await exec_run(stage, "fail", "failed")
    assert done.message
    assert "not acceptable" in done.message


async def exec_retry(stage: Stage) -> None:
    stage.model.queue(Say("Half of"), Drop())
    await exec_run(stage, "answer", "completed")


async def exec_plan(stage: Stage) -> None:
    await plan_reply(stage)
    await exec_run(stage, "plan it", "completed")


async def plan_reply(stage: Stage) -> None:
    steps = [{"step": "first", "status": "completed"}, {"step": "second", "status": "pending"}]
    stage.model.queue(Call("update_plan", {"plan": steps}))


async def exec_resume(stage: Stage) -> None:
    first = await exec_run(stage, "remember the number 42", "completed")
    assert first.agent_session_id
    done = await exec_run(stage, "which number?", "completed", resume=first.agent_session_id)
    assert done.agent_session_id == first.agent_session_id
    assert stage.model.user_messages[-2:] == ["remember the number 42", "which number?"]


RETRIES = (
    "-c",
    "model_providers.scripted.stream_max_retries=2",
    "-c",
    "model_providers.scripted.request_max_retries=2",
)
ASKS = {"features": "request_permissions_tool,exec_permission_approvals"}
QUESTIONS = {"features": "default_mode_request_user_input"}
WRITABLE = {"sandbox": "workspace-write"}
BEFORE_0_171 = ("0.133.0", "0.141.0")


def _exec(
    name: str,
    script: Callable[[Stage], Awaitable[None]],
    arguments: tuple[str, ...] = (),
    versions: tuple[str, ...] = (),
) -> Scenario:
    return Scenario(name, script, "exec", WRITABLE, arguments, versions)


SCENARIOS = [
    Scenario("01-simple-turn", simple_turn),
    Scenario("02-partials", partials),
    Scenario("03-tool-without-approval", tool_without_approval),
    Scenario("04-allow", allow, options=READ_ONLY),
    Scenario("05-deny", deny, options=READ_ONLY),
    Scenario("06-cancel", cancel, options=READ_ONLY),
    Scenario("07-allow-always", allow_always, options=READ_ONLY),
    Scenario("09-file-change", file_change),
    Scenario("10-file-change-approval", file_change_approval, options=READ_ONLY),
    Scenario("11-follow-up-while-running", follow_up),
    Scenario("12-interrupt-command", interrupt_command),
    Scenario("13-interrupt-approval", interrupt_approval, options=READ_ONLY),
    Scenario("14-resume-and-fork", resume),
    Scenario("15-failed-turn", failed_turn),
    Scenario("16-retry", retry, arguments=RETRIES),
    Scenario("17-unauthorized", unauthorized),
    Scenario("18-permissions", permissions, options=ASKS),
    Scenario("19-question", question, options=QUESTIONS),
    Scenario("20-plan", plan, versions=BEFORE_0_171),
    _exec("51-exec-simple-turn", exec_simple),
    _exec("52-exec-tool", exec_tool),
    _exec("53-exec-file-change", exec_file_change),
    _exec("54-exec-refused", exec_refused),
    _exec("55-exec-failed-turn", exec_failed),
    _exec("56-exec-retry", exec_retry, RETRIES),
    _exec("57-exec-plan", exec_plan, versions=BEFORE_0_171),
    _exec("58-exec-resume", exec_resume),
]
