"""The commands that an agent has running, so that an interrupt leaves none of them."""

import asyncio
import contextlib
import os
import signal

from cuekit.launch.processes import Process, everything

GONE_SECONDS = 2.0
LOOK_SECONDS = 0.02


class Commands:
    """Tells the processes of a turn from those that the agent keeps, such as MCP servers.

    Commands of codex and claude have a session of their own, MCP servers are in the agent's
    (Linux; elsewhere only those count as kept that were there before the turn).
    Codex's turn/interrupt leaves the running command alive in 0.133.0, 0.141.0 and 0.171.0;
    thread/backgroundTerminals/clean ends it. What gets away from that is ended here by its pid.
    """

    def __init__(self) -> None:
        self._kept: set[tuple[int, str]] = set()
        self._seen: dict[int, str] = {}

    def turn_begins(self, server: int) -> None:
        """What lives below the server now is not the turn's."""
        self._kept = set(_below(server).items())
        self._seen = {}

    def look(self, server: int) -> None:
        """Note what the turn has started, before its parent is gone."""
        now = everything()
        if server not in now:
            return
        own = now[server].session
        for pid, started in _below(server, now).items():
            is_command = now[pid].session != own or not own
            if is_command and (pid, started) not in self._kept:
                self._seen[pid] = started

    def look_at_all(self, server: int) -> None:
        """Note everything below the server: it is about to be ended itself."""
        self._seen.update(_below(server))

    def hold_all(self, server: int) -> None:
        """Note everything below the server and stop it, so that nothing more is started there.

        A sandbox that is just being set up would else start the command when nobody looks any more.
        """
        while new := _below(server).items() - self._seen.items():
            self._seen.update(new)
            for pid, _ in new:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGSTOP)

    def left(self) -> set[int]:
        """Those noted that still live, with the descendants that they have now."""
        if not self._seen:
            return set()
        now = everything()
        alive = {
            pid
            for pid, started in self._seen.items()
            if pid in now and now[pid].started == started and not now[pid].zombie
        }
        grew = True
        while grew:
            more = {p.pid for p in now.values() if p.parent in alive and not p.zombie} - alive
            alive |= more
            grew = bool(more)
        self._seen.update({pid: now[pid].started for pid in alive})
        return alive

    def kill(self) -> set[int]:
        """Kill what is left; those that were."""
        left = self.left()
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        return left

    async def end(self) -> None:
        """Kill what is left, and wait until it is gone: a killed process lives on for a moment."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + GONE_SECONDS
        while self.kill() and loop.time() < deadline:
            await asyncio.sleep(LOOK_SECONDS)


def _below(server: int, now: dict[int, Process] | None = None) -> dict[int, str]:
    """The descendants of a process, with the start of each."""
    now = everything() if now is None else now
    children: dict[int, list[int]] = {}
    for process in now.values():
        children.setdefault(process.parent, []).append(process.pid)
    found: dict[int, str] = {}
    queue = list(children.get(server, ()))
    while queue:
        pid = queue.pop()
        if pid not in found:
            found[pid] = now[pid].started
            queue.extend(children.get(pid, ()))
    return found
