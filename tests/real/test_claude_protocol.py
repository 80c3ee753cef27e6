"""`claude -p` in stream-json for real, both approval channels and batch: every scenario, and what
recordings cannot show."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from cuekit.errors import CuekitError
from cuekit.model.approval import DecisionKind
from cuekit.model.event import EventKind
from cuekit.protocols import claude_batch, claude_stream
from cuekit.protocols.base import Sent
from cuekit.protocols.claude_permission import Decide, PermissionEndpoint
from cuekit.protocols.claude_stream import ClaudeStream
from cuekit.wire.process import Tap
from tests.support import processes
from tests.support.model_server import HttpError, Say, Shell
from tests.support.real_agents import RealAgent
from tests.support.recorder.claude_scripts import BATCH, MCP, SCENARIOS
from tests.support.recorder.plug import Place, Scenario
from tests.support.recorder.scenarios_claude import PLUG
from tests.support.recorder.stage import Stage
from tests.support.wait import wait_until

CHANNELS = pytest.mark.parametrize("channel", ["stdio", "mcp"])


def place_of(agent: RealAgent) -> Place:
    run_dir = agent.home.parent / "run"
    run_dir.mkdir(mode=0o700, exist_ok=True)
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
    return [line for line in processes.marked(f"HOME={agent.home}").values() if words in line]


def runs(agent: RealAgent, command: str) -> bool:
    """Whether exactly that command lives, and not only a shell that names it."""
    return command in processes.marked(f"HOME={agent.home}").values()


def run_files(agent: RealAgent) -> list[Path]:
    return sorted(place_of(agent).run_dir.iterdir())


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_recorded_scenario_goes_through(claude: RealAgent, scenario: Scenario) -> None:
    play(claude, scenario.script, scenario)

    assert claude.processes() == {}
    assert run_files(claude) == []
    assert not (claude.project / ".claude").exists()


@CHANNELS
def test_an_interrupt_leaves_no_process_of_the_command(claude: RealAgent, channel: str) -> None:
    async def script(stage: Stage) -> None:
        ignores = "trap '' TERM HUP INT; setsid sleep 301 & sleep 302; touch late.txt"
        stage.model.queue(Shell(ignores))
        stage.decide(DecisionKind.ALLOW)
        session = await stage.open(options={"approval_channel": channel})
        await session.send("run it")
        for words in ("sleep 301", "sleep 302"):
            await asyncio.to_thread(wait_until, partial(runs, claude, words), 20)

        assert await session.interrupt()

        assert commands(claude, "sleep 30") == []
        assert await stage.turn(session, "go on") == "completed"

    stage = play(claude, script)
    assert stage.outcomes == ["interrupted", "completed"]
    assert not (claude.project / "late.txt").exists()
    assert claude.processes() == {}


def test_a_session_that_is_closed_in_mid_turn_leaves_nothing(claude: RealAgent) -> None:
    async def script(stage: Stage) -> None:
        stage.model.queue(Shell("setsid sleep 301 & sleep 302"))
        stage.decide(DecisionKind.ALLOW)
        session = await stage.open()
        await session.send("run it")
        await asyncio.to_thread(wait_until, partial(runs, claude, "sleep 302"), 20)
        await session.close()

    stage = play(claude, script)
    assert stage.outcomes == ["interrupted"]
    assert claude.processes() == {}


@CHANNELS
def test_claude_killed_while_an_approval_waits_runs_nothing(
    claude: RealAgent, channel: str
) -> None:
    async def script(stage: Stage) -> None:
        stage.model.queue(Shell("touch made.txt"))
        session = await stage.open(options={"approval_channel": channel})
        await session.send("make the file")
        await stage.until_requests()
        processes.signal_marked(f"HOME={claude.home}", signal.SIGKILL)
        await stage.until_kind(EventKind.TURN_COMPLETED)
        assert await session.wait() == -9
        with pytest.raises(CuekitError):
            await session.send("go on")

    stage = play(claude, script)
    assert stage.outcomes == ["failed"]
    assert stage.ended == ["abandoned"]
    assert not (claude.project / "made.txt").exists()


@CHANNELS
def test_an_interrupt_takes_an_open_approval_back(claude: RealAgent, channel: str) -> None:
    async def script(stage: Stage) -> None:
        stage.model.queue(Shell("touch made.txt"))
        session = await stage.open(options={"approval_channel": channel})
        await session.send("make the file")
        await stage.until_requests()
        assert await session.interrupt()
        await stage.until(lambda: bool(stage.ended), "end of the request")

    assert play(claude, script).ended == ["withdrawn"]


def test_a_steer_with_a_slash_or_line_separators_arrives_as_text(claude: RealAgent) -> None:
    texts = ["/help me", "two\nlines\n\nand \u2028 more \u2029 \U0001f600", "-x; $HOME `id` \\"]

    async def script(stage: Stage) -> None:
        session = await stage.open()
        for text in texts:
            assert await stage.turn(session, text) == "completed"
        accepted = [e.values["text"] for e in stage.events if e.kind is EventKind.PROMPT_ACCEPTED]
        assert accepted == texts

    play(claude, script)
    assert claude.model.user_messages == [" /help me", *texts[1:]]


def test_messages_sent_at_a_turns_very_end_all_arrive_once(claude: RealAgent) -> None:
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
        assert stage.count(EventKind.TURN_STARTED) == stage.count(EventKind.TURN_COMPLETED)

    play(claude, script)
    said = "\n".join(claude.model.user_messages)
    assert [said.count(text + "\n") + said.endswith(text) for text in texts] == [1] * len(texts)


def test_setup_reaches_the_model(claude: RealAgent) -> None:
    """Instructions, model, output schema and a folder more to write to."""
    other = claude.home / "other"
    other.mkdir()
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
        "additionalProperties": False,
    }

    async def script(stage: Stage) -> None:
        session = await stage.open(
            append_system_prompt="Always whisper.",
            output_schema=schema,
            add_dirs=(str(other),),
            model="claude-sonnet-4-5",
        )
        assert await session.send("hello") is Sent.STARTED
        await stage.until_kind(EventKind.TURN_COMPLETED)

    play(claude, script)
    body = claude.model.turns[0].body
    assert "Always whisper." in json.dumps(body["system"])
    assert body["model"] == "claude-sonnet-4-5"
    assert str(other) in json.dumps(body)
    assert '"answer"' in json.dumps(body["tools"])


def test_an_unknown_conversation_is_said_at_the_start(claude: RealAgent) -> None:
    async def script(stage: Stage) -> None:
        with pytest.raises(CuekitError, match="No conversation found") as failed:
            await stage.open(resume="00000000-0000-4000-8000-000000000000")
        assert failed.value.code == "session_not_found"

    play(claude, script)
    assert claude.processes() == {}


def test_nobody_signed_in_fails_the_first_turn_and_says_what_to_do(claude: RealAgent) -> None:
    async def script(stage: Stage) -> None:
        environment = {k: v for k, v in claude.env.items() if k != "ANTHROPIC_API_KEY"}
        session = await stage.open(environment=environment)
        assert await stage.turn(session, "hello") == "failed"

    ended = play(claude, script).events[-1].values
    assert ended["code"] == "not_signed_in"
    assert "/login" in ended["message"]


def test_a_flag_that_claude_does_not_know_is_said_at_the_start(claude: RealAgent) -> None:
    async def script(stage: Stage) -> None:
        with pytest.raises(CuekitError, match="no-such-flag") as failed:
            await stage.open(argv=(str(claude.binary), "--no-such-flag"))
        assert failed.value.code == "agent_not_started"

    play(claude, script)


def test_a_wrong_token_ends_the_session_before_any_turn(
    claude: RealAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Left alone, claude would go on, and die at the first call that needs the channel."""
    monkeypatch.setattr(claude_stream, "CONNECT_SECONDS", 3.0)

    class WrongToken(PermissionEndpoint):
        async def start(self) -> None:
            await super().start()
            path = Path(self.config_file)
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace("Bearer ", "Bearer x"), encoding="utf-8")

    monkeypatch.setattr(claude_stream, "PermissionEndpoint", WrongToken)

    async def script(stage: Stage) -> None:
        with pytest.raises(CuekitError, match="did not connect") as failed:
            await stage.open(options=MCP)
        assert failed.value.code == "approval_channel_failed"

    play(claude, script)
    assert claude.processes() == {}
    assert run_files(claude) == []


def test_a_channel_that_init_says_is_lost_fails_the_turn_at_once(
    claude: RealAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent(PermissionEndpoint):
        async def start(self) -> None:
            await super().start()
            await self._server.close()

        async def wait_connected(self, seconds: float) -> None:
            pass

    monkeypatch.setattr(claude_stream, "PermissionEndpoint", Silent)

    async def script(stage: Stage) -> None:
        session = await stage.open(options=MCP)
        assert await stage.turn(session, "hello") == "failed"
        await session.wait()

    stage = play(claude, script)
    ended = next(e.values for e in stage.events if e.kind is EventKind.TURN_COMPLETED)
    assert ended["code"] == "approval_channel_failed"


def test_the_token_is_private_and_gone_with_the_session(claude: RealAgent) -> None:
    async def script(stage: Stage) -> None:
        session = await stage.open(options=MCP)
        (config,) = run_files(claude)
        assert config.stat().st_mode & 0o777 == 0o600
        headers = json.loads(config.read_text(encoding="utf-8"))["mcpServers"]["cuekit"]["headers"]
        token = headers["Authorization"].removeprefix("Bearer ")
        assert [line for line in claude.processes().values() if token in line] == []
        assert await stage.turn(session, "hello") == "completed"
        assert not [line for _, line in stage.lines if token.encode() in line]

    play(claude, script)
    assert run_files(claude) == []


def test_an_answer_after_many_progress_notes_still_counts(
    claude: RealAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Brisk(PermissionEndpoint):
        def __init__(self, run_dir: str, decide: Decide, *, tap: Tap | None = None) -> None:
            super().__init__(run_dir, decide, tap=tap, progress_seconds=0.05)

    monkeypatch.setattr(claude_stream, "PermissionEndpoint", Brisk)

    async def script(stage: Stage) -> None:
        stage.model.queue(Shell("touch made.txt"))
        session = await stage.open(options=MCP)
        await session.send("make the file")
        await stage.until_requests()
        await asyncio.sleep(1.5)
        stage.decide(DecisionKind.ALLOW)
        await stage.until_kind(EventKind.TURN_COMPLETED)

    assert play(claude, script).outcomes == ["completed"]
    assert (claude.project / "made.txt").exists()


def test_a_batch_runs_one_prompt_and_tells_its_outcome(claude: RealAgent) -> None:
    claude.model.queue(Say("Hello there."))
    outcomes = []

    async def script(stage: Stage) -> None:
        outcomes.append(await claude_batch.run(stage.setup(), "say hello", stage.links))

    stage = play(claude, script)
    (outcome,) = outcomes
    started = next(e.values for e in stage.events if e.kind is EventKind.SESSION_STARTED)
    assert outcome == claude_batch.BatchOutcome(
        "completed", 0, agent_session_id=started["agent_session_id"]
    )
    assert claude.model.user_messages == ["say hello"]


def test_a_batch_that_fails_says_why(claude: RealAgent) -> None:
    claude.model.default(HttpError(400, "not acceptable"))
    outcomes = []

    async def script(stage: Stage) -> None:
        outcomes.append(await claude_batch.run(stage.setup(), "say hello", stage.links))

    play(claude, script)
    assert (outcomes[0].outcome, outcomes[0].exit_status) == ("failed", 1)
    assert "not acceptable" in (outcomes[0].message or "")


def test_a_batch_takes_a_prompt_longer_than_an_argument(claude: RealAgent) -> None:
    prompt = "x" * 300_000

    async def script(stage: Stage) -> None:
        session = await stage.open()
        assert await stage.turn(session, prompt) == "completed"
        assert await session.wait() == 0

    play(claude, script, Scenario("test", script, BATCH))
    assert claude.model.user_messages == [prompt]


def test_a_batch_that_is_interrupted_leaves_nothing(claude: RealAgent) -> None:
    async def script(stage: Stage) -> None:
        stage.model.queue(Shell("setsid sleep 301 & sleep 302"))
        session = await stage.open()
        await session.send("run it")
        await asyncio.to_thread(wait_until, partial(runs, claude, "sleep 302"), 20)
        assert await session.interrupt()

    stage = play(claude, script, Scenario("test", script, BATCH))
    assert stage.outcomes == ["interrupted"]
    assert claude.processes() == {}


def test_control_requests_that_claude_refuses_are_said(claude: RealAgent) -> None:
    async def script(stage: Stage) -> None:
        session = await stage.open()
        assert isinstance(session, ClaudeStream)
        with pytest.raises(CuekitError, match="Unsupported control request"):
            await session.control({"subtype": "nonsense"})
        assert await stage.turn(session, "hello") == "completed"

    play(claude, script)
