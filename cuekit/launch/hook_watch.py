"""When a lifecycle hook is due: the supervisor's looks at its task, and what lies between two."""

import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

from cuekit.launch import hooks, notify
from cuekit.launch.plan import LaunchPlan
from cuekit.model.activity import Activity
from cuekit.model.lifecycle import Status
from cuekit.model.lifecycle_events import APPROVAL_REQUESTED, IDLE, INPUT_REQUIRED, STARTED
from cuekit.store import tasks
from cuekit.store.tasks import Task

LOOK_SECONDS = 1.0  # where nobody woke it

Json = dict[str, Any]


class HookWatch:
    """Runs each event of one task once. What happens is read from the store, in every mode."""

    def __init__(
        self, plan: LaunchPlan, db: sqlite3.Connection, *, approvals_have_ids: bool
    ) -> None:
        self._plan = plan
        self._db = db
        self._wanted = hooks.wanted(plan)
        self._moments = Moments(by_id=approvals_have_ids, batch=plan.mode == "batch")
        self._environment: Mapping[str, str] = {}
        self._waiter = notify.Waiter([plan.run_dir] if self._wanted else [])
        self._due = 0.0

    def know(self, environment: Mapping[str, str]) -> None:
        """Take the child's environment, of which a hook gets a part."""
        if self._wanted:
            self._environment = environment

    def __enter__(self) -> None:
        """The agent was started."""
        self._waiter.__enter__()
        self._run([(STARTED, None)])

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._waiter.__exit__(kind, error, trace)

    @property
    def descriptors(self) -> list[int]:
        """What to select on; readable when the task has changed."""
        return self._waiter.descriptors

    def look(self) -> None:
        """Run what has happened since the last look."""
        now = time.monotonic()
        if not self._wanted or not (self._waiter.clear() or now >= self._due):
            return
        self._due = now + LOOK_SECONDS
        with suppress(sqlite3.Error):  # at the next look, then
            task = tasks.get(self._db, self._plan.task_id)
            if task is not None and not task.ended:
                asked = pending_approvals(self._db, self._plan.task_id)
                self._run(self._moments.since_last(task, asked), task)

    def ended(self) -> None:
        """Run what the end of the task does."""
        with suppress(sqlite3.Error):
            task = tasks.get(self._db, self._plan.task_id) if self._wanted else None
            if task is not None:
                self._run([(str(task.status), None)], task)

    def _run(self, moments: Sequence[tuple[str, Json | None]], task: Task | None = None) -> None:
        for event, approval in moments:
            if not hooks.does_anything(self._plan, event):
                continue
            task = task or tasks.get(self._db, self._plan.task_id)
            if task is not None:
                values = hooks.told(event, task, approval, time.time())
                hooks.fork_run(self._plan, values, self._environment)


class Moments:
    """Tells which events lie between two looks at a task. It remembers what it told."""

    def __init__(self, *, by_id: bool, batch: bool = False) -> None:
        self._batch = batch  # then the end of its one turn is the end of the task
        self._by_id = by_id  # the task's approvals are in the store, each with its id
        self._told: set[str] = set()
        self._activity: str | None = None
        self._waits = False
        self._idle_turn = 0

    def since_last(self, task: Task, pending: Sequence[Json]) -> list[tuple[str, Json | None]]:
        """The new events of a task that goes on, each with its approval if it is about one."""
        found: list[tuple[str, Json | None]] = []
        before, self._activity = self._activity, task.activity
        for approval in pending:
            if approval["approval_id"] not in self._told:
                self._told.add(approval["approval_id"])
                found.append((APPROVAL_REQUESTED, approval))
        asks = task.activity == Activity.WAITING_APPROVAL
        if asks and before != task.activity and not self._by_id:
            found.append((APPROVAL_REQUESTED, None))
        waits = task.status is Status.INPUT_REQUIRED or task.activity == Activity.WAITING_INPUT
        if waits and not self._waits:
            found.append((INPUT_REQUIRED, None))
        self._waits = waits
        if task.activity == Activity.IDLE and task.turn > self._idle_turn:
            self._idle_turn = task.turn
            if task.last_turn is not None and not self._batch:
                found.append((IDLE, None))
        return found


def pending_approvals(db: sqlite3.Connection, task_id: str) -> list[Json]:
    """The approvals of a task that wait, as a hook is told of them."""
    rows = db.execute(
        "SELECT approval_id, tool, input, reason, risk FROM approval"
        " WHERE task_id = ? AND state = 'pending' ORDER BY requested_at",
        (task_id,),
    )
    return [
        {
            "approval_id": row["approval_id"],
            "tool": row["tool"],
            "input": json.loads(row["input"]),
            "reason": row["reason"],
            "risk": row["risk"],
        }
        for row in rows
    ]
