"""Lifecycle hooks: the user's own commands at the moments of a task, and ready-made notifications.

The supervisor runs them, so they run with nobody watching. Each has a process of its own that
keeps the time limit, takes and forgets what the hook prints, and tells a failure in the task's
events; the task itself never waits for a hook. What is told to a hook comes by its environment
and as JSON on its standard input, never as a part of its command.
"""

import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from cuekit.launch import events
from cuekit.launch.capture import output_of
from cuekit.launch.child import RESET
from cuekit.launch.plan import LaunchPlan
from cuekit.model.lifecycle_events import ENDINGS
from cuekit.model.times import rfc3339
from cuekit.store.tasks import Task

KEPT_BYTES = 4096  # of the end of what a hook prints, for the error text
VALUE_CHARACTERS = 2000  # of one variable; the JSON has all of it
WORDS_CHARACTERS = 300  # of them, the last ones
SUMMARY_CHARACTERS = 200  # of a notification
DRAIN_BYTES = 1 << 16
LAST_DESCRIPTOR = 4096
NOTIFY_SECONDS = 5.0
CLIENT = "#{client_control_mode} #{client_termname} #{client_tty}"
RUNNER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook_runner.py")
KEPT_NAMES = ("CUEKIT_HOME", "CUEKIT_TMUX_SOCKET")

Json = dict[str, Any]


def wanted(plan: LaunchPlan) -> bool:
    """Whether any event of the task does anything."""
    return bool(plan.hooks or plan.notify)


def does_anything(plan: LaunchPlan, event: str) -> bool:
    """Whether this event of the task does."""
    return event in plan.hooks or event in plan.notify.get("events", ())


def told(event: str, task: Task, approval: Json | None, at: float) -> Json:
    """The object on a hook's standard input; the names are those of the status view."""
    return {
        "event": event,
        "time": rfc3339(at),
        "task_id": task.task_id,
        "agent_kind": task.agent_kind,
        "model": task.model,
        "mode": task.mode,
        "status": str(task.status),
        "activity": task.activity,
        "activity_detail": task.activity_detail,
        "turn": task.turn,
        "last_turn": task.last_turn,
        "summary": task.summary,
        "reported": task.reported,
        "name": task.name,
        "labels": task.labels,
        "cwd": task.cwd,
        "session_id": task.session_id,
        "exit_code": task.exit_code,
        "exit_signal": task.exit_signal,
        "error": task.error,
        "transcript_path": f"{task.task_dir}/transcript.txt",
        "task_dir": task.task_dir,
        "approval": approval,
    }


def hook_environment(base: Mapping[str, str], own: Sequence[str], values: Json) -> dict[str, str]:
    """What a hook gets: the submitting shell's variables, less what cuekit gave to the child.

    The task's id has another name than in the child's environment: a hook is the user's, not the
    agent's, and may decide what the agent may not.
    """
    kept = {
        name: value
        for name, value in base.items()
        if name in KEPT_NAMES or not (name in own or name.startswith("CUEKIT_"))
    }
    approval = values.get("approval") or {}
    said = {
        "EVENT": values["event"],
        "TASK_ID": values["task_id"],
        "AGENT_KIND": values["agent_kind"],
        "STATUS": values["status"],
        "ACTIVITY": values["activity"],
        "TURN": values["turn"],
        "LAST_TURN": values["last_turn"],
        "NAME": values["name"],
        "CWD": values["cwd"],
        "SUMMARY": values["summary"],
        "EXIT_CODE": values["exit_code"],
        "TRANSCRIPT": values["transcript_path"],
        "APPROVAL_ID": approval.get("approval_id"),
    }
    return kept | {f"CUEKIT_HOOK_{name}": _variable(value) for name, value in said.items()}


def _variable(value: Any) -> str:
    """Text that can be a variable whatever an agent wrote: no NUL, and no half of a pair."""
    text = "" if value is None else str(value).replace("\0", "")[:VALUE_CHARACTERS]
    try:
        text.encode("utf-8", "surrogateescape")  # a path may hold bytes that are no UTF-8
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def fork_run(plan: LaunchPlan, values: Json, environment: Mapping[str, str]) -> None:
    """Run what an event does, in a process of its own that outlives this one if it must.

    For a process without threads. The code is this process's, so an upgrade of cuekit meanwhile
    does no harm.
    """
    sys.stdout.flush()
    try:
        pid = os.fork()
    except OSError as error:
        _tell(plan, str(values["event"]), f"could not be started: {error.strerror}")
        return
    if pid:
        return
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.closerange(3, LAST_DESCRIPTOR)  # the supervisor's lock above all
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):  # it must not hold the pane's terminal
            os.dup2(null, descriptor)
        run(plan, values, environment)
    except BaseException:  # nothing of this process may go on as the supervisor
        os._exit(1)
    os._exit(0)


def spawn_run(plan: LaunchPlan, values: Json, environment: Mapping[str, str]) -> None:
    """Do the same in a new program, for a process that may have threads.

    The program is given all it needs, so that the task may be deleted in the next moment, and it
    leaves a child of its own behind: what started it may live long and would not reap it.
    """
    try:
        with _unnamed_file(plan.run_dir) as file:
            told_to_it = {"plan": plan._asdict(), "values": values}
            file.write(json.dumps(told_to_it, default=str).encode())
            file.seek(0)
            pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", RUNNER],
                dict(environment),
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, file.fileno(), 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
            )
        os.waitpid(pid, 0)
    except ChildProcessError:
        return  # somebody else in this process has reaped it
    except OSError as error:
        _tell(plan, str(values["event"]), f"could not be started: {error.strerror}")


def _unnamed_file(folder: str) -> BinaryIO:
    path = os.path.join(folder, f"ending-{os.urandom(8).hex()}")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    file = open(os.open(path, flags, 0o600), "w+b", buffering=0)  # noqa: SIM115 the caller closes
    os.unlink(path)
    return file


def run(plan: LaunchPlan, values: Json, environment: Mapping[str, str]) -> None:
    """Give the notifications, then run the hook of an event, and tell a failure of it."""
    event = str(values["event"])
    cleaned = hook_environment(environment, plan.own_environment, values)
    if event in plan.notify.get("events", ()):
        notify_person(plan, values, cleaned)
    command = plan.hooks.get(event)
    if command:
        data = json.dumps(values, ensure_ascii=False, default=str).encode("utf-8", "replace")
        failure = _run_limited(command, data, cleaned, plan.cwd, plan.hook_limit_s)
        if failure:
            _tell(plan, event, failure)


def _tell(plan: LaunchPlan, event: str, failure: str) -> None:
    with contextlib.suppress(OSError):
        values = {"hook": event, "message": f"the hook for {event} {failure}", "recoverable": True}
        events.append(plan.task_dir, plan.task_id, "error", values)


def _run_limited(
    command: Sequence[str],
    data: bytes,
    environment: Mapping[str, str],
    cwd: str,
    limit_s: float,
) -> str | None:
    """Run a command with its input and a limit of time; what went wrong, in words, or None."""
    deadline = time.monotonic() + limit_s
    try:
        given, give = os.pipe()
        taken, take = os.pipe()
        pid = os.fork()
    except OSError as error:
        return f"could not be started: {error.strerror}"
    if pid == 0:
        _become(command, environment, cwd, given, take)
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)  # both do it, so that its group is there however short the limit
    os.close(given)
    os.close(take)
    said, status = _converse(pid, give, taken, data, deadline)
    # Whatever it left running in its group goes with it.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    if status == 0:
        return None
    if status is None:
        how = f"was ended after {limit_s:g} s"
    else:
        how = f"ended by signal {-status}" if status < 0 else f"ended with {status}"
    words = _plain(said.decode("utf-8", "replace"))[-WORDS_CHARACTERS:]
    return how + (f": {words}" if words else "")


def _become(
    command: Sequence[str], environment: Mapping[str, str], cwd: str, given: int, take: int
) -> None:
    try:
        os.setpgid(0, 0)
        for number in RESET:
            signal.signal(number, signal.SIG_DFL)
        os.dup2(given, 0)
        os.dup2(take, 1)
        os.dup2(take, 2)
        os.closerange(3, LAST_DESCRIPTOR)
        with contextlib.suppress(OSError):  # a worktree may be gone by now
            os.chdir(cwd)
        os.execve(command[0], list(command), dict(environment))  # noqa: S606
    except BaseException as error:
        os.write(2, f"{command[0]}: {error}".encode("utf-8", "replace"))
    finally:
        os._exit(127)


def _converse(
    pid: int, give: int, taken: int, data: bytes, deadline: float
) -> tuple[bytes, int | None]:
    """Give the input and take the output until the program has ended or the time is up.

    The end of what it printed, and its exit status if it has ended. A program that does not read
    its input and one that prints without end do no harm: all but the end is thrown away.
    """
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.set_blocking(give, False)
    said = b""
    is_open = True
    while (status := _status_of(pid)) is None and time.monotonic() < deadline:
        left = min(0.1, max(0.0, deadline - time.monotonic()))
        writers = [give] if data else []
        readable, writable, _ = select.select([taken] if is_open else [], writers, [], left)
        if readable:
            part = os.read(taken, DRAIN_BYTES)
            is_open = bool(part)
            said = (said + part)[-KEPT_BYTES:]
        if writable:
            try:
                data = data[os.write(give, data) :]
            except OSError:
                data = b""
        if not data and give >= 0:
            os.close(give)
            give = -1
        if not is_open and not data:
            time.sleep(0.01)
    os.set_blocking(taken, False)
    with contextlib.suppress(BlockingIOError):  # what it said last; a pipe holds no more
        said = (said + os.read(taken, DRAIN_BYTES))[-KEPT_BYTES:]
    for descriptor in (give, taken):
        if descriptor >= 0:
            os.close(descriptor)
    return said, status


def _status_of(pid: int) -> int | None:
    """The exit status of a child that has ended, negative for a signal; None while it runs.

    It stays a zombie where the system can do that, so that its group's id stays its own.
    """
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        ended, status = os.waitpid(pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if ended else None
    found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


def notify_person(plan: LaunchPlan, values: Json, environment: Mapping[str, str]) -> None:
    """A desktop notification, and OSC 9 on every terminal that shows the task's tmux server."""
    title, body = notification(values)
    if plan.notify.get("terminal"):
        clients = output_of([plan.tmux, "-S", plan.socket_path, "list-clients", "-F", CLIENT])
        for client in (clients or "").split("\n"):
            tty = _reachable(client)
            if tty:
                _write_to(tty, f"\x1b]9;{title}: {body}\x07".encode())
    desktop = plan.notify.get("desktop")
    if desktop:
        _run_limited([*desktop, title, body], b"", environment, plan.cwd, NOTIFY_SECONDS)


def _reachable(client: str) -> str | None:
    """The terminal of a tmux client, if it is one on which OSC 9 means a notification or nothing.

    A client in control mode is a program that reads tmux's own lines there.
    """
    control, _, rest = client.partition(" ")
    term, _, tty = rest.partition(" ")
    return tty if control != "1" and term != "linux" and tty.startswith("/dev/") else None


def notification(values: Json) -> tuple[str, str]:
    """Title and text, in which nothing can act on a terminal."""
    name = values["name"] or values["task_id"]
    event = str(values["event"]).replace("_", " ")
    approval = values.get("approval") or {}
    if approval:
        fields = approval.get("input") or {}
        first = next((str(value) for value in fields.values() if value), "")
        body = f"{approval.get('tool')} {first}"
    else:
        error = values.get("error") or {}
        body = error.get("message") or values.get("summary") or values["cwd"]
    title = _plain(f"cuekit {name}: {event}")
    return title[:SUMMARY_CHARACTERS], _plain(str(body))[:SUMMARY_CHARACTERS]


def _plain(text: str) -> str:
    return "".join(one for one in " ".join(text.split()) if one.isprintable())


def _write_to(tty: str, data: bytes) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(tty, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)


def at_end(plan: LaunchPlan | None, task: Task | None) -> None:
    """Run what the end of a task does that this process has just settled for its supervisor.

    The submitting shell's variables were forgotten with the start: this process has others.
    """
    if plan is None or task is None or str(task.status) not in ENDINGS:
        return
    event = str(task.status)
    if does_anything(plan, event):
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in KEPT_NAMES or not name.startswith("CUEKIT_")
        }
        spawn_run(plan, told(event, task, None, time.time()), kept)
