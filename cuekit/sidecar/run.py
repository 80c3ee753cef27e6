"""One supervised run: session, coordinator, journal and pane, wired together."""

import asyncio
import contextlib
import logging
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Mapping
from typing import Any

from cuekit.approvals.coordinator import Coordinator
from cuekit.approvals.risk import risk_of
from cuekit.errors import CuekitError, InvalidState
from cuekit.launch import notify, processes
from cuekit.launch.sidecar_plan import SidecarPlan
from cuekit.model.approval import ApprovalRequest, Decision, DecisionKind, Risk
from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols.base import AgentSession, Links, Sent, SessionSetup
from cuekit.service import offers
from cuekit.sidecar.journal import Journal
from cuekit.sidecar.pane import Pane
from cuekit.sidecar.sessions import open_session
from cuekit.store import approvals, inbox
from cuekit.store.inbox import Message
from cuekit.store.tasks import Task
from cuekit.wire.wake import WakeListener

RuleFor = Callable[[ApprovalRequest, Risk], Decision | None]
EXIT_TURN_FAILED = 1
EXIT_NOT_STARTED = 1
TWICE_SECONDS = 2.0  # between two Ctrl-C that end the run
IDLE_SECONDS = 30.0
RECEIPTS = {
    Sent.STARTED: ("submitted", "the agent began a turn with it"),
    Sent.JOINED: ("submitted", "it joined the running turn"),
    Sent.QUEUED: ("queued", "the agent keeps it until its turn is over"),
    Sent.HELD: ("held", "it is kept here until the turn is over"),
}
log = logging.getLogger(__name__)


class Run:
    """The life of a supervised task from the first prompt to the end."""

    def __init__(
        self,
        plan: SidecarPlan,
        task: Task,
        run_dir: str,
        db: sqlite3.Connection,
        pane: Pane,
        rule_for: RuleFor,
        environ: Mapping[str, str],
    ) -> None:
        self._plan = plan
        self._task = task
        self._run_dir = run_dir
        self._db = db
        self._pane = pane
        self._over = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._pressed = -TWICE_SECONDS  # when Ctrl-C came last
        self._is_broken = False
        self._journal = Journal(
            db,
            task.task_id,
            task.task_dir,
            run_dir,
            partials=plan.options.get("verbosity", "full") == "full",
            show=pane.show,
            tell=pane.note,
        )
        self._coordinator = Coordinator(
            db,
            task.task_id,
            run_dir,
            emit=self._journal.emit,
            rule_for=rule_for,
            risk_of=risk_of,
            asker=processes.identity(os.getpid()),
            on_change=self._approvals_changed,
        )
        links = Links(emit=self._journal.emit, await_decision=self._coordinator.await_decision)
        self._session: AgentSession = open_session(
            plan, _setup(plan, task, run_dir, environ), links
        )

    async def run(self, prompt: str) -> int:
        """Run to the end; the sidecar's exit status."""
        self._take_signals()
        asyncio.get_running_loop().set_exception_handler(_log_unhandled)
        try:
            with WakeListener(self._run_dir, self._look_into_inbox):
                async with self._coordinator:
                    try:
                        status = await self._converse(prompt)
                    finally:
                        await self._close()
            return await self._of_agent(status) if self._plan.batch and status else status
        finally:
            self._journal.close()

    def send(self, text: str) -> None:
        """Give the agent a message."""
        self._start(self._send(text))

    def interrupt(self) -> None:
        """Ctrl-C: end the running turn; soon after another one, end the run."""
        before, self._pressed = self._pressed, time.monotonic()
        if self._pressed - before < TWICE_SECONDS:
            self.end()
        elif self._session.busy:
            self._pane.note("the turn is being interrupted; Ctrl-C again ends the run")
            self._start(self._session.interrupt())
        else:
            self._pane.note("no turn runs; Ctrl-C again ends the run")

    def end(self) -> None:
        """End the run cleanly."""
        self._over.set()

    def decide(self, approval_id: str, decision: Decision) -> None:
        """Decide an approval, under the rules that hold for another shell's decision.

        Raises CuekitError: `not_offered`, `already_decided`, `store_broken`.
        """
        try:
            stored = approvals.get(self._db, approval_id)
            first = stored is not None and self._coordinator.decide(
                approval_id, offers.checked(stored, decision)
            )
            after = approvals.get(self._db, approval_id)
        except sqlite3.Error as error:
            raise CuekitError(
                f"the decision could not be stored: {error}",
                code="store_broken",
                hint="press the key again",
            ) from None
        if not first:
            raise InvalidState("somebody else has decided it already", code="already_decided")
        said = after.decision if after else None
        if decision.kind is DecisionKind.ALLOW_ALWAYS and said and said["kind"] == "allow":
            self._pane.note(f"allowed once: {said.get('message')}")

    async def _converse(self, prompt: str) -> int:
        self._start(self._pane.run(self))
        self._start(self._journal.keep_trying())
        ending = asyncio.create_task(self._over.wait())
        opening = asyncio.create_task(self._open(prompt))
        try:
            await asyncio.wait({ending, opening}, return_when=asyncio.FIRST_COMPLETED)
            if not opening.done():
                self._pane.note("ended before the agent had begun")
                return EXIT_NOT_STARTED
            if not opening.result():
                return EXIT_NOT_STARTED
            return await self._until_end(ending)
        finally:
            for task in (ending, opening):
                task.cancel()
            await asyncio.gather(ending, opening, return_exceptions=True)

    async def _open(self, prompt: str) -> bool:
        try:
            await self._session.start()
            await self._send(prompt)
        except CuekitError as error:
            self._failed(error)
            return False
        except Exception as error:
            self._broke(error)
            return False
        return True

    async def _until_end(self, ending: asyncio.Task[Any]) -> int:
        self._look_into_inbox()
        if self._plan.batch:
            self._start(self._end_after_turn())
        agent = asyncio.create_task(self._session.wait())
        try:
            await asyncio.wait({ending, agent}, return_when=asyncio.FIRST_COMPLETED)
            if agent.done() and not self._over.is_set():
                return self._agent_left(agent.result())
        except Exception as error:
            self._broke(error)
        finally:
            agent.cancel()
            await asyncio.gather(agent, return_exceptions=True)
        return self._exit_status()

    async def _end_after_turn(self) -> None:
        await self._journal.turn_over.wait()
        await self._until_idle()
        self.end()

    async def _send(self, text: str) -> Sent:
        sent = await self._session.send(text)
        self._journal.prompt_accepted(text)
        return sent

    def _agent_left(self, status: int | None) -> int:
        """The agent has ended by itself: the run's exit status."""
        progress = self._journal.progress
        if self._plan.batch:
            return self._exit_status()
        how = f"by signal {-status}" if status is not None and status < 0 else f"with {status}"
        message = f"the agent's process has ended {how}"
        values = {"message": message, "code": "agent_gone", "recoverable": False}
        self._journal.emit(AgentEvent(EventKind.ERROR, values))
        if status == 0 and progress.last_turn is not None:
            return self._exit_status()
        if progress.last_turn != "failed":
            self._journal.turn_failed(message)
        return EXIT_TURN_FAILED

    async def _of_agent(self, status: int) -> int:
        """In batch the task fails with the agent's own exit status."""
        with contextlib.suppress(CuekitError):
            own = await self._session.wait()
            if own:
                return own if own > 0 else 128 - own
        return status

    def _failed(self, error: CuekitError) -> None:
        values = {"message": error.message, "code": error.code, "recoverable": False}
        self._journal.emit(AgentEvent(EventKind.ERROR, values))
        if not self._session.busy and self._journal.progress.last_turn is None:
            self._journal.turn_failed(error.message)
        if error.hint:
            self._pane.note(f"try: {error.hint}")

    def _broke(self, error: Exception) -> None:
        """Something that nobody foresaw: on record, shown, and the end of the run."""
        log.error("the sidecar broke", exc_info=error)
        message = f"internal error of cuekit: {type(error).__name__}: {error}"
        values = {"message": message, "code": "internal_error", "recoverable": False}
        self._journal.emit(AgentEvent(EventKind.ERROR, values))
        self._journal.turn_failed(message)
        self._is_broken = True
        self.end()

    def _exit_status(self) -> int:
        well = self._journal.progress.last_turn in ("completed", "interrupted")
        return 0 if well and not self._is_broken else EXIT_TURN_FAILED

    async def _close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(CuekitError):
            await self._session.close()

    def _look_into_inbox(self) -> None:
        try:
            messages = inbox.take(self._db, self._task.task_id)
        except sqlite3.Error:
            log.exception("the inbox could not be read")
            return
        for message in messages:
            self._start(self._handle(message))

    async def _handle(self, message: Message) -> None:
        try:
            receipt = await self._receipt(message)
        except CuekitError as error:
            receipt = {"error": error.as_json()}
        except Exception as error:
            receipt = {"error": {"code": "internal_error", "message": f"internal error: {error}"}}
            self._broke(error)
        with contextlib.suppress(sqlite3.Error):
            inbox.set_receipt(self._db, message.message_id, receipt)
        notify.wake(self._run_dir)

    async def _receipt(self, message: Message) -> dict[str, Any]:
        match message.kind:
            case "end":
                self.end()
                return {"state": "submitted", "evidence": "the run is being ended"}
            case "interrupt":
                interrupted = await self._session.interrupt()
                told = "the turn was interrupted" if interrupted else "no turn was running"
                return {"state": "submitted", "evidence": told}
            case _:
                return await self._steer(message.body)

    async def _steer(self, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("interrupt") and self._session.busy:
            await self._session.interrupt()
            await self._until_idle()
        ends = self._journal.turn_ends
        sent = await self._send(str(body["text"]))
        state, evidence = RECEIPTS[sent]
        waits = sent in (Sent.QUEUED, Sent.HELD)
        return {
            "state": state,
            "evidence": evidence,
            "turn": self._journal.progress.turn,
            "answered_by_end": ends + (2 if waits else 1),
        }

    async def _until_idle(self) -> None:
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                while self._session.busy:
                    await asyncio.sleep(0.02)
        except TimeoutError:
            words = "the agent did not end its turn in time"
            raise CuekitError(words, code="agent_busy", hint="cuekit task cancel") from None

    def _approvals_changed(self) -> None:
        try:
            found = [approvals.get(self._db, one) for one in self._coordinator.pending]
        except sqlite3.Error:
            return
        self._pane.set_pending([one for one in found if one and one.state == "pending"])

    def _start(self, work: Any) -> None:
        task = asyncio.create_task(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Any) -> None:
        try:
            await work
        except CuekitError as error:
            self._failed(error)
        except Exception as error:
            self._broke(error)

    def _take_signals(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self.interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.end)


def _log_unhandled(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    log.error("%s", context.get("message"), exc_info=context.get("exception"))


def _setup(plan: SidecarPlan, task: Task, run_dir: str, environ: Mapping[str, str]) -> SessionSetup:
    return SessionSetup(
        argv=tuple(plan.argv),
        cwd=task.cwd,
        environment=environ,
        run_dir=run_dir,
        model=plan.model,
        version=plan.version,
        options=plan.options,
        append_system_prompt=plan.append_system_prompt,
        add_dirs=tuple(plan.add_dirs),
        output_schema=plan.output_schema,
        resume=plan.resume,
        fork=plan.fork,
        folder_trusted=plan.folder_trusted,
        agent_kind=plan.agent_kind,
    )
