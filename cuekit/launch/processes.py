"""Processes: who is alive, what belongs to a task, and how it is ended.

What differs between Linux (/proc) and other systems (ps) is in this module alone.
"""

import contextlib
import functools
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

HAS_PROC = os.path.exists("/proc/self/stat")
TERM_SECONDS = 2.0
KILL_SECONDS = 5.0


class Process(NamedTuple):
    """One process of the machine; `started` tells it from a later one with the same pid."""

    pid: int
    parent: int
    group: int
    session: int
    started: str
    zombie: bool


def identity(pid: int) -> dict[str, Any] | None:
    """What names this very process for ever, or None when there is none."""
    process = look_up(pid)
    if process is None or process.zombie:
        return None
    return {"pid": pid, "started": process.started, "boot": boot_id()}


def alive(who: Mapping[str, Any] | None) -> bool:
    """Whether the process of that identity still lives."""
    if not who:
        return False
    return identity(int(who["pid"])) == dict(who)


@functools.cache
def boot_id() -> str:
    """A name of this run of the machine; empty where the system gives none."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


def look_up(pid: int) -> Process | None:
    """The process with that id."""
    if not HAS_PROC:
        return _from_ps(["-p", str(pid)]).get(pid)
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return _from_stat(pid, file.read())
    except (OSError, ValueError, IndexError):
        return None


def everything() -> dict[int, Process]:
    """All processes, by id."""
    if not HAS_PROC:
        return _from_ps(["-ax"])
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    found = ((pid, look_up(pid)) for pid in pids)
    return {pid: process for pid, process in found if process is not None}


def _from_stat(pid: int, stat: bytes) -> Process:
    # The name of the program stands in brackets and may hold anything, brackets too.
    fields = stat[stat.rindex(b")") + 2 :].split()
    return Process(
        pid=pid,
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        started=fields[19].decode(),
        zombie=fields[0] in (b"Z", b"X"),
    )


def _from_ps(selection: list[str]) -> dict[int, Process]:
    import subprocess

    columns = "pid=,ppid=,pgid=,sess=,stat=,lstart="
    done = subprocess.run(
        ["ps", *selection, "-o", columns], capture_output=True, text=True, timeout=10, check=False
    )
    found = {}
    for line in done.stdout.splitlines():
        pid, parent, group, _session, state, *started = line.split()
        found[int(pid)] = Process(
            int(pid), int(parent), int(group), 0, " ".join(started), state.startswith("Z")
        )
    return found


def members(task_id: str, roots: Iterable[int], spare: Iterable[int] = ()) -> set[int]:
    """The live processes of a task: descendants of its roots, and strays that carry its id.

    A stray is known by CUEKIT_TASK_ID in its environment (Linux; elsewhere only descendants and
    their groups are found). `spare` and this process are never among them.
    """
    processes = everything()
    kept = {os.getpid(), *spare}
    starts = {pid for pid in roots if pid in processes and pid not in kept}
    starts |= {pid for pid in processes if pid not in kept and _carries(pid, task_id)}
    groups = {processes[pid].group for pid in starts if processes[pid].group == pid}
    children: dict[int, list[int]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process.pid)
        if process.group in groups:
            starts.add(process.pid)
    found: set[int] = set()
    queue = list(starts)
    while queue:
        pid = queue.pop()
        if pid in found or pid in kept:
            continue
        found.add(pid)
        queue.extend(children.get(pid, ()))
    return {pid for pid in found if not processes[pid].zombie}


def _carries(pid: int, task_id: str) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return f"CUEKIT_TASK_ID={task_id}".encode() in file.read().split(b"\0")
    except OSError:
        return False


def environments_above(pid: int) -> Iterator[dict[str, str]]:
    """The environments of a process's ancestors, the nearest first (Linux; elsewhere none)."""
    process = look_up(pid) if HAS_PROC else None
    while process is not None and process.parent > 1:
        try:
            with open(f"/proc/{process.parent}/environ", "rb") as file:
                pairs = file.read().split(b"\0")
        except OSError:
            return  # another user's
        yield dict(os.fsdecode(pair).split("=", 1) for pair in pairs if b"=" in pair)
        process = look_up(process.parent)


def end_tree(
    find: Callable[[], set[int]],
    *,
    term_seconds: float = TERM_SECONDS,
    kill_seconds: float = KILL_SECONDS,
    reap: Callable[[], None] = lambda: None,
) -> set[int]:
    """End every process that `find` finds: TERM, then KILL; what is left after that is returned.

    `find` is asked again and again, since a process may start others while it is being ended.
    """
    _signal(find(), signal.SIGTERM)
    left = _until_gone(find, term_seconds, reap)
    deadline = time.monotonic() + kill_seconds
    while left and time.monotonic() < deadline:
        _signal(left, signal.SIGKILL)
        left = _until_gone(find, 0.2, reap)
    return left


def _until_gone(find: Callable[[], set[int]], seconds: float, reap: Callable[[], None]) -> set[int]:
    deadline = time.monotonic() + seconds
    pause = 0.005
    while True:
        reap()
        left = find()
        if not left or time.monotonic() >= deadline:
            return left
        time.sleep(pause)
        pause = min(pause * 2, 0.1)


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
            if number is signal.SIGTERM:
                os.kill(pid, signal.SIGCONT)  # a stopped process could not take it
