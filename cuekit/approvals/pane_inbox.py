"""An approval of an agent's own TUI in the inbox: stored, waited for, answered by the hook.

Claude shows its dialog meanwhile, and whoever decides first wins; codex shows none while the hook
runs. Nothing here ever allows by itself: what fails, and what takes too long, is left to the
agent's own dialog.
"""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Mapping
from typing import Any

from cuekit import files
from cuekit.approvals import risk as risks
from cuekit.approvals.pane_requests import answer_of, request_of
from cuekit.approvals.standing import checker
from cuekit.launch import events, notify, processes
from cuekit.launch import plan as plans
from cuekit.launch.plan import LaunchPlan
from cuekit.model.activity import EXACT, Activity
from cuekit.model.approval import (
    INBOX_LIMIT_S,
    ApprovalRequest,
    ApprovalState,
    Decision,
    DecisionKind,
    Risk,
)
from cuekit.model.inbox import INBOX_FILE
from cuekit.paths import Home
from cuekit.store import approvals, tasks
from cuekit.store import db as store

ANSWERED = "answered"  # folder of what the pane has answered, see launch/script.py
RECHECK_SECONDS = 5.0
BEFORE_LIMIT = 30.0  # the hook ends so long before the agent would end it
INPUT_BYTES = 16 * 1024 * 1024
AT_THE_PANE = "answered at the pane"
TAKEN_BACK = "the agent took it back"


class _Ended(BaseException):
    """The agent, or whoever ends the task, ends this process."""


def serve(run_dir: str, event: str) -> int:
    """Run the hook: the whole of it; always 0, so that no failure of ours is the agent's."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _end)
    try:
        data = sys.stdin.buffer.read(INPUT_BYTES)
        plan = plans.read(run_dir)
        payload = json.loads(data.decode("utf-8", "replace"))
        if plan is None or not isinstance(payload, dict):
            return 0
        with contextlib.ExitStack() as stack:
            db = stack.enter_context(store.opened(Home(plan.home)))
            inbox = PaneInbox(plan, db, data, payload, event)
            sys.stdout.write(inbox.answer())
            sys.stdout.flush()
    except _Ended:
        return 0
    except Exception as error:  # the agent's own dialog is there for it
        _log(run_dir, error)
    return 0


class PaneInbox:
    """One request of a pane."""

    def __init__(
        self,
        plan: LaunchPlan,
        db: sqlite3.Connection,
        data: bytes,
        payload: dict[str, Any],
        event: str,
    ) -> None:
        self.plan = plan
        self.db = db
        self.data = data
        self.payload = payload
        self.event = event
        self.parent = os.getppid()
        self.turn: int | None = None  # known once the supervisor has read of the request
        self.answered = os.path.join(plan.run_dir, ANSWERED, str(os.getpid()))
        settings = files.read_json(os.path.join(plan.run_dir, INBOX_FILE)) or {}
        limit = settings.get("handover_s") or INBOX_LIMIT_S - BEFORE_LIMIT
        self.deadline = time.monotonic() + float(limit)
        self.limit = float(limit)

    def answer(self) -> str:
        """What the hook prints; nothing leaves it to the agent's own dialog."""
        request = request_of(self.plan.agent_kind, self.payload)
        if request is None:
            self._spool(self.event, self.data)
            return ""
        risk, ruled = self._rule(request)
        if ruled is None:
            self._spool(self.event, self.data)
        approval_id = approvals.insert(
            self.db, self.plan.task_id, request, risk, processes.identity(os.getpid())
        )
        self._tell_requested(approval_id, request, risk)
        if ruled is not None and approvals.decide(self.db, approval_id, ruled):
            self._tell_resolved(approval_id)
            return answer_of(request, ruled)
        try:
            decision = self._wait(approval_id, request)
        except _Ended:
            self._close(approval_id, *self._how_ended())
            self._tell_resolved(approval_id)
            raise
        finally:
            shutil.rmtree(self.answered, ignore_errors=True)
        if decision is None:
            return ""
        if decision.kind is not DecisionKind.HANDOVER:
            self._tell_working()
        said = answer_of(request, decision)
        if said:
            with contextlib.suppress(sqlite3.Error):
                approvals.set_delivered(self.db, approval_id)
        return said

    def _rule(self, request: ApprovalRequest) -> tuple[Risk, Decision | None]:
        try:
            risk = risks.risk_of(request)
            check = checker(self.db, self.plan.task_id, self.plan.cwd)
            return risk, check(request, risk)
        except Exception as error:  # a rule that cannot be applied leaves it to a person
            _log(self.plan.run_dir, error)
            return Risk.UNKNOWN, None

    def _wait(self, approval_id: str, request: ApprovalRequest) -> Decision | None:
        """The decision; None when it is not this hook's any more."""
        os.makedirs(self.answered, mode=0o700, exist_ok=True)
        asked = time.time()
        with notify.Waiter([self.plan.run_dir]) as waiter:
            while True:
                stored = approvals.get(self.db, approval_id)
                if stored is None:
                    return None
                if stored.state != ApprovalState.PENDING:
                    self._tell_resolved(approval_id)
                    return approvals.decision_of(stored)
                over = self._over_at_the_pane(asked)
                if over is not None:
                    self._close(approval_id, *over)
                elif time.monotonic() >= self.deadline:
                    self._hand_over(approval_id)
                else:
                    left = self.deadline - time.monotonic()
                    waiter.wait(max(0.0, min(RECHECK_SECONDS, left)))

    def _over_at_the_pane(self, asked: float) -> tuple[ApprovalState, str] | None:
        """How the request ended without us; None while it waits."""
        if os.getppid() != self.parent:
            return self._how_ended()
        if self._is_answered():
            return ApprovalState.WITHDRAWN, AT_THE_PANE
        now = tasks.get(self.db, self.plan.task_id)
        if now is None or now.ended:
            return ApprovalState.ABANDONED, "the task has ended"
        since = now.activity_since or 0.0
        at_rest = now.activity == Activity.IDLE and now.activity_source in EXACT and since > asked
        if at_rest or self.turn not in (None, now.turn):
            return ApprovalState.WITHDRAWN, AT_THE_PANE
        if now.activity == Activity.WAITING_APPROVAL:
            self.turn = now.turn
        return None

    def _how_ended(self) -> tuple[ApprovalState, str]:
        """Why this process, or the shell that runs it, was ended: both do so on an Escape."""
        if os.path.exists(os.path.join(self.plan.run_dir, plans.CANCEL)):
            return ApprovalState.ABANDONED, "the task is being ended"
        task = tasks.get(self.db, self.plan.task_id)
        if task is None or task.ended or not processes.alive(task.child):
            return ApprovalState.ABANDONED, "the agent is gone"
        return ApprovalState.WITHDRAWN, TAKEN_BACK

    def _is_answered(self) -> bool:
        """Whether a hook has told that this very tool call has run (launch/script.py keeps it)."""
        asked = (self.payload.get("tool_name"), self.payload.get("tool_input"))
        with contextlib.suppress(OSError):
            for name in os.listdir(self.answered):
                told = files.read_json(os.path.join(self.answered, name))
                if isinstance(told, Mapping):
                    if (told.get("tool_name"), told.get("tool_input")) == asked:
                        return True
                    os.unlink(os.path.join(self.answered, name))
        return False

    def _hand_over(self, approval_id: str) -> None:
        words = f"nobody answered in {self.limit:g} s"
        decision = Decision(DecisionKind.HANDOVER, message=words, by="cuekit", how="time")
        approvals.decide(self.db, approval_id, decision)

    def _close(self, approval_id: str, state: ApprovalState, why: str) -> None:
        with contextlib.suppress(sqlite3.Error):
            approvals.close(self.db, approval_id, state, why)

    def _tell_requested(self, approval_id: str, request: ApprovalRequest, risk: Risk) -> None:
        values: dict[str, Any] = {
            "approval_id": approval_id,
            "tool": request.tool,
            "native_tool": request.native_tool,
            "input": request.input,
            "reason": request.reason,
            "risk": str(risk),
            "tool_id": None,
            "options": [],
        }
        self._event("approval_requested", values)

    def _tell_resolved(self, approval_id: str) -> None:
        stored = approvals.get(self.db, approval_id)
        if stored is None:
            return
        values = {
            "approval_id": approval_id,
            "state": stored.state,
            "decision": stored.decision["kind"] if stored.decision else None,
            "decided_by": stored.decided_by,
            "how": stored.decided_how,
        }
        self._event("approval_resolved", values)

    def _tell_working(self) -> None:
        """Tell the supervisor that the agent goes on; its next hook may be minutes away."""
        told = {
            name: self.payload.get(name) for name in ("session_id", "transcript_path", "tool_name")
        }
        self._spool("PreToolUse", json.dumps(told).encode())

    def _event(self, kind: str, values: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # a full disk or a removed folder must not stop it
            events.append(self.plan.task_dir, self.plan.task_id, kind, values)
        notify.wake(self.plan.run_dir)

    def _spool(self, event: str, data: bytes) -> None:
        """Leave a hook's message to the supervisor, as the script of the other hooks does."""
        folder = os.path.join(self.plan.run_dir, plans.SPOOL)
        hidden = os.path.join(folder, f".{os.getpid()}.{event}")
        with contextlib.suppress(OSError):
            with open(os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(data)
            os.rename(hidden, os.path.join(folder, f"{os.getpid()}.{event}.json"))


def _end(_number: int, _frame: Any) -> None:
    raise _Ended


def _log(run_dir: str, error: Exception) -> None:
    """Keep what went wrong, without the texts of the agent."""
    import traceback

    with contextlib.suppress(OSError):
        path = os.path.join(run_dir, "approval-hook.log")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a") as file:
            traceback.print_exception(error, limit=-3, file=file)
