"""The pane's own process: starts the child, waits for it, and settles the task.

It needs the standard library alone and loads all of its code at the start, so cuekit may be
upgraded or removed while it runs.
"""

import contextlib
import os
import select
import signal
import sqlite3
import time
from typing import Any

from cuekit import files
from cuekit.activity import refusals, registry
from cuekit.launch import (
    child,
    child_reports,
    events,
    notify,
    processes,
    sentinel,
    settlement,
)
from cuekit.launch import plan as plans
from cuekit.launch import transcript as transcripts
from cuekit.launch.capture import output_of
from cuekit.launch.hook_watch import HookWatch
from cuekit.launch.lost import settle_lost
from cuekit.launch.plan import LaunchPlan
from cuekit.launch.reports import report
from cuekit.launch.watch import Watch
from cuekit.launch.words import last_words, output_end
from cuekit.model.activity import EXACT, Activity, Progress, Signal, SignalKind, reduce
from cuekit.model.inbox import INBOX_FILE
from cuekit.model.lifecycle import EndCause, Evidence, Status
from cuekit.paths import Home
from cuekit.store import db as store
from cuekit.store import reports, tasks

WATCH_SECONDS = 0.2
REST_SECONDS = 1.0
OUTPUT_SECONDS = 0.5  # how long the last output of a failed child is waited for; it takes ms
TRANSCRIPT_SECONDS = 10.0  # how long the session stays open for it
FIRST_PROMPT_SECONDS = 0.5


class Supervisor:
    """One child from its start to its end."""

    def __init__(self, plan: LaunchPlan, db: sqlite3.Connection) -> None:
        self.plan = plan
        self.db = db
        self.watch = Watch(plan, None if plan.sidecar else registry.get(plan.agent_kind))
        self.inbox = os.path.exists(os.path.join(plan.run_dir, INBOX_FILE))
        self.progress = Progress()
        self.pid = 0
        self.status: int | None = None  # wait status of the child
        self.cause: EndCause | None = None
        self.unstored = False  # progress that the store has not taken yet
        self.renewed_at: float | None = None  # when the agent was given more to do, likewise
        self.typist: int | None = None  # process that types the first prompt
        self.hooks = HookWatch(plan, db, approvals_have_ids=self.inbox or plan.sidecar)
        self.wake_reader, self.wake_writer = os.pipe()
        self.pending: set[int] = set()

    def run(self) -> None:
        """The whole life of the task."""
        self._take_signals()
        me = processes.identity(os.getpid())
        files.replace_json(os.path.join(self.plan.run_dir, plans.STARTED), me)
        started = {"supervisor": me, "started_at": time.time()}
        if not tasks.move(
            self.db, self.plan.task_id, Status.RUNNING, started, only_from=[Status.QUEUED]
        ):
            plans.forget_environment(self.plan.run_dir)
            return  # cancelled, or settled as broken off, before it began
        environment = self._environment()
        self.hooks.know(environment)
        try:
            self.pid = child.start(self.plan.argv, self.plan.cwd, environment, self.plan.stdin)
        except child.StartFailed as error:
            transcripts.send_mark(self.plan)
            self._end(Evidence(EndCause.EXITED, error.exit_code, agent_words=str(error)))
            return
        self._record_start()
        with self.hooks:
            self._supervise()
        self._end(self._evidence())

    def _environment(self) -> dict[str, str]:
        environment = plans.take_environment(self.plan.run_dir)
        for name in ("TERM", "TMUX", "TMUX_PANE", "TERM_PROGRAM", "TERM_PROGRAM_VERSION"):
            if name in os.environ:
                environment[name] = os.environ[name]
        return environment

    def _record_start(self) -> None:
        who = processes.identity(self.pid)
        tasks.update(self.db, self.plan.task_id, {"child": who})
        self._event("status", {"status": "running", "pid": self.pid})
        notify.wake(self.plan.run_dir)

    def _take_signals(self) -> None:
        os.set_blocking(self.wake_reader, False)
        os.set_blocking(self.wake_writer, False)
        signal.set_wakeup_fd(self.wake_writer, warn_on_full_buffer=False)
        for number in (
            signal.SIGCHLD,
            signal.SIGUSR1,
            signal.SIGHUP,
            signal.SIGTERM,
            signal.SIGINT,
            signal.SIGQUIT,
        ):
            signal.signal(number, lambda caught, _frame: self.pending.add(caught))
        for number in (signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)

    def _supervise(self) -> None:
        limit = self.plan.timeout_s
        deadline = time.monotonic() + limit if limit is not None else None
        rest = WATCH_SECONDS if self.watch.is_needed else REST_SECONDS
        while self.status is None and self.cause is None:
            pause = rest
            if deadline is not None:
                pause = max(0.0, min(rest, deadline - time.monotonic()))
            self._pause(pause)
            self._reap()
            self._look()
            self.hooks.look()
            if self.status is None:
                self.cause = self._requested(deadline)
        if self.cause is not None:
            self._end_tree()

    def _pause(self, seconds: float) -> None:
        select.select([self.wake_reader, *self.hooks.descriptors], [], [], seconds)
        with contextlib.suppress(BlockingIOError):
            os.read(self.wake_reader, 4096)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
                if pid == 0:
                    return
                if os.WIFSTOPPED(status):
                    if pid == self.pid:  # no shell is here that could continue it
                        _continue(pid)
                elif pid == self.pid:
                    self.status = status
                elif pid == self.typist:
                    self._typed(status)

    def _requested(self, deadline: float | None) -> EndCause | None:
        caught, self.pending = self.pending, set()
        folder = self.plan.run_dir
        if os.path.exists(os.path.join(folder, plans.CANCEL)):
            return EndCause.CANCELLED
        if os.path.exists(os.path.join(folder, plans.FINISH)):
            return EndCause.FINISHED
        if deadline is not None and time.monotonic() >= deadline:
            return EndCause.TIMED_OUT
        if signal.SIGTERM in caught or (signal.SIGHUP in caught and not _has_terminal()):
            return EndCause.PANE_LOST
        if signal.SIGINT in caught:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-self.pid, signal.SIGINT)
        return None

    def _look(self) -> None:
        now = time.time()
        try:
            signals = self.watch.look(self.progress, now)
        except OSError:  # no descriptors or memory for the moment: the child runs on all the same
            return
        if self._awaits_first_prompt():
            # A title that moves while the agent starts is no turn: nobody has asked it anything.
            signals = [one for one in signals if not _guesses_work(one)]
        before = self.progress
        for one in signals:
            self._take(one)
        self.unstored = self.unstored or self.progress != before
        if self.unstored:
            self._store_progress()
        if signals:
            notify.wake(self.plan.run_dir)
        self._take_reports()
        if self._awaits_first_prompt() and self.progress.activity is Activity.IDLE:
            self._type_first_prompt()

    def _awaits_first_prompt(self) -> bool:
        return bool(self.plan.first_prompt) and self.typist is None

    def _store_progress(self) -> None:
        """Store it now, or at the next look: a full disk or a busy store must not end the child."""
        with contextlib.suppress(sqlite3.OperationalError):
            if self.renewed_at is not None:
                reports.more_to_do(self.db, self.plan.task_id, self.renewed_at)
            tasks.store_progress(self.db, self.plan.task_id, self.progress)
            self.unstored, self.renewed_at = False, None

    def _take(self, one: Signal) -> None:
        before, self.progress = self.progress, reduce(self.progress, one)
        if self.progress.turn > before.turn and one.source in EXACT:
            # A title that lags behind must not take back what the child has just reported.
            self.renewed_at = one.at
        for kind, values in report(before, self.progress, one):
            if kind != "approval_requested" or not self.inbox:  # the hook told it, with its id
                self._event(kind, values, at=one.at)

    def _take_reports(self) -> None:
        plan = self.plan
        with contextlib.suppress(sqlite3.Error):  # they stay, and are taken up at the next look
            child_reports.drain(self.db, plan.task_id, plan.task_dir, plan.run_dir)

    def _type_first_prompt(self) -> None:
        try:
            self.typist = self._spawn_typist()
        except OSError as error:  # cuekit may have been removed since the start
            self.typist = 0
            self._event("error", {"message": f"the first prompt was not delivered: {error}"})

    def _spawn_typist(self) -> int:
        return os.posix_spawn(
            self.plan.first_prompt[0],
            list(self.plan.first_prompt),
            {**os.environ, "CUEKIT_HOME": self.plan.home},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (
                    os.POSIX_SPAWN_OPEN,
                    2,
                    os.path.join(self.plan.run_dir, "first-prompt.log"),
                    os.O_WRONLY | os.O_CREAT,
                    0o600,
                ),
            ],
        )

    def _typed(self, status: int) -> None:
        if os.waitstatus_to_exitcode(status) == 0:
            return
        with open(os.path.join(self.plan.run_dir, "first-prompt.log"), errors="replace") as file:
            said = " ".join(file.read().split())[-500:]
        self._event("error", {"message": f"the first prompt was not delivered: {said}"})

    def _end_tree(self) -> None:
        left = processes.end_tree(self._members, reap=self._reap)
        self._reap()
        if left:
            self._event("error", {"message": f"processes that would not end: {sorted(left)}"})

    def _members(self) -> set[int]:
        roots = {self.pid} if self.status is None else set()
        return processes.members(self.plan.task_id, roots)

    def _evidence(self) -> Evidence:
        child.take_terminal_back()
        transcripts.send_mark(self.plan)
        self._look()
        if self.plan.sidecar:
            self.progress = self._told_by_sidecar()
        code, number = _exit_of(self.status)
        cause = self.cause or EndCause.EXITED
        well = self._turn_ended_well()
        words = self.progress.turn_error
        if well is None and code == 0 and (words := self._refusal()):
            well = False
        if cause is EndCause.EXITED and (code != 0 or well is False) and not words:
            words = self._last_words()
        return Evidence(cause, code, number, well, words)

    def _told_by_sidecar(self) -> Progress:
        task = tasks.get(self.db, self.plan.task_id)
        return tasks.progress_of(task) if task is not None else Progress()

    def _turn_ended_well(self) -> bool | None:
        if self.progress.last_turn is not None:
            return self.progress.last_turn == "completed"
        path = self.plan.last_message_file
        if path and os.path.exists(path) and os.path.getsize(path) > 0:
            return True
        return False if self.plan.expects_evidence else None

    def _refusal(self) -> str | None:
        """What a batch run refused by itself: such agents end with 0 all the same."""
        if self.plan.mode != "batch":
            return None
        transcripts.wait_written(self.plan.run_dir, OUTPUT_SECONDS)
        path = os.path.join(self.plan.task_dir, transcripts.FILE_NAME)
        return refusals.refused(self.plan.agent_kind, output_end(path))

    def _last_words(self) -> str | None:
        transcripts.wait_written(self.plan.run_dir, OUTPUT_SECONDS)
        return last_words(os.path.join(self.plan.task_dir, transcripts.FILE_NAME))

    def _end(self, evidence: Evidence) -> None:
        code = evidence.exit_code if evidence.exit_code is not None else -1
        with contextlib.suppress(OSError):  # a full disk: the store has the truth
            sentinel.write(
                self.plan.run_dir,
                sentinel.Sentinel(code, evidence.exit_signal, time.time(), evidence.cause),
            )
        task = tasks.get(self.db, self.plan.task_id)
        settled = task is not None and settlement.settle(self.db, task, self.plan.run_dir, evidence)
        if settled:
            self.hooks.ended()
        self._end_tree()  # what the child left running has no owner any more

    def _event(self, kind: str, values: dict[str, Any], *, at: float | None = None) -> None:
        with contextlib.suppress(OSError):  # a full disk or a removed folder must not stop it
            events.append(self.plan.task_dir, self.plan.task_id, kind, values, at=at)


def _guesses_work(one: Signal) -> bool:
    return one.kind is SignalKind.WORKING and one.source not in EXACT


def _continue(pid: int) -> None:
    """Continue a stopped child and its process group, of which it need not be the leader."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGCONT)
        os.killpg(os.getpgid(pid), signal.SIGCONT)


def _has_terminal() -> bool:
    try:
        os.tcgetpgrp(0)
    except OSError:
        return False
    return True


def _exit_of(status: int | None) -> tuple[int | None, int | None]:
    """Exit code as a shell gives it, and signal."""
    if status is None:
        return None, None
    code = os.waitstatus_to_exitcode(status)
    return (code, None) if code >= 0 else (128 - code, -code)


def close_session(plan: LaunchPlan) -> None:
    """Close the task's tmux session, unless somebody looks at it or it is to be kept."""
    if plan.keep or os.path.exists(os.path.join(plan.run_dir, plans.KEEP)):
        return
    tmux = [plan.tmux, "-S", plan.socket_path]
    clients = output_of([*tmux, "list-clients", "-t", f"={plan.session}", "-F", "x"])
    if clients:
        return  # the client-detached hook closes it
    output_of([*tmux, "kill-session", "-t", f"={plan.session}"])


def supervise(run_dir: str) -> int:
    """Supervise the task of a run folder; 0 when it was settled."""
    plan = plans.read(run_dir)
    lock = files.try_lock(os.path.join(run_dir, plans.LOCK))
    if plan is None or lock is None:
        return 1
    with store.opened(Home(plan.home)) as db:
        db.execute("PRAGMA cache_size = -256")  # KiB: it looks at one row, for hours
        Supervisor(plan, db).run()
    os.close(lock)
    transcripts.wait_written(run_dir, TRANSCRIPT_SECONDS)
    close_session(plan)
    return 0


def settle(run_dir: str) -> int:
    """Settle the task of a run folder if nobody did, and close its session."""
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # tmux sends them when its last session is closed
    plan = plans.read(run_dir)
    if plan is None:
        return 1
    with store.opened(Home(plan.home)) as db:
        task = tasks.get(db, plan.task_id)
        if task is not None and not task.ended:
            settle_lost(Home(plan.home), db, task)
            task = tasks.get(db, plan.task_id)
    if task is None or task.ended:  # else another process is at it, and closes the session
        close_session(plan)
    return 0
