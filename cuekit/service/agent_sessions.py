"""Where agents keep their conversations: whether one is still there, and which a task's was.

Read alone, never written. The places are those of codex 0.133 to 0.171, claude 2.1.167 to 2.1.332,
gemini 0.61.0, grok 1.0.41 and opencode 1.18.33; the environment is that of the caller, in which
the agent would be started again.
"""

import glob
import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing

from cuekit.agents import registry
from cuekit.model.task import TaskSpec
from cuekit.store import tasks
from cuekit.store.tasks import Task

BUSY_MS = 500
MOST = 200
"""Conversations of one folder and one task's time that are looked through."""

OWN_COMMANDS: Mapping[str, str] = {
    "codex": "codex resume",
    "claude-code": "claude --resume",
    "gemini": "gemini --list-sessions, then gemini --resume UUID",
    "opencode": "opencode session list, then opencode --session ID",
    "grok": "grok --resume",
}
"""With which a person finds a conversation that cuekit does not know."""

_OPENCODE = """
SELECT DISTINCT session.id, part.data FROM session
JOIN message ON message.session_id = session.id AND json_extract(message.data, '$.role') = 'user'
JOIN part ON part.message_id = message.id AND json_extract(part.data, '$.type') = 'text'
WHERE session.parent_id IS NULL AND session.directory IN (?, ?)
AND session.time_created BETWEEN ? AND ? ORDER BY session.time_created LIMIT ?
"""


def known(db: sqlite3.Connection, task: Task, environ: Mapping[str, str]) -> str | None:
    """The agent's own id of a task's conversation; None when it cannot be known.

    Where no launch and no event told it, it is looked for among the agent's own conversations,
    and remembered. One is taken only if it alone fits: there is no guess between two.
    """
    if task.agent_session_id is not None or task.agent_kind != "opencode":
        return task.agent_session_id
    found = _of_opencode(task, environ)
    if len(found) != 1:
        return None
    (session,) = found
    tasks.update(db, task.task_id, {"agent_session_id": session})
    return session


def is_there(kind: str, session: str, environ: Mapping[str, str]) -> bool | None:
    """Whether the agent still has a conversation; None when that cannot be told."""
    if kind == "opencode":
        return _opencode_has(session, environ)
    places = _places(kind, glob.escape(session), environ)
    if not places or not any(os.path.isdir(folder) for folder, _ in places):
        return None
    return any(
        next(glob.iglob(os.path.join(glob.escape(folder), pattern)), None) is not None
        for folder, pattern in places
    )


def _places(kind: str, session: str, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Folders, and in each the pattern of the file or folder that is the conversation."""
    user = environ.get("HOME", "/")

    def base(variable: str, default: str) -> str:
        return environ.get(variable) or os.path.join(user, default)

    match kind:
        case "codex":
            folder = base("CODEX_HOME", ".codex")
            return [
                (os.path.join(folder, "sessions"), f"*/*/*/rollout-*-{session}.jsonl*"),
                (os.path.join(folder, "archived_sessions"), f"rollout-*-{session}.jsonl*"),
            ]
        case "claude-code":
            folder = base("CLAUDE_CONFIG_DIR", ".claude")
            return [(os.path.join(folder, "projects"), f"*/{session}.jsonl")]
        case "gemini":
            folder = os.path.join(environ.get("GEMINI_CLI_HOME") or user, ".gemini", "tmp")
            # a name holds the first part of the id alone
            return [(folder, f"*/chats/session-*-{session.partition('-')[0]}.json*")]
        case "grok":
            return [(os.path.join(base("GROK_HOME", ".grok"), "sessions"), f"*/{session}")]
    return []


def _opencode_database(environ: Mapping[str, str]) -> str:
    data = environ.get("XDG_DATA_HOME") or os.path.join(environ.get("HOME", "/"), ".local/share")
    # a file that the user names lies in the same folder, unless its name is absolute
    return os.path.join(data, "opencode", environ.get("OPENCODE_DB") or "opencode.db")


def _opencode_has(session: str, environ: Mapping[str, str]) -> bool | None:
    try:
        with closing(_reading(_opencode_database(environ))) as db:
            rows = db.execute("SELECT 1 FROM session WHERE id = ?", (session,)).fetchall()
    except sqlite3.Error:
        return None
    return bool(rows)


def _of_opencode(task: Task, environ: Mapping[str, str]) -> set[str]:
    """The conversations that were begun here while the task ran and that hold its prompt."""
    names = {field: value for field, value in task.spec.items() if field in _FIELDS}
    prompt = registry.get(task.agent_kind).prompt_text(TaskSpec(**names)).strip()
    last = task.completed_at or 1e11
    times = (int(task.created_at * 1000), int((last + 1) * 1000))
    place = (task.cwd, os.path.realpath(task.cwd))
    try:
        with closing(_reading(_opencode_database(environ))) as db:
            rows = db.execute(_OPENCODE, (*place, *times, MOST)).fetchall()
    except sqlite3.Error:
        return set()
    return {str(session) for session, part in rows if _text_of(part).strip() == prompt}


_FIELDS = frozenset(TaskSpec.__dataclass_fields__)


def _text_of(part: object) -> str:
    import json

    try:
        text = json.loads(str(part)).get("text")
    except (ValueError, AttributeError):
        return ""
    return text if isinstance(text, str) else ""


def _reading(path: str) -> sqlite3.Connection:
    """A connection that cannot change what is in the file."""
    from urllib.parse import quote

    db = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=BUSY_MS / 1000)
    db.execute("PRAGMA query_only = 1")
    return db
