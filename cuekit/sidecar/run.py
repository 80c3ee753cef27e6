"""One supervised run: session, coordinator, journal and pane, wired together."""

import asyncio
import contextlib
import logging
import os
import signal
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from cuekit.approvals.coordinator import Coordinator
from cuekit.approvals.risk import risk_of
from cuekit.errors import CuekitError
from cuekit.launch import notify, processes
from cuekit.launch.sidecar_plan import SidecarPlan
from cuekit.model.activity import Activity
from cuekit.model.approval import ApprovalRequest, Decision, Risk
from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols.base import AgentSession, Links, Sent, SessionSetup
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
        self._journal = Journal(
            db,
            task.task_id,
            task.task_dir,
            run_dir,
            partials=plan.options.get("verbosity", "full") == "full",
            show=pane.show,
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
        with WakeListener(self._run_dir, self._look_into_inbox):
            async with self._coordinator:
                try:
                    return await self._converse(prompt)
                finally:
                    await self._close()

    def send(self, text: str) -> None:
        """Give the agent a message."""
        self._start(self._send(text))

    def interrupt(self) -> None:
        """End the running turn; when nothing runs, end the run."""
        if self._session.busy:
            self._start(self._session.interrupt())
        else:
            self.end()

    def end(self) -> None:
        """End the run cleanly."""
        self._over.set()

    def decide(self, approval_id: str, decision: Decision) -> bool:
        """Decide an approval; False when somebody else was first."""
        return self._coordinator.decide(approval_id, decision)

    async def _converse(self, prompt: str) -> int:
        keys = asyncio.create_task(self._pane.run(self))
        self._tasks.add(keys)
        try:
            await self._session.start()
            await self._send(prompt)
        except CuekitError as error:
            self._failed(error)
            return EXIT_NOT_STARTED
        ending = asyncio.create_task(self._over.wait())
        agent = asyncio.create_task(self._session.wait())
        self._look_into_inbox()
        if self._plan.batch:
            self._start(self._end_after_turn())
        done, _ = await asyncio.wait({ending, agent}, return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if agent in done and not self._over.is_set():
            self._agent_left(agent.result())
            agent.cancel()
            return self._exit_status()
        agent.cancel()
        return self._exit_status()

    async def _end_after_turn(self) -> None:
        while self._session.busy or self._journal.progress.last_turn is None:
            await asyncio.sleep(0.02)
        self.end()

    async def _send(self, text: str) -> Sent:
        sent = await self._session.send(text)
        self._journal.prompt_accepted(text)
        return sent

    def _agent_left(self, status: int | None) -> None:
        message = f"the agent's process has ended ({status})"
        self._journal.emit(AgentEvent(EventKind.ERROR, {"message": message, "recoverable": False}))

    def _failed(self, error: CuekitError) -> None:
        values = {"message": str(error), "code": error.code, "recoverable": False}
        self._journal.emit(AgentEvent(EventKind.ERROR, values))
        if not self._session.busy:
            self._journal.turn_failed(str(error))
        self._pane.note(f"{error}" + (f"  ({error.hint})" if error.hint else ""))

    def _exit_status(self) -> int:
        progress = self._journal.progress
        return 0 if progress.last_turn in ("completed", "interrupted") else EXIT_TURN_FAILED

    async def _close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(CuekitError):
            await self._session.close()
        self._journal.close()

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
        async with asyncio.timeout(30):
            while self._session.busy:
                await asyncio.sleep(0.02)

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
        except TimeoutError:
            self._pane.note("the agent did not stop in time")

    def _take_signals(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self.interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.end)

    @property
    def activity(self) -> Activity:
        """What the agent does now."""
        return self._journal.progress.activity


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
    )
