"""The real command line in a place of its own, over tasks that are put into the store by hand.

Tests of what a command prints need tasks in a known state, not tasks that ran.
"""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cuekit.model.lifecycle import Status
from cuekit.paths import Home
from cuekit.service import lookup
from cuekit.store import db, tasks


class CommandLine:
    """`cuekit` in a project folder, with a home of its own and no tmux server."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.home = Home(str(root / "home"))
        self.user = root / "user"
        for folder in (self.project, self.user):
            folder.mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.user),
            "LANG": "C.UTF-8",
            "CUEKIT_HOME": self.home.root,
            "CUEKIT_TMUX_SOCKET": str(root / "no-server"),
        }

    def run(
        self, *words: str, given: bytes = b"", env: dict[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command; no traceback is ever on the screen."""
        done = subprocess.run(
            [sys.executable, "-m", "cuekit", *words],
            env={**self.env, **(env or {})},
            cwd=self.project,
            input=given,
            capture_output=True,
            timeout=60,
        )
        out, errors = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
        assert "Traceback" not in errors
        return subprocess.CompletedProcess(done.args, done.returncode, out, errors)

    def out(self, *words: str) -> str:
        """The standard output of a command that must succeed."""
        done = self.run(*words)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def json(self, *words: str) -> Any:
        """The JSON of a command that must succeed."""
        return json.loads(self.out(*words, "--format", "json"))

    def error(self, *words: str, given: bytes = b"") -> tuple[int, str]:
        """Exit status and error code of a command that must fail, in JSON and in text alike."""
        as_json = self.run(*words, "--format", "json", given=given)
        as_text = self.run(*words, given=given)
        value = json.loads(as_json.stderr)
        assert set(value) == {"error"}
        error = value["error"]
        assert set(error) == {"code", "message", "hint", "retryable", "details"}
        assert (as_json.stdout, as_text.stdout) == ("", "")
        first, *rest = as_text.stderr.splitlines()
        assert first == f"cuekit: {error['message']}"
        assert rest == ([f"  try: {error['hint']}"] if error["hint"] else [])
        assert as_text.returncode == as_json.returncode
        return as_json.returncode, error["code"]

    def task(self, task_id: str, status: Status = Status.QUEUED, **values: Any) -> Path:
        """Put a task of this project into the store; its folder, which is made."""
        folder = Path(values.pop("cwd", self.project), ".cuekit", "tasks", task_id)
        folder.mkdir(parents=True)
        Path(self.home.run(task_id), "waiters").mkdir(parents=True)
        row = {
            "task_id": task_id,
            "agent_kind": "shell",
            "mode": "batch",
            "cwd": str(folder.parents[2]),
            "task_dir": str(folder),
            "session_id": lookup.session_of(lookup.project_root(str(self.project))),
            "spec": {"objective": "test"},
            **values,
        }
        path = {
            Status.QUEUED: [],
            Status.RUNNING: [Status.RUNNING],
            Status.INPUT_REQUIRED: [Status.RUNNING, Status.INPUT_REQUIRED],
        }.get(status, [Status.RUNNING, status])
        with closing(db.open_store(self.home)) as store:
            tasks.insert(store, row)
            for step in path:
                tasks.move(store, task_id, step)
            if "completed_at" in values:
                tasks.update(store, task_id, {"completed_at": values["completed_at"]})
        return folder


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """A fresh command line."""
    return CommandLine(tmp_path)
