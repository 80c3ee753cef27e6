"""A place with a running task that asks for things, without an agent: approvals by hand."""

import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cuekit.launch import processes
from cuekit.model.approval import ApprovalRequest, Risk
from cuekit.model.lifecycle import Status
from cuekit.store import approvals, db, tasks
from tests.support.command_line import CommandLine
from tests.support.repository import mark_repository

NOBODY = {"pid": 999_999_999, "started": "1", "boot": "gone"}


class Asking(CommandLine):
    """The real command line, over tasks whose supervisor's lock is held by this process."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._locks: list[int] = []
        mark_repository(self.project)  # so that the project is this folder, whatever is above

    def running(self, task_id: str, **values: Any) -> str:
        """A running task; its supervisor seems to live."""
        import fcntl

        self.task(task_id, Status.RUNNING, mode="supervised", agent_kind="codex", **values)
        lock = os.open(Path(self.home.run(task_id), "lock"), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        self._locks.append(lock)
        return task_id

    def end(self, task_id: str) -> None:
        """The task has ended."""
        with closing(db.open_store(self.home)) as store:
            tasks.move(store, task_id, Status.COMPLETED)

    def ask(
        self,
        task_id: str,
        request: ApprovalRequest,
        *,
        risk: Risk = Risk.WRITE,
        asker: Mapping[str, Any] | None = None,
    ) -> str:
        """A pending approval; this process asks, unless another is named."""
        with closing(db.open_store(self.home)) as store:
            who = asker if asker is not None else processes.identity(os.getpid())
            return approvals.insert(store, task_id, request, risk, who)

    def stored(self, approval_id: str) -> approvals.Approval:
        """The approval as it is in the store."""
        with closing(db.open_store(self.home)) as store:
            found = approvals.get(store, approval_id)
        assert found is not None
        return found

    def close(self) -> None:
        """Let go of the locks."""
        for lock in self._locks:
            os.close(lock)


def shell(command: str, **values: Any) -> ApprovalRequest:
    """A request to run a command."""
    return ApprovalRequest(
        **{
            "agent_kind": "codex",
            "tool": "shell",
            "native_tool": "exec_command",
            "input": {"command": command},
            **values,
        }
    )


@pytest.fixture
def asking(tmp_path: Path) -> Any:
    """A fresh place."""
    place = Asking(tmp_path)
    yield place
    place.close()
