"""The one place that waits for a decision, whoever asks and whoever answers.

A request goes to the rules first; what they leave open is stored, told, and waited for. The store
decides who was first: the pane's own keys and another process's command go the same way. Nothing
is allowed by a time-out, a crash or an error.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from cuekit.approvals.standing import rule_of
from cuekit.errors import CuekitError
from cuekit.launch import notify
from cuekit.launch import plan as plans
from cuekit.model.approval import (
    ApprovalRequest,
    ApprovalState,
    Decision,
    DecisionKind,
    Risk,
    fail_closed,
)
from cuekit.model.event import AgentEvent, EventKind
from cuekit.model.rule import Rule
from cuekit.store import approvals, rules
from cuekit.store.approvals import Approval

RECHECK_SECONDS = 5.0  # a decision whose waking was lost is seen after this
ENDS = {
    "withdrawn": ApprovalState.WITHDRAWN,
    "expired": ApprovalState.EXPIRED,
}
WORDS = {
    "withdrawn": "the agent took it back",
    "expired": "the agent's own limit was reached",
}
log = logging.getLogger(__name__)

RuleCheck = Callable[[ApprovalRequest, Risk], Decision | None]
RiskOf = Callable[[ApprovalRequest], Risk]


class Coordinator:
    """The approvals of one task, as a context manager: at its end whatever waits is abandoned."""

    def __init__(
        self,
        db: sqlite3.Connection,
        task_id: str,
        run_dir: str,
        *,
        emit: Callable[[AgentEvent], None],
        rule_for: RuleCheck,
        risk_of: RiskOf,
        asker: Mapping[str, Any] | None = None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._db = db
        self._task_id = task_id
        self._emit = emit
        self._rule_for = rule_for
        self._risk_of = risk_of
        self._asker = asker
        self._on_change = on_change
        self._run_dir = run_dir
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._over: set[str] = set()
        self._path = os.path.join(run_dir, plans.WAITERS, secrets.token_hex(8))
        self._fifo = -1
        self._checker: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Coordinator":
        os.mkfifo(self._path, 0o600)
        self._fifo = os.open(self._path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        asyncio.get_running_loop().add_reader(self._fifo, self._woken)
        self._checker = asyncio.create_task(self._check_now_and_then())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._checker is not None:
            self._checker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._checker
        asyncio.get_running_loop().remove_reader(self._fifo)
        os.close(self._fifo)
        with contextlib.suppress(OSError):
            os.unlink(self._path)
        for approval_id, future in list(self._waiting.items()):
            self._close(approval_id, ApprovalState.ABANDONED, "the sidecar has ended")
            self._over.add(approval_id)  # whoever waits gets a denial, whatever the store says
            if not future.done():
                future.set_result(None)

    @property
    def pending(self) -> list[str]:
        """The ids of the requests that wait, oldest first."""
        return list(self._waiting)

    async def await_decision(self, request: ApprovalRequest) -> Decision:
        """The decision on a request; a denial when there can be none any more.

        Cancelled with the text "withdrawn" or "expired" the request ends so, else as abandoned.
        """
        try:
            risk = self._risk_of(request)
            decision = self._rule_for(request, risk)
        except Exception:
            log.exception("a rule could not be applied; a person decides")
            risk, decision = Risk.UNKNOWN, None
        try:
            approval_id = approvals.insert(self._db, self._task_id, request, risk, self._asker)
        except sqlite3.Error:
            log.exception("an approval could not be stored; it is denied")
            return fail_closed("the request could not be stored, so nobody could be asked")
        by_rule = decision is not None and self._decided_by_rule(approval_id, decision)
        self._tell_requested(approval_id, request, risk)  # who looks sees that nobody is waited for
        if by_rule:
            return self._resolved(approval_id)
        return await self._wait(approval_id)

    def decide(self, approval_id: str, decision: Decision) -> bool:
        """Decide from within this process; False when it was decided already.

        Where no rule can say it, "always" is "once", and the decision says why.
        """
        decision, rule = self._with_rule(approval_id, decision)
        first = approvals.decide(self._db, approval_id, decision)
        if first and rule is not None:  # before the agent hears of it: its next request is covered
            with contextlib.suppress(sqlite3.Error):
                rules.insert(self._db, rule)
        self._wake(approval_id)
        return first

    def _with_rule(self, approval_id: str, decision: Decision) -> tuple[Decision, Rule | None]:
        stored = approvals.get(self._db, approval_id)
        if stored is None or decision.kind is not DecisionKind.ALLOW_ALWAYS:
            return decision, None
        try:
            return decision, rule_of(self._db, stored, decision)
        except CuekitError as error:
            once = replace(decision, kind=DecisionKind.ALLOW, scope=None, message=error.message)
            return once, None

    def delivered(self, approval_id: str) -> None:
        """The answer is on the agent's wire."""
        with contextlib.suppress(sqlite3.Error):
            approvals.set_delivered(self._db, approval_id)

    def _decided_by_rule(self, approval_id: str, decision: Decision) -> bool:
        try:
            return approvals.decide(self._db, approval_id, decision)
        except sqlite3.Error:
            log.exception("what a rule decided could not be stored; a person decides")
            return False

    async def _wait(self, approval_id: str) -> Decision:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[approval_id] = future
        self._on_change()
        try:
            while self._state(approval_id) is ApprovalState.PENDING:
                await asyncio.shield(future)
                if future.done() and self._state(approval_id) is ApprovalState.PENDING:
                    future = asyncio.get_running_loop().create_future()
                    self._waiting[approval_id] = future
            return self._resolved(approval_id)
        except asyncio.CancelledError as cancelled:
            why = str(cancelled.args[0]) if cancelled.args else ""
            how = WORDS.get(why, why or "the request was cancelled")
            self._close(approval_id, ENDS.get(why, ApprovalState.ABANDONED), how)
            raise
        finally:
            self._waiting.pop(approval_id, None)
            self._on_change()

    def _state(self, approval_id: str) -> ApprovalState:
        """The stored state; a store that does not answer leaves the request pending."""
        if approval_id in self._over:
            return ApprovalState.ABANDONED
        try:
            stored = approvals.get(self._db, approval_id)
        except sqlite3.Error:
            return ApprovalState.PENDING
        return ApprovalState(stored.state) if stored else ApprovalState.ABANDONED

    def _resolved(self, approval_id: str) -> Decision:
        """What the store says that was decided; a denial in every other case."""
        if approval_id in self._over:
            self._over.discard(approval_id)
            return fail_closed("the run has ended")
        try:
            stored = approvals.get(self._db, approval_id)
            decision = approvals.decision_of(stored) if stored else None
        except (sqlite3.Error, ValueError, TypeError):
            log.exception("a decision could not be read; it is taken for a denial")
            stored, decision = None, None
        self._tell_resolved(approval_id, stored, decision.kind if decision else None)
        return decision or fail_closed("the request ended without a decision")

    def _close(self, approval_id: str, state: ApprovalState, why: str) -> None:
        """End a request, unless it was decided in the same moment; either way it is told."""
        try:
            approvals.close(self._db, approval_id, state, why)
            stored = approvals.get(self._db, approval_id)
            decision = approvals.decision_of(stored) if stored else None
            self._tell_resolved(approval_id, stored, decision.kind if decision else None)
        except sqlite3.Error:
            log.exception("the end of an approval could not be stored")
        self._waiting.pop(approval_id, None)

    def _tell_requested(self, approval_id: str, request: ApprovalRequest, risk: Risk) -> None:
        values = {
            "approval_id": approval_id,
            "tool": request.tool,
            "native_tool": request.native_tool,
            "input": request.input,
            "reason": request.reason,
            "risk": str(risk),
            "tool_id": request.tool_id,
            "options": [option.name for option in request.options],
        }
        self._emit(AgentEvent(EventKind.APPROVAL_REQUESTED, values))
        notify.wake(self._run_dir)

    def _tell_resolved(
        self, approval_id: str, stored: Approval | None, kind: DecisionKind | None
    ) -> None:
        values = {
            "approval_id": approval_id,
            "state": stored.state if stored else str(ApprovalState.ABANDONED),
            "decision": str(kind) if kind else None,
            "decided_by": stored.decided_by if stored else None,
            "how": stored.decided_how if stored else None,
        }
        self._emit(AgentEvent(EventKind.APPROVAL_RESOLVED, values))
        notify.wake(self._run_dir)

    def _woken(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._fifo, 4096)
        for approval_id in list(self._waiting):
            self._wake(approval_id)
        self._on_change()

    def _wake(self, approval_id: str) -> None:
        future = self._waiting.get(approval_id)
        if future is not None and not future.done():
            future.set_result(None)

    async def _check_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(RECHECK_SECONDS)
            if self._waiting:
                self._woken()
