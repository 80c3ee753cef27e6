"""A place where tasks can be started: a project, a home folder, a tmux server of the test's own."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cuekit.launch import transcript
from cuekit.paths import Home
from cuekit.service import cancel as ending
from cuekit.service import lookup
from cuekit.service.request import SubmitRequest
from cuekit.service.status import status
from cuekit.service.submit import submit
from cuekit.store import tasks
from cuekit.store.tasks import Task
from tests.support.tmux import TmuxServer
from tests.support.wait import wait_until


class Workplace:
    """Submits and looks at tasks through the services, as the command line does."""

    def __init__(self, root: Path, server: TmuxServer) -> None:
        self.root = root
        self.server = server
        self.project = root / "project"
        self.home = Home(str(root / "cuekit home"))
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(root / "user"),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "CUEKIT_HOME": self.home.root,
            "CUEKIT_TMUX_SOCKET": str(server.socket),
        }
        for folder in (self.project, root / "user"):
            folder.mkdir(parents=True)

    def submit(self, objective: str, **values: Any) -> str:
        """Start a shell task in the project; its id."""
        request = SubmitRequest(
            **{
                "objective": objective,
                "agent_kind": "shell",
                "cwd": str(self.project),
                **values,
            }
        )
        return str(submit(request, self.env)["task_id"])

    def command(self, *words: str) -> subprocess.Popen[str]:
        """Start the real command line."""
        return subprocess.Popen(
            [sys.executable, "-m", "cuekit", *words],
            env=self.env,
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def status(self, task_id: str) -> dict[str, Any]:
        """The status view."""
        return status([task_id], self.env)[0]

    def cancel(self, *task_ids: str) -> list[dict[str, Any]]:
        """Cancel tasks; their status views."""
        return ending.cancel(task_ids, self.env)

    def task(self, task_id: str) -> Task:
        """The row as it is stored, without settling anything first."""
        with closing(sqlite3.connect(self.home.database, timeout=10)) as db:
            db.row_factory = sqlite3.Row
            row = tasks.get(db, task_id)
        assert row is not None
        return row

    def tasks(self) -> list[Task]:
        """Every task, after the settling that each command does first."""
        with lookup.settled_store(self.env) as (_, db):
            ids = [row[0] for row in db.execute("SELECT task_id FROM task ORDER BY created_at")]
            return [task for task in (tasks.get(db, one) for one in ids) if task is not None]

    def ended(self, task_id: str, seconds: float = 20.0) -> Task:
        """The row once the task has ended by itself."""
        wait_until(lambda: self.task(task_id).ended, seconds, lambda: str(self.task(task_id)))
        return self.task(task_id)

    def transcript(self, task_id: str) -> bytes:
        """The bytes of the pane, once its writer is done."""
        assert transcript.wait_written(self.home.run(task_id), 20)
        return Path(self.task(task_id).task_dir, "transcript.txt").read_bytes()

    def transcript_now(self, task_id: str) -> bytes:
        """The bytes of the pane so far."""
        path = Path(self.task(task_id).task_dir, "transcript.txt")
        return path.read_bytes() if path.exists() else b""

    def carriers(self, task_id: str) -> list[int]:
        """Every live process that has the task's id in its environment."""
        found = []
        mark = f"CUEKIT_TASK_ID={task_id}".encode()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def close(self) -> None:
        """End what is left."""
        deadline = time.monotonic() + 20
        for task in self.tasks() if os.path.exists(self.home.database) else []:
            if not task.ended and time.monotonic() < deadline:
                self.cancel(task.task_id)


@pytest.fixture
def workplace(tmp_path: Path, tmux_server: TmuxServer) -> Iterator[Workplace]:
    """A fresh workplace; its tasks are cancelled at the end."""
    place = Workplace(tmp_path / "it's a; #{x} %H place", tmux_server)
    try:
        yield place
    finally:
        place.close()
