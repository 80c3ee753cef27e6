"""What a supervised run leaves behind: its events, its progress in the store, woken waiters."""

import contextlib
import logging
import sqlite3
import time
from collections.abc import Callable

from cuekit.launch import notify
from cuekit.launch.events import EventLog
from cuekit.model.activity import Activity, Progress, Signal, SignalKind, Source, reduce
from cuekit.model.event import AgentEvent, EventKind
from cuekit.store import reports, tasks

PARTIAL = frozenset({EventKind.TOOL_CALL_INPUT_DELTA, EventKind.TOOL_OUTPUT_DELTA})
TURN_ENDS = {
    "completed": SignalKind.TURN_COMPLETED,
    "failed": SignalKind.TURN_FAILED,
    "interrupted": SignalKind.TURN_INTERRUPTED,
}
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
    ) -> None:
        self._db = db
        self._task_id = task_id
        self._run_dir = run_dir
        self._log = EventLog(task_dir, task_id)
        self._partials = partials
        self._show = show
        self._last_text: str | None = None
        self._asked: set[str] = set()
        self.progress = Progress()
        self.turn_ends = 0  # turns that are over

    def emit(self, event: AgentEvent) -> None:
        """Take an event: to the file, to the store, to the pane."""
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
        values = {"turn": max(self.progress.turn, 1), "text": text}
        event = AgentEvent(EventKind.PROMPT_ACCEPTED, values)
        self._append(event)
        self._show(event)
        notify.wake(self._run_dir)

    def turn_failed(self, words: str) -> None:
        """A turn could not even begin; the words are the task's error."""
        signal = Signal(SignalKind.TURN_FAILED, Source.PROTOCOL, time.time(), text=words)
        self.progress = reduce(self.progress, signal)
        self._store()

    def close(self) -> None:
        """Close the file."""
        self._log.close()

    def _numbered(self, event: AgentEvent) -> AgentEvent:
        if event.kind is EventKind.TURN_STARTED:
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
                kind = TURN_ENDS.get(str(values.get("outcome")), SignalKind.TURN_FAILED)
                text = values.get("message")
                if kind is SignalKind.TURN_COMPLETED:
                    text = text or self._last_text
                return Signal(kind, Source.PROTOCOL, now, text=text)
            case EventKind.USAGE:
                with contextlib.suppress(sqlite3.Error):
                    tasks.update(self._db, self._task_id, {"usage": values})
        return None

    def _append(self, event: AgentEvent) -> None:
        try:
            self._log.append(str(event.kind), event.values)
        except OSError as error:
            log.warning("an event could not be written: %s", error)

    def _store(self) -> None:
        try:
            tasks.store_progress(self._db, self._task_id, self.progress)
        except sqlite3.Error:
            log.exception("the progress could not be stored")
        notify.wake(self._run_dir)


def _is_partial(event: AgentEvent) -> bool:
    return event.kind in PARTIAL or bool(event.values.get("partial"))
