"""`task steer`: a message, or a key, for the agent of a running task."""

import os
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cuekit import files
from cuekit.errors import CuekitError, InvalidState, TimedOut
from cuekit.launch import notify, processes
from cuekit.launch import plan as plans
from cuekit.model.activity import Activity
from cuekit.model.lifecycle import Status
from cuekit.model.task import Mode
from cuekit.panes.base import PaneGone, TmuxGone
from cuekit.panes.foreground import foreground_group
from cuekit.panes.keys import checked_key
from cuekit.panes.message import checked
from cuekit.panes.steer import Receipt, Target, deliver, dialog_open, press
from cuekit.paths import Home
from cuekit.service import lookup, pending, settle
from cuekit.store import reports, tasks
from cuekit.store.tasks import Task

LOCK = "pane.lock"
LOCK_S = 60.0  # another sender's message takes a few seconds
START_S = 10.0  # how long a task that was just submitted may take to have its agent
INTERRUPT_S = 15.0
RECHECK_S = 1.0
SHELL = "shell"
INTERRUPT_KEYS = {SHELL: "C-c"}  # the agents' TUIs take Escape
PROGRAMS_THAT_READ_LINES = frozenset({SHELL})


@dataclass(frozen=True)
class _Place:
    """Where a steer happens."""

    home: Home
    db: sqlite3.Connection
    environ: Mapping[str, str]
    task_id: str

    @property
    def run_dir(self) -> str:
        return self.home.run(self.task_id)

    def task(self) -> Task:
        """The task as it is now. Raises InvalidState (`task_ended`)."""
        task = tasks.get(self.db, self.task_id)
        if task is None or task.ended:
            raise InvalidState(
                f"the task {self.task_id} has ended: {task.status if task else 'deleted'}",
                code="task_ended",
                hint=f"cuekit task result {self.task_id}",
            )
        return task


def steer(
    home: Home,
    environ: Mapping[str, str],
    task_ref: str,
    message: str,
    *,
    wait: bool = False,
    timeout: float | None = None,
    when_idle: bool = False,
    interrupt: bool = False,
    no_submit: bool = False,
    as_command: bool = False,
    force: bool = False,
    key: str | None = None,
) -> dict[str, Any]:
    """Deliver a message as one message submitted once, or press a key; the receipt.

    Raises InvalidInput for the message or the key; InvalidState with code `task_ended`,
    `steering_unsupported`, `not_started`, `agent_gone`, `dialog_open`, `composer_busy`; TimedOut;
    TmuxGone, PaneGone and TmuxUnclear.
    """
    name = checked_key(key) if key is not None else None
    text = "" if name else checked(message)
    deadline = None if timeout is None else time.monotonic() + timeout
    with lookup.settled_store(environ) as (found_home, db):
        found = lookup.resolve_one(db, task_ref)
        place = _Place(found_home, db, environ, found.task_id)
        if found.mode == Mode.SUPERVISED:
            if name is not None or no_submit:
                raise _no_keys(found)
            return _steer_sidecar(place, text, wait, when_idle, interrupt, deadline)
        _refuse_unsteerable(place.task())
        if when_idle:
            _await_idle(place, deadline)
        if interrupt:
            _interrupt(place, deadline)
        since = _last_event(place)
        with files.locked(os.path.join(place.run_dir, LOCK), LOCK_S):
            try:
                target = _target(place)
                given_at = time.time()
                if name is not None:
                    receipt = press(target, name)
                else:
                    receipt = deliver(
                        target, text, as_command=as_command, force=force, submit=not no_submit
                    )
            except (PaneGone, TmuxGone):  # in that moment the task may have ended
                settle.reconcile(home, db, environ)
                place.task()
                raise
        if name is None and not no_submit:
            reports.more_to_do(db, place.task_id, given_at)
        done: dict[str, Any] = {
            "task_id": place.task_id,
            "receipt": {
                "state": receipt.state,
                "turn": receipt.turn,
                "evidence": receipt.evidence,
            },
            "warnings": receipt.warnings,
            "answer": None,
        }
        if wait:
            from cuekit.service.answer import await_answer

            done["answer"] = await_answer(db, place.home, place.task_id, receipt, since, deadline)
        return done


def _steer_sidecar(
    place: _Place,
    text: str,
    wait: bool,
    when_idle: bool,
    interrupt: bool,
    deadline: float | None,
) -> dict[str, Any]:
    from cuekit.service import steer_sidecar

    given_at = time.time()
    receipt = steer_sidecar.steer(
        place.home,
        place.db,
        place.environ,
        place.task(),
        text,
        interrupt=interrupt,
        when_idle=when_idle,
        deadline=deadline,
    )
    reports.more_to_do(place.db, place.task_id, given_at)
    answer = None
    if wait:
        answer = steer_sidecar.await_answer(
            place.home, place.db, place.environ, place.task_id, receipt, deadline
        )
    shown = {name: receipt.get(name) for name in ("state", "turn", "evidence")}
    return {"task_id": place.task_id, "receipt": shown, "warnings": [], "answer": answer}


def _no_keys(task: Task) -> InvalidState:
    return InvalidState(
        f"the task {task.task_id} is supervised: it takes whole messages, no keys",
        code="steering_unsupported",
        hint=f"cuekit task steer {task.task_id} --interrupt MESSAGE",
    )


def type_prompt(environ: Mapping[str, str], task_id: str, prompt: str) -> Receipt:
    """Type a task's first prompt, for an agent that takes none on its command line."""
    with lookup.settled_store(environ) as (home, db):
        place = _Place(home, db, environ, task_id)
        with files.locked(os.path.join(place.run_dir, LOCK), LOCK_S):
            return deliver(_target(place), checked(prompt))


def _refuse_unsteerable(task: Task) -> None:
    if task.mode != Mode.INTERACTIVE:
        raise InvalidState(
            f"the task {task.task_id} runs in mode {task.mode} and takes no further message",
            code="steering_unsupported",
            hint="submit it with --mode interactive to steer it",
        )


def _last_event(place: _Place) -> int:
    from cuekit.launch import events

    return events.last_sequence(place.task().task_dir)


def _target(place: _Place) -> Target:
    """The pane to type into, after all that forbids it was looked for."""
    from cuekit.activity import registry
    from cuekit.model.task import tmux_session_name
    from cuekit.panes.tmux import Tmux

    task = _started(place)
    _refuse_waiting(place, task)
    backend = Tmux(task.socket_path, environ=place.environ)
    pane = next((pane for pane in backend.panes() if pane.pane_id == task.pane_id), None)
    if pane is None or pane.task != task.task_id:
        pane = backend.pane(tmux_session_name(task.task_id))
    if pane is None:
        raise PaneGone(
            f"the pane of {task.task_id} is gone", hint=f"cuekit task status {task.task_id}"
        )
    if pane.dead:
        raise _gone(task, "its pane is dead")
    if pane.in_mode and not _leaves_mode(backend, pane.pane_id):
        raise InvalidState(
            f"the pane of {task.task_id} shows something of tmux's own, which takes the keys",
            code="pane_in_mode",
            hint=f"cuekit task attach {task.task_id}, and press q",
        )
    return Target(
        backend=backend,
        pane_id=pane.pane_id,
        kind=task.agent_kind,
        agent=registry.get(task.agent_kind),
        version=task.binary_version,
        task_dir=task.task_dir,
        busy=task.activity in (Activity.WORKING, Activity.WAITING_APPROVAL),
        check=lambda: _require_agent(place, task),
        waiter=lambda: notify.Waiter([place.run_dir]),
    )


def _leaves_mode(backend: Any, pane_id: str) -> bool:
    """Whether copy mode is what the pane is in: it can be ended by `send-keys -X cancel`."""
    try:
        backend.leave_copy_mode(pane_id)
    except CuekitError:
        return False
    return not any(pane.in_mode for pane in backend.panes() if pane.pane_id == pane_id)


def _started(place: _Place) -> Task:
    """The task, once its agent runs. Raises InvalidState (`not_started`)."""

    def running(task: Task) -> bool:
        return task.status is not Status.QUEUED and task.child is not None

    try:
        return _await(place, running, time.monotonic() + START_S)
    except TimedOut:
        raise InvalidState(
            f"the agent of {place.task_id} has not been started yet",
            code="not_started",
            hint="try again",
            retryable=True,
        ) from None


def _refuse_waiting(place: _Place, task: Task) -> None:
    asked = pending.of_task(place.db, task.task_id)
    if asked:
        raise InvalidState(
            f"the agent of {task.task_id} waits for an answer ({asked[0]['approval_id']}); "
            "nothing was submitted",
            code="dialog_open",
            hint=f"cuekit approval show {asked[0]['approval_id']}",
            details={"dialog": "approval", "approvals": [one["approval_id"] for one in asked]},
        )
    if task.activity in (Activity.WAITING_APPROVAL, Activity.WAITING_INPUT):
        kind = "approval" if task.activity == Activity.WAITING_APPROVAL else "question"
        raise dialog_open(f"{kind}: {task.activity_detail}" if task.activity_detail else kind)


def _require_agent(place: _Place, task: Task) -> None:
    """Raises InvalidState (`task_ended`, `agent_gone`) unless the agent reads the terminal."""
    child, lock = task.child, os.path.join(place.run_dir, plans.LOCK)
    if child is None or not processes.alive(child) or not files.is_locked(lock):
        place.task()
        raise _gone(task, "it is not running any more")
    group = foreground_group(child["pid"])
    if group is None or group == child["pid"]:
        return
    reads_lines = task.agent_kind in PROGRAMS_THAT_READ_LINES  # a job of the shell's may read
    if not reads_lines or (task.supervisor and group == task.supervisor["pid"]):
        raise _gone(task, "another program reads its terminal")


def _gone(task: Task, why: str) -> InvalidState:
    return InvalidState(
        f"the agent of {task.task_id} cannot take a message: {why}; nothing was submitted",
        code="agent_gone",
        hint=f"cuekit task status {task.task_id}",
    )


def _interrupt(place: _Place, deadline: float | None) -> None:
    """Break off the running turn and wait until the agent is idle."""
    with files.locked(os.path.join(place.run_dir, LOCK), LOCK_S):
        target = _target(place)
        if target.agent is not None and not target.busy:
            return
        press(target, INTERRUPT_KEYS.get(target.kind, "Escape"))
    if target.agent is not None:
        limit = time.monotonic() + INTERRUPT_S
        _await_idle(place, limit if deadline is None else min(limit, deadline))


def _await_idle(place: _Place, deadline: float | None) -> None:
    from cuekit.activity import registry

    task = place.task()
    if registry.get(task.agent_kind) is None:
        raise InvalidState(
            f"whether {task.agent_kind} is idle cannot be told",
            code="activity_unknown",
            hint="send it without --when-idle",
        )

    def idle(task: Task) -> bool:
        # Before its first turn an agent may look idle, though the prompt is on its way to it.
        return task.activity == Activity.IDLE and task.turn > 0

    _await(place, idle, deadline)


def _await(place: _Place, so: Callable[[Task], bool], deadline: float | None) -> Task:
    """Wait until the task is so. Raises TimedOut, and InvalidState when it ends meanwhile."""

    with notify.Waiter([place.run_dir]) as waiter:
        while True:
            task = place.task()
            if so(task):
                return task
            left = RECHECK_S if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise TimedOut(
                    f"the agent of {task.task_id} is not ready: {task.status}, {task.activity}",
                    hint="nothing was sent; try again with a longer --timeout",
                )
            waiter.wait(min(RECHECK_S, left))
            settle.reconcile(place.home, place.db, place.environ)
