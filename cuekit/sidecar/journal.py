"""What a supervised run leaves behind: its events, its progress in the store, woken waiters."""

import asyncio
import contextlib
import logging
import sqlite3
import time
from collections import deque
from collections.abc import Callable

from cuekit.launch import notify
from cuekit.launch.events import EventLog
from cuekit.model.activity import Activity, Progress, Signal, SignalKind, Source, reduce
from cuekit.model.approval import ApprovalState
from cuekit.model.event import AgentEvent, EventKind
from cuekit.store import approvals, reports, tasks

PARTIAL = frozenset({EventKind.TOOL_CALL_INPUT_DELTA, EventKind.TOOL_OUTPUT_DELTA})
TURN_ENDS = {
    "completed": SignalKind.TURN_COMPLETED,
    "failed": SignalKind.TURN_FAILED,
    "interrupted": SignalKind.TURN_INTERRUPTED,
}
MOST_KEPT = 100_000  # events that wait for a full disk
SENT_KEPT = 50
RETRY_SECONDS = 1.0
log = logging.getLogger(__name__)


class Journal:
    """Takes every event of the run, numbers turns, and tells everybody who is concerned."""

    def __init__(
        self,
        db: sqlite3.Connection,
        task_id: str,
        task_dir: str,
        run_dir: str,
        *,
        partials: bool,
        show: Callable[[AgentEvent], None],
        tell: Callable[[str], None],
    ) -> None:
        self._db = db
        self._task_id = task_id
        self._run_dir = run_dir
        self._task_dir = task_dir
        self._log: EventLog | None = None
        self._kept: deque[tuple[AgentEvent, float]] = deque()  # not written yet
        self._lost = 0
        self._stuck = False
        self._unstored = False
        self._partials = partials
        self._show = show
        self._tell = tell
        self._sent: deque[str] = deque(
            maxlen=SENT_KEPT
        )  # given to the agent, which has not said that it read them
        self._read: deque[str] = deque(maxlen=SENT_KEPT)  # the other way round
        self._last_text: str | None = None
        self._asked: set[str] = set()
        self.progress = Progress()
        self.turn_ends = 0  # turns that are over
        self.turn_over = asyncio.Event()  # the first one is

    def emit(self, event: AgentEvent) -> None:
        """Take an event: to the file, to the store, to the pane."""
        if event.kind is EventKind.PROMPT_ACCEPTED and not self._is_new(event):
            return
        before = self.progress
        self._reduce(event)
        event = self._numbered(event)
        if self._partials or not _is_partial(event):
            self._append(event)
        self._show(event)
        if self.progress != before:
            self._store()

    def prompt_accepted(self, text: str) -> None:
        """A user message is with the agent."""
        if text in self._read:
            self._read.remove(text)
            return
        self._sent.append(text)
        begins = self.progress.activity in (Activity.IDLE, Activity.UNKNOWN)
        values = {"turn": self.progress.turn + (1 if begins else 0), "text": text}
        event = AgentEvent(EventKind.PROMPT_ACCEPTED, values)
        self._append(event)
        self._show(event)
        notify.wake(self._run_dir)

    def turn_failed(self, words: str) -> None:
        """A turn could not even begin; the words are the task's error."""
        signal = Signal(SignalKind.TURN_FAILED, Source.PROTOCOL, time.time(), text=words)
        self.progress = reduce(self.progress, signal)
        self._store()
        self.turn_over.set()

    async def keep_trying(self) -> None:
        """Write what a full disk or a busy store has kept back, until cancelled."""
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            if self._stuck:
                self._write()
            if self._unstored:
                self._store()

    def close(self) -> None:
        """Write what is left, and close the file."""
        self._write()
        if self._unstored:
            self._store()
        if self._kept:
            log.error("%d events could not be written", len(self._kept))
        if self._log is not None:
            self._log.close()

    def _is_new(self, event: AgentEvent) -> bool:
        """Whether the agent tells of a message that was not told when it was sent."""
        text = str(event.values.get("text"))
        if text in self._sent:
            self._sent.remove(text)
            return False
        self._read.append(text)
        return True

    def _numbered(self, event: AgentEvent) -> AgentEvent:
        if event.kind in (EventKind.TURN_STARTED, EventKind.PROMPT_ACCEPTED):
            return AgentEvent(event.kind, {"turn": self.progress.turn, **event.values})
        if event.kind is EventKind.TURN_COMPLETED:
            values = {"turn": self.progress.turn, **event.values}
            if values.get("outcome") == "completed" and not values.get("message"):
                values["message"] = self._last_text
            return AgentEvent(event.kind, values)
        return event

    def _reduce(self, event: AgentEvent) -> None:
        signal = self._signal(event)
        if signal is not None:
            before, self.progress = self.progress, reduce(self.progress, signal)
            if self.progress.turn > before.turn:
                with contextlib.suppress(sqlite3.Error):
                    reports.more_to_do(self._db, self._task_id, signal.at)

    def _signal(self, event: AgentEvent) -> Signal | None:
        values, now = event.values, time.time()
        match event.kind:
            case EventKind.SESSION_STARTED:
                session = values.get("agent_session_id")
                return Signal(SignalKind.SESSION_STARTED, Source.PROTOCOL, now, session_id=session)
            case EventKind.TURN_STARTED:
                self._last_text = None
                return Signal(SignalKind.PROMPT_ACCEPTED, Source.PROTOCOL, now)
            case EventKind.ASSISTANT_TEXT:
                if not values.get("partial") and not values.get("parent_tool_id"):
                    self._last_text = values.get("text")
            case EventKind.APPROVAL_REQUESTED:
                if not self._waits(str(values.get("approval_id"))):
                    return None
                self._asked.add(str(values.get("approval_id")))
                tool = values.get("tool")
                return Signal(SignalKind.APPROVAL_REQUESTED, Source.PROTOCOL, now, tool=tool)
            case EventKind.APPROVAL_RESOLVED:
                self._asked.discard(str(values.get("approval_id")))
                waits = self.progress.activity is Activity.WAITING_APPROVAL
                if waits and not self._asked:
                    return Signal(SignalKind.WORKING, Source.PROTOCOL, now)
            case EventKind.TURN_COMPLETED:
                self.turn_ends += 1
                self.turn_over.set()
                kind = TURN_ENDS.get(str(values.get("outcome")), SignalKind.TURN_FAILED)
                text = values.get("message")
                if kind is SignalKind.TURN_COMPLETED:
                    text = text or self._last_text
                return Signal(kind, Source.PROTOCOL, now, text=text)
            case EventKind.USAGE:
                with contextlib.suppress(sqlite3.Error):
                    tasks.update(self._db, self._task_id, {"usage": values})
        return None

    def _waits(self, approval_id: str) -> bool:
        """Whether somebody is waited for: a rule may have decided already."""
        try:
            stored = approvals.get(self._db, approval_id)
        except sqlite3.Error:
            return True
        return stored is None or stored.state == ApprovalState.PENDING

    def _append(self, event: AgentEvent) -> None:
        self._kept.append((event, time.time()))
        if not self._stuck:
            self._write()
        while len(self._kept) > MOST_KEPT:
            self._kept.popleft()
            self._lost += 1

    def _write(self) -> None:
        """Write what is kept, in order; a disk that is full keeps it here until it is not."""
        try:
            if self._log is None:
                self._log = EventLog(self._task_dir, self._task_id)
            while self._kept:
                event, at = self._kept[0]
                self._log.append(str(event.kind), event.values, at=at)
                self._kept.popleft()
            if self._lost:
                values = {"message": f"{self._lost} events were lost", "recoverable": True}
                self._log.append(str(EventKind.ERROR), values)
                self._lost = 0
        except OSError as error:
            if not self._stuck:
                log.warning("an event could not be written: %s", error)
                self._tell(f"the events cannot be written, and are kept until they can: {error}")
            self._stuck = True
            return
        if self._stuck:
            self._tell("the events are written again")
        self._stuck = False

    def _store(self) -> None:
        try:
            tasks.store_progress(self._db, self._task_id, self.progress)
            self._unstored = False
        except sqlite3.Error:
            if not self._unstored:
                log.exception("the progress could not be stored")
            self._unstored = True
        notify.wake(self._run_dir)


def _is_partial(event: AgentEvent) -> bool:
    return event.kind in PARTIAL or bool(event.values.get("partial"))
