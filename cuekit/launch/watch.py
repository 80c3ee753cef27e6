"""Where the supervisor hears of its agent: hook spool, session log, window title, screen."""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from cuekit.activity.base import ActivityModule, Composer
from cuekit.launch import plan as plans
from cuekit.launch.agent_status import AgentStatus
from cuekit.launch.capture import output_of
from cuekit.launch.plan import LaunchPlan
from cuekit.model.activity import EXACT, Activity, Progress, Signal, SignalKind, Source

MESSAGE_BYTES = 16 * 1024 * 1024  # a hook message that is larger is not read
LOG_BYTES = 4 * 1024 * 1024  # read of the log in one look
ASKED_SECONDS = 2.0  # a hook tells of an approval up to a second before its dialog is drawn
TITLE_SECONDS = 1.2  # how long a title must disagree with the hooks before it counts
WORDS_SECONDS = 0.6  # how long a failure without words waits for the screen to show them
SCREEN_SECONDS = 1.0
SLOW_SCREEN_SECONDS = 3.0
SLOW_AFTER_SECONDS = 60.0


class Watch:
    """Collects signals; each look gives those that came since the last, in order of time."""

    def __init__(self, plan: LaunchPlan, agent: ActivityModule | None) -> None:
        self._plan = plan
        self._agent = agent
        self._spool = os.path.join(plan.run_dir, plans.SPOOL)
        self._log = _Tail()
        self._status = AgentStatus(agent)
        self._title = _Title(os.path.join(plan.run_dir, plans.TITLE))
        self._screen = _ScreenTimer()
        self._held: list[Signal] = []
        self._began = time.time()
        self.heard_exactly = False

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to look at beside the child's end."""
        return self._agent is not None

    def look(self, progress: Progress, now: float) -> list[Signal]:
        """What happened since the last look."""
        if self._agent is None:
            return []
        signals = [*self._from_log(now), *self._from_spool()]
        signals.sort(key=lambda signal: signal.at)
        for signal in signals:
            if signal.log_path:
                self._log.follow(signal.log_path)
                self._status.follow(signal.log_path, signal.session_id)
        self.heard_exactly = self.heard_exactly or bool(signals)
        signals = self._with_words([*self._held, *self._without_doubles(signals)], now)
        just_asked = _is_asked(progress) and now - progress.since < ASKED_SECONDS
        if not signals and self._plan.mode == "interactive" and not just_asked:
            signals = self._status.news(progress, now) or [
                *self._from_title(progress, now),
                *self._from_screen(progress, now),
            ]
        return signals

    def _without_doubles(self, signals: list[Signal]) -> list[Signal]:
        """Leave out the ends that a hook tells where the agent's log tells them more exactly."""
        by_log = getattr(self._agent, "LOG_TELLS_ENDS", False) and self._log.is_there
        if not by_log or self._plan.mode != "interactive":
            return signals
        return [
            signal
            for signal in signals
            if signal.kind is not SignalKind.TURN_COMPLETED or signal.source is not Source.HOOK
        ]

    def _with_words(self, signals: list[Signal], now: float) -> list[Signal]:
        """Give a failure of which the log tells no more the words that the screen shows.

        The screen may come a moment later than the log: until then that signal and what follows
        it are held back. If it shows none, the turn had an empty answer and did not fail.
        """
        self._held = []
        if self._plan.mode != "interactive":
            return signals
        for index, signal in enumerate(signals):
            if signal.kind is SignalKind.TURN_FAILED and signal.text is None:
                screen = self._capture()
                if screen is not None and screen.failure:
                    signals[index] = signal._replace(text=screen.failure)
                elif now - signal.at < WORDS_SECONDS:
                    self._held = signals[index:]
                    return signals[:index]
                elif screen is not None and screen.composer is not Composer.HIDDEN:
                    signals[index] = signal._replace(kind=SignalKind.TURN_COMPLETED)
        return signals

    def _from_spool(self) -> Iterator[Signal]:
        for path, event, at in _spooled(self._spool):
            payload = _message(path)
            with contextlib.suppress(OSError):
                os.unlink(path)
            if isinstance(payload, dict):
                yield from self._ask(lambda a: a.hook_signals(event, payload, at))  # noqa: B023

    def _from_log(self, now: float) -> Iterator[Signal]:
        for line in self._log.lines():
            at = _time_of(line) or now
            if at < self._began:
                continue  # of the past of a session that is gone on with
            yield from self._ask(lambda a: a.log_signals(line, at))  # noqa: B023

    def _from_title(self, progress: Progress, now: float) -> list[Signal]:
        title = self._title.current()
        if title is None:
            return []
        found = self._ask(lambda a: [a.title_signal(title, now)])
        signal = next((one for one in found if one is not None), None)
        if signal is None or not self._title.tells(signal, progress):
            self._title.agrees()
            return []
        patience = TITLE_SECONDS if self.heard_exactly else 0.0
        return [signal] if self._title.disagrees_for(patience, now) else []

    def _from_screen(self, progress: Progress, now: float) -> list[Signal]:
        waits = progress.activity in (Activity.WAITING_INPUT, Activity.WAITING_APPROVAL)
        starting = progress.activity is Activity.UNKNOWN
        if not (waits or starting) or not self._screen.is_due(now):
            return []
        screen = self._capture()
        if screen is None:
            return []
        if screen.dialog:
            self._screen.forget()
        if screen.dialog == "approval":
            return [] if waits else [Signal(SignalKind.APPROVAL_REQUESTED, Source.SCREEN, now)]
        if screen.dialog:
            return [Signal(SignalKind.DIALOG, Source.SCREEN, now, text=screen.dialog)]
        # For a moment after its dialog was answered an agent that works looks idle, and for a
        # moment before its dialog is drawn one that waits looks busy.
        seen_twice = self._screen.seen_twice(screen.busy)
        told_by_screen = waits and progress.source is Source.SCREEN
        if not seen_twice and not (told_by_screen and screen.busy):
            return []
        if screen.busy:
            return [Signal(SignalKind.WORKING, Source.SCREEN, now)]
        if screen.composer.value != "hidden" and screen.busy is False:
            return [Signal(SignalKind.IDLE, Source.SCREEN, now)]
        return []

    def _capture(self) -> Any:
        plan = self._plan
        capture = [plan.tmux, "-u", "-S", plan.socket_path, "capture-pane", "-p"]
        target = ["-t", f"={plan.session}:"]
        plain = output_of([*capture, *target])
        styled = output_of([*capture, "-e", *target])
        if plain is None or styled is None or self._agent is None:
            return None
        try:
            return self._agent.read_screen(plain, styled)
        except Exception:  # a screen that is not understood says nothing
            return None

    def _ask(self, question: Callable[[Any], list[Any]]) -> list[Any]:
        try:
            return question(self._agent)
        except Exception:  # a message that is not understood says nothing
            return []


def _is_asked(progress: Progress) -> bool:
    """Whether a dialog was told of that may not be drawn yet."""
    if progress.activity is Activity.WAITING_INPUT:
        return progress.source in EXACT
    return progress.activity is Activity.WAITING_APPROVAL


def _activity(signal: Signal) -> Activity | None:
    return {
        SignalKind.WORKING: Activity.WORKING,
        SignalKind.IDLE: Activity.IDLE,
        SignalKind.APPROVAL_REQUESTED: Activity.WAITING_APPROVAL,
        SignalKind.DIALOG: Activity.WAITING_INPUT,
    }.get(signal.kind)


def _spooled(folder: str) -> list[tuple[str, str, float]]:
    """Path, event name and time of each hook message, oldest first."""
    found = []
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name.split(".")
            if len(name) == 3 and name[2] == "json" and name[0]:
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    found.append((entry.path, name[1], status.st_mtime))
    return sorted(found, key=lambda message: message[2])


def _message(path: str) -> Any:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            return json.loads(file.read(MESSAGE_BYTES).decode("utf-8", "replace"))
    except (OSError, ValueError):
        return None


def _time_of(line: bytes) -> float | None:
    """The time that a line of a session log carries (ISO 8601 in `timestamp`)."""
    try:
        stamp = json.loads(line)["timestamp"]
        return datetime.fromisoformat(stamp).timestamp()
    except (ValueError, KeyError, TypeError):
        return None


class _Tail:
    """The lines that are added to the agent's own session log."""

    def __init__(self) -> None:
        self._path: str | None = None
        self._offset = 0
        self._rest = b""

    def follow(self, path: str) -> None:
        if path != self._path:
            self._path, self._offset, self._rest = path, 0, b""

    @property
    def is_there(self) -> bool:
        """Whether there is a log to read."""
        return self._path is not None and os.access(self._path, os.R_OK)

    def lines(self) -> list[bytes]:
        if self._path is None:
            return []
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK)
            with open(descriptor, "rb", buffering=0) as file:
                if os.fstat(file.fileno()).st_size <= self._offset:
                    return []
                file.seek(self._offset)
                data = file.read(LOG_BYTES)
        except OSError:
            return []
        self._offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MESSAGE_BYTES:  # no agent's line: its end is not waited for
            self._rest = b""
        return lines


class _Title:
    """The window title as the transcript writer saw it last."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._since: float | None = None
        self._moved = False

    def tells(self, signal: Signal, progress: Progress) -> bool:
        """Whether it says another thing than what is known.

        A title at rest counts only after one that moved: some never move.
        """
        if signal.kind is SignalKind.AT_REST:
            told = self._moved and progress.activity is Activity.WORKING
            self._moved = told
            return told
        self._moved = signal.kind is SignalKind.WORKING
        return _activity(signal) is not progress.activity

    def current(self) -> str | None:
        try:
            with open(self._path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return None

    def agrees(self) -> None:
        self._since = None

    def disagrees_for(self, seconds: float, now: float) -> bool:
        if self._since is None:
            self._since = now
        return now - self._since >= seconds


class _ScreenTimer:
    """How often the screen is looked at: once a second, and less often after a minute."""

    def __init__(self) -> None:
        self._first = 0.0
        self._last = 0.0
        self._busy: object = self

    def is_due(self, now: float) -> bool:
        if now - self._last > 10 * SLOW_SCREEN_SECONDS:
            self._first = now
        slow = now - self._first > SLOW_AFTER_SECONDS
        if now - self._last < (SLOW_SCREEN_SECONDS if slow else SCREEN_SECONDS):
            return False
        self._last = now
        return True

    def forget(self) -> None:
        """What was seen before says nothing of what is seen next."""
        self._busy = self

    def seen_twice(self, busy: object) -> bool:
        before, self._busy = self._busy, busy
        return before == busy
