"""A home, a project and a tmux server of the benchmarks' own."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

WAIT_LIMIT_S = 30
LIFE_S = 1.5
"""Seconds that a child lives whose end is waited for; by then the waiting has long begun."""

FILL = """
import sqlite3, sys
from cuekit.paths import Home
from cuekit.service.lookup import session_of
from cuekit.store import tasks
from cuekit.store.db import open_store

root, project, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
db = open_store(Home(root))
tasks.insert(db, {
    "task_id": "t_00000000", "agent_kind": "codex", "mode": "interactive", "cwd": project,
    "task_dir": project, "session_id": session_of(project), "spec": {"objective": "tidy up"},
    "summary": "all is tidy now",
})
tasks.move(db, "t_00000000", "running")
tasks.move(db, "t_00000000", "completed", {"exit_code": 0})
columns = [row[1] for row in db.execute("PRAGMA table_info(task)")]
others = ", ".join(name for name in columns if name not in ("task_id", "created_at"))
db.execute("BEGIN IMMEDIATE")
db.execute(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ? - 1) "
    f"INSERT INTO task (task_id, created_at, {others}) "
    f"SELECT printf('t_%08d', i), created_at - i, {others} FROM task, n", (count,))
db.execute("COMMIT")
db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
"""


class Place:
    """Where measured commands run; nothing of the user's is read or changed."""

    def __init__(self, folder: Path, socket: str | None = None) -> None:
        folder.mkdir()
        self.project = folder / "project"
        self.project.mkdir()
        self.home = folder / "home"
        self.socket = socket or str(folder / "tmux")
        self.cuekit = str(Path(sys.executable).parent / "cuekit")
        inherited = ("TMUX", "TMUX_PANE", "CUEKIT_TASK_ID", "PYTHONDONTWRITEBYTECODE")
        self.environ = {
            **{name: value for name, value in os.environ.items() if name not in inherited},
            "HOME": str(folder),
            "CUEKIT_HOME": str(self.home),
            "CUEKIT_TMUX_SOCKET": self.socket,
        }

    @classmethod
    def without_tasks(cls, beside: "Place") -> "Place":
        """A place on the same tmux server whose store stays empty."""
        return cls(beside.project.parent / "none", beside.socket)

    def fill(self, count: int) -> None:
        """Store so many ended tasks of this project."""
        self._run(sys.executable, "-c", FILL, str(self.home), str(self.project), str(count))

    def submit(self, command_line: str) -> str:
        """Start a shell task; its id."""
        arguments = ("task", "submit", "--agent-kind", "shell", "--format", "json")
        task_id: str = json.loads(self._run(self.cuekit, *arguments, command_line))["task_id"]
        return task_id

    def steer_pause_s(self) -> float:
        """The pause between text and Enter that the shell agent's own plan asks for."""
        code = (
            "from cuekit.activity import registry, none\n"
            "plan = (registry.get('shell') or none).steer_plan('some words', None)\n"
            "print(plan.enter_delay_s + plan.pause_s * (len(plan.pieces) - 1))\n"
        )
        return float(self._run(sys.executable, "-c", code))

    def supervisor_mib(self) -> float:
        """What the supervisor of a running task keeps in memory."""
        task_id = self.submit("cat")
        with closing(sqlite3.connect(self.home / "state.db")) as db:
            query = "SELECT supervisor FROM task WHERE task_id = ?"
            deadline = time.monotonic() + WAIT_LIMIT_S
            while not (found := db.execute(query, (task_id,)).fetchone()[0]):
                if time.monotonic() > deadline:
                    raise TimeoutError("the store names no supervisor")
                time.sleep(0.05)
        pid = json.loads(found)["pid"]
        status = Path(f"/proc/{pid}/status")
        if status.exists():
            return int(status.read_text().partition("VmRSS:")[2].split()[0]) / 1024
        return int(self._run("ps", "-o", "rss=", "-p", str(pid))) / 1024

    def wait_latency_s(self) -> float:
        """From the child's end to the end of a `task wait` that was under way."""
        ended = self.project / "ended"
        task_id = self.submit(f"sleep {LIFE_S}; date +%s.%N > ended")
        waiting = [self.cuekit, "task", "wait", task_id, "--until", "terminal"]
        self._run(*waiting)
        latency = time.time() - float(ended.read_text())
        ended.unlink()
        return latency

    def close(self) -> None:
        """End every task of the place, and its tmux server."""
        if (self.home / "state.db").exists() and Path(self.socket).exists():
            listed = json.loads(self._run(self.cuekit, "task", "list", "--format", "json"))
            live = [t["task_id"] for t in listed["tasks"] if t["completed_at"] is None]
            if live:
                self._run(self.cuekit, "task", "cancel", *live)
            command = ["tmux", "-S", self.socket, "kill-server"]
            subprocess.run(command, capture_output=True, timeout=WAIT_LIMIT_S, check=False)

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            command,
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return done.stdout
