"""Where agents keep their conversations, and which one was a task's."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cuekit.paths import Home
from cuekit.service import agent_sessions
from cuekit.store import db as store
from cuekit.store import tasks

ID = "01a22f73-c4cf-4b13-8d75-01416ac25a6f"
PLACES = {
    "codex": f".codex/sessions/2026/03/01/rollout-2026-03-01T10-00-00-{ID}.jsonl",
    "claude-code": f".claude/projects/-home-ann-project/{ID}.jsonl",
    "gemini": ".gemini/tmp/project/chats/session-2026-03-01T10-00-01a22f73.jsonl",
    "grok": f".grok/sessions/%2Fhome%2Fann%2Fproject/{ID}/summary.json",
}


@pytest.mark.parametrize("kind", PLACES)
def test_a_conversation_is_there_gone_or_cannot_be_told(kind: str, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    file = tmp_path / PLACES[kind]
    assert agent_sessions.is_there(kind, ID, environ) is None
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    assert agent_sessions.is_there(kind, ID, environ) is True
    assert agent_sessions.is_there(kind, ID.replace("01a2", "02b3"), environ) is False
    assert agent_sessions.is_there(kind, "*", environ) is False  # no pattern of ours


def test_an_agent_whose_place_is_not_known_cannot_be_told(tmp_path: Path) -> None:
    assert agent_sessions.is_there("pi", ID, {"HOME": str(tmp_path)}) is None


class Opencode:
    """opencode's own database, as far as it is read."""

    def __init__(self, user: Path) -> None:
        path = user / ".local" / "share" / "opencode" / "opencode.db"
        path.parent.mkdir(parents=True)
        self.db = sqlite3.connect(path)
        self.db.executescript(
            "PRAGMA journal_mode = WAL;"
            "CREATE TABLE session (id, parent_id, directory, time_created);"
            "CREATE TABLE message (id, session_id, data);"
            "CREATE TABLE part (id, message_id, session_id, data);"
        )

    def add(
        self,
        session: str,
        text: str,
        folder: str = "/home/ann/project",
        at: float | None = None,
        parent: str | None = None,
        role: str = "user",
    ) -> None:
        created = int((time.time() if at is None else at) * 1000)
        message = f"msg_{session}"
        part = json.dumps({"type": "text", "text": text})
        with self.db:
            values = (session, parent, folder, created)
            self.db.execute("INSERT INTO session VALUES (?, ?, ?, ?)", values)
            data = json.dumps({"role": role})
            self.db.execute("INSERT INTO message VALUES (?, ?, ?)", (message, session, data))
            self.db.execute("INSERT INTO part VALUES (?, ?, ?, ?)", ("p", message, session, part))


@pytest.fixture
def opencode(tmp_path: Path) -> Opencode:
    return Opencode(tmp_path)


@pytest.fixture
def known(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(store.open_store(Home(str(tmp_path / "ck")))) as db:
        tasks.insert(
            db,
            {
                "task_id": "t_opencode",
                "agent_kind": "opencode",
                "mode": "batch",
                "cwd": "/home/ann/project",
                "task_dir": "/none",
                "session_id": "s_00000000",
                "spec": {"agent_kind": "opencode", "objective": "fix it", "added_later": 1},
            },
        )
        yield db


def asked(db: sqlite3.Connection, user: Path) -> str | None:
    task = tasks.get(db, "t_opencode")
    assert task is not None
    return agent_sessions.known(db, task, {"HOME": str(user)})


def test_the_one_that_holds_the_prompt_is_found_and_remembered(
    opencode: Opencode, known: sqlite3.Connection, tmp_path: Path
) -> None:
    opencode.add("ses_ours", "fix it\n")
    opencode.add("ses_other", "something else")
    opencode.add("ses_answer", "fix it", role="assistant")
    opencode.add("ses_before", "fix it", at=time.time() - 3600)
    opencode.add("ses_elsewhere", "fix it", folder="/home/ann/other")
    opencode.add("ses_sub", "fix it", parent="ses_ours")
    assert asked(known, tmp_path) == "ses_ours"
    task = tasks.get(known, "t_opencode")
    assert task is not None
    assert task.agent_session_id == "ses_ours"
    environ = {"HOME": str(tmp_path)}
    assert agent_sessions.is_there("opencode", "ses_ours", environ) is True
    assert agent_sessions.is_there("opencode", "ses_gone", environ) is False


def test_between_two_that_fit_there_is_no_guess(
    opencode: Opencode, known: sqlite3.Connection, tmp_path: Path
) -> None:
    opencode.add("ses_one", "fix it")
    opencode.add("ses_two", "fix it")
    assert asked(known, tmp_path) is None


def test_a_database_that_is_missing_or_broken_tells_nothing(
    known: sqlite3.Connection, tmp_path: Path
) -> None:
    environ = {"HOME": str(tmp_path)}
    assert asked(known, tmp_path) is None
    assert agent_sessions.is_there("opencode", "ses_ours", environ) is None
    place = tmp_path / ".local" / "share" / "opencode" / "opencode.db"
    assert not place.exists()
    place.parent.mkdir(parents=True)
    place.write_text("not a database, but long enough to be read as one" * 100)
    assert asked(known, tmp_path) is None
    assert agent_sessions.is_there("opencode", "ses_ours", environ) is None
