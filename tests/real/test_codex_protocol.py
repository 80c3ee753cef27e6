"""`codex app-server` and `codex exec --json` for real: what recordings cannot show."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from cuekit.errors import CuekitError
from cuekit.model.approval import Decision, DecisionKind
from cuekit.model.event import EventKind
from cuekit.protocols.base import NotSignedIn, Sent
from tests.support import processes
from tests.support.model_server import Say, Shell
from tests.support.real_agents import RealAgent
from tests.support.recorder.codex_scripts import ESCALATED, SCENARIOS
from tests.support.recorder.plug import Place, Scenario
from tests.support.recorder.scenarios_codex import PLUG
from tests.support.recorder.stage import Stage
from tests.support.wait import wait_until

FULL_ACCESS = {"sandbox": "danger-full-access"}


def place_of(agent: RealAgent) -> Place:
    run_dir = agent.home.parent / "run"
    run_dir.mkdir(exist_ok=True)
    return Place(agent.binary, agent.home, agent.project, run_dir, agent.env, agent.model)


def play(
    agent: RealAgent, script: Callable[[Stage], Awaitable[None]], scenario: Scenario | None = None
) -> Stage:
    """Run a script on a stage with that agent, to the end of all its sessions."""
    stage = Stage(PLUG, place_of(agent), scenario or Scenario("test", script))

    async def whole() -> None:
        try:
            async with asyncio.timeout(110):
                await script(stage)
        finally:
            await stage.close()

    asyncio.run(whole())
    return stage


def commands(agent: RealAgent, words: str) -> list[str]:
    """The living processes of that agent whose command line holds some words."""
    found = []
    for pid in processes.marked(f"HOME={agent.home}"):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        text = line.replace(b"\0", b" ").decode("utf-8", "replace")
        if words in text:
            found.append(text)
    return found


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_recorded_scenario_goes_through(codex: RealAgent, scenario: Scenario) -> None:
    if scenario.versions and codex.version.version not in scenario.versions:
        return  # that version has no such tool
    config = codex.home / ".codex" / "config.toml"
    before = config.read_text(encoding="utf-8")

    play(codex, scenario.script, scenario)

    assert config.read_text(encoding="utf-8") == before
    # exec may leave the shell that notes the user's environment, for a moment
    wait_until(lambda: not codex.processes(), 10, codex.processes)


@pytest.mark.parametrize("sandbox", ["workspace-write", "danger-full-access"])
def test_an_interrupt_leaves_no_process_of_the_command(codex: RealAgent, sandbox: str) -> None:
    async def script(stage: Stage) -> None:
        ignores = "trap '' TERM HUP INT; setsid sleep 301 & echo begun; sleep 302; touch late.txt"
        stage.model.queue(Shell(ignores, {"yield_time_ms": 30000}))
        session = await stage.open(options={"sandbox": sandbox})
        await session.send("run it")
        for program in ("sleep 302 ", "sleep 301 "):  # not the shell that names them
            await asyncio.to_thread(wait_until, lambda it=program: it in commands(codex, it), 20)

        assert await session.interrupt()

        assert commands(codex, "sleep 30") == []
        assert await stage.turn(session, "go on") == "completed"

    stage = play(codex, script)
    assert stage.outcomes == ["interrupted", "completed"]
    assert not (codex.project / "late.txt").exists()
    assert codex.processes() == {}


MCP_SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = {}
        if message["method"] == "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "still-here", "version": "1"}
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        elif message["method"] == "tools/list":
            result = {"tools": []}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def test_an_interrupt_spares_the_users_mcp_servers(codex: RealAgent) -> None:
    program = codex.home / "still_here.py"
    program.write_text(MCP_SERVER, encoding="utf-8")
    with (codex.home / ".codex" / "config.toml").open("a", encoding="utf-8") as config:
        config.write(f'\n[mcp_servers.here]\ncommand = "{sys.executable}"\nargs = ["{program}"]\n')

    async def script(stage: Stage) -> None:
        stage.model.queue(Shell("echo begun; sleep 302", {"yield_time_ms": 30000}))
        session = await stage.open(options=FULL_ACCESS)
        await session.send("run it")
        await stage.until_kind(EventKind.TOOL_CALL_STARTED)
        await stage.until_line('"here"')
        assert await session.interrupt()
        assert len(commands(codex, "still_here.py")) == 1
        assert commands(codex, "sleep 302") == []

    play(codex, script)
    assert codex.processes() == {}


def test_messages_sent_at_a_turns_very_end_all_arrive_once(codex: RealAgent) -> None:
    texts = [f"message {number}" for number in range(30)]

    async def script(stage: Stage) -> None:
        session = await stage.open()
        for number, text in enumerate(texts):
            await session.send(text)
            await asyncio.sleep(0.004 * (number % 15))
        await stage.until(
            lambda: not session.busy and stage.count(EventKind.PROMPT_ACCEPTED) >= len(texts),
            "every message",
        )

    play(codex, script)
    said = "\n".join(codex.model.user_messages)
    assert [said.count(text + "\n") + said.endswith(text) for text in texts] == [1] * len(texts)


def test_a_server_killed_while_an_approval_waits_runs_nothing(codex: RealAgent) -> None:
    async def script(stage: Stage) -> None:
        stage.model.queue(Shell("touch made.txt", ESCALATED))
        session = await stage.open(options={"sandbox": "read-only"})
        await session.send("make the file")
        await stage.until_requests()
        pids = commands(codex, "app-server")
        assert pids
        processes.signal_marked(f"HOME={codex.home}", signal.SIGKILL)
        await stage.until_kind(EventKind.TURN_COMPLETED)
        assert await session.wait() == -9

    stage = play(codex, script)
    assert stage.outcomes == ["failed"]
    assert not (codex.project / "made.txt").exists()


def test_a_model_that_cannot_be_reached_fails_the_turn_in_time(codex: RealAgent) -> None:
    """0.171.0 would try again for ever; the others fail by themselves."""
    codex.model.close()

    async def script(stage: Stage) -> None:
        session = await stage.open(options={"stall_timeout_s": 2})
        assert await stage.turn(session, "hello") == "failed"
        assert not session.busy

    stage = play(codex, script)
    ended = next(e.values for e in stage.events if e.kind is EventKind.TURN_COMPLETED)
    assert ended["message"]


def test_nobody_signed_in_is_said_before_any_turn(codex: RealAgent) -> None:
    (codex.home / ".codex" / "config.toml").write_text("", encoding="utf-8")

    async def script(stage: Stage) -> None:
        with pytest.raises(NotSignedIn, match="codex login"):
            await stage.open()

    play(codex, script)
    assert codex.processes() == {}


def test_a_missing_key_of_a_provider_is_said_as_not_signed_in(codex: RealAgent) -> None:
    async def script(stage: Stage) -> None:
        environment = {k: v for k, v in codex.env.items() if k != "SCRIPTED_MODEL_KEY"}
        session = await stage.open(environment=environment)
        assert await stage.turn(session, "hello") == "failed"

    stage = play(codex, script)
    ended = next(e.values for e in stage.events if e.kind is EventKind.TURN_COMPLETED)
    assert ended["code"] == "not_signed_in"
    assert "SCRIPTED_MODEL_KEY" in ended["message"]


def test_setup_reaches_the_model(codex: RealAgent) -> None:
    """Instructions, output schema and a folder more to write to."""
    other = codex.home / "other"
    other.mkdir()
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
        "additionalProperties": False,
    }

    async def script(stage: Stage) -> None:
        stage.model.queue(Shell(f"touch {other}/made.txt"))
        session = await stage.open(
            append_system_prompt="Always whisper.", output_schema=schema, add_dirs=(str(other),)
        )
        assert await stage.turn(session, "hello") == "completed"

    play(codex, script)
    body = codex.model.turns[0].body
    assert "Always whisper." in str(body)
    assert body["text"]["format"]["schema"] == schema
    assert (other / "made.txt").exists()


def test_a_reason_that_comes_too_late_for_its_turn_opens_the_next_one(codex: RealAgent) -> None:
    async def script(stage: Stage) -> None:
        stage.model.queue(Shell("touch made.txt", ESCALATED))
        stage.model.queue(Say("I will not."))
        stage.decide(Decision(DecisionKind.DENY, message="use another name"))
        session = await stage.open(options={"sandbox": "read-only"})
        assert await session.send("make the file") is Sent.STARTED
        await stage.until(lambda: "use another name" in stage.model.user_messages, "the reason")
        await stage.until(lambda: not session.busy, "end")

    play(codex, script)
    assert codex.model.user_messages.count("use another name") == 1


EXEC = Scenario("exec", SCENARIOS[0].script, "exec", {"sandbox": "workspace-write"})


def test_exec_ended_from_outside_is_interrupted_whatever_its_exit_status(codex: RealAgent) -> None:
    """On SIGTERM 0.133.0 and 0.141.0 exit with 0."""

    async def script(stage: Stage) -> None:
        gate = stage.model.gate()
        stage.model.queue(Say("Working. "), gate)
        session = await stage.open()
        await session.send("go")
        await stage.reached(gate)
        processes.signal_marked(f"HOME={codex.home}", signal.SIGTERM)
        gate.release()
        await session.wait()

    stage = play(codex, script, EXEC)
    assert stage.outcomes == ["interrupted"]


def test_an_interrupt_of_exec_leaves_no_process(codex: RealAgent) -> None:
    async def script(stage: Stage) -> None:
        stage.model.queue(Shell("echo begun; sleep 302; touch late.txt"))
        session = await stage.open()
        await session.send("go")
        await asyncio.to_thread(wait_until, lambda: bool(commands(codex, "sleep 302")), 20)
        assert session.busy
        assert await session.interrupt()
        assert not session.busy

    stage = play(codex, script, EXEC)
    assert stage.outcomes == ["interrupted"]
    # codex's own probe of its sandbox may have begun in that moment; it ends with its parent
    wait_until(lambda: not codex.processes(), 10, codex.processes)
    assert not (codex.project / "late.txt").exists()


def test_exec_gets_prompt_instructions_and_schema_as_they_are(codex: RealAgent) -> None:
    prompt = "-first line\nsecond line; done"
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
        "additionalProperties": False,
    }

    async def script(stage: Stage) -> None:
        words = 'Always "whisper".\nNever shout.'
        session = await stage.open(append_system_prompt=words, output_schema=schema)
        await session.send(prompt)
        await session.wait()
        with pytest.raises(CuekitError, match="one prompt"):
            await session.send("more")

    stage = play(codex, script, EXEC)
    assert stage.outcomes == ["completed"]
    assert codex.model.user_messages == [prompt]
    body = codex.model.turns[0].body
    assert body["text"]["format"]["schema"] == schema
    assert 'Always \\"whisper\\".\\nNever shout.' in json.dumps(body)


def test_exec_that_cannot_begin_says_why_in_codexs_words(codex: RealAgent) -> None:
    scenario = dataclasses.replace(EXEC, arguments=("-c", "approval_policy=5"))

    async def script(stage: Stage) -> None:
        session = await stage.open()
        await session.send("go")
        await session.wait()

    stage = play(codex, script, scenario)
    (error,) = [event.values for event in stage.events if event.kind is EventKind.ERROR]
    assert "approval_policy" in error["message"] or "Error" in error["message"]
