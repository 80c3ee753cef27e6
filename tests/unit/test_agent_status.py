"""The supervisor's reading of an agent's own state file, with real files and claude's form."""

import json
import time
from pathlib import Path

import pytest

from cuekit.activity import claude_code
from cuekit.launch.agent_status import PATIENCE_S, AgentStatus
from cuekit.model.activity import Activity, Progress, Signal, SignalKind, Source

BEGAN = Progress(Activity.WORKING, since=1000.0, source=Source.HOOK, turn=1)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "sessions").mkdir()
    return tmp_path


def write(config: Path, pid: int, session: str, status: str, at: float) -> None:
    state = {"pid": pid, "sessionId": session, "status": status, "statusUpdatedAt": at * 1000}
    (config / "sessions" / f"{pid}.json").write_text(json.dumps(state), encoding="utf-8")


def follower(config: Path) -> AgentStatus:
    status = AgentStatus(claude_code)
    status.follow(f"{config}/projects/-x/s1.jsonl", "s1")
    return status


def heard(status: AgentStatus, progress: Progress) -> list[Signal]:
    """What it tells when asked again and again for longer than it waits."""
    start = time.time()
    return [
        signal for step in range(4) for signal in status.news(progress, start + step * PATIENCE_S)
    ][:1]


def test_the_right_session_at_rest_is_told_once_it_has_lasted(config: Path) -> None:
    write(config, 5, "another", "busy", 1002.0)
    write(config, 7, "s1", "idle", 1002.0)
    status = follower(config)
    assert status.news(BEGAN, 2000.0) == []
    assert heard(status, BEGAN) == [Signal(SignalKind.AT_REST, Source.SESSION_LOG, 1002.0)]


def test_a_state_from_before_the_turn_says_nothing(config: Path) -> None:
    write(config, 7, "s1", "idle", 999.0)
    assert heard(follower(config), BEGAN) == []


def test_what_is_known_already_is_not_told(config: Path) -> None:
    write(config, 7, "s1", "busy", 1002.0)
    assert heard(follower(config), BEGAN) == []


def test_a_broken_state_file_says_nothing(config: Path) -> None:
    (config / "sessions" / "7.json").write_text("{", encoding="utf-8")
    (config / "sessions" / "8.json").mkdir()
    assert heard(follower(config), BEGAN) == []


def test_an_agent_without_such_a_file_says_nothing() -> None:
    status = AgentStatus(object())
    status.follow("/x/projects/y/z.jsonl", "s1")
    assert heard(status, BEGAN) == []
