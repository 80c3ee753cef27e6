"""`claude -p --output-format stream-json`: one prompt, one turn, nobody asked; and how it ended.

Measured with Claude Code 2.1.167, 2.1.197 and 2.1.332.
"""

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass
from typing import Any

from cuekit.agents.claude_code import TRUSTED_FOLDER, batch_arguments
from cuekit.errors import InvalidState
from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols.base import Links, Sent, SessionSetup
from cuekit.protocols.claude_stream import BYPASS, asked_of, last_words, literal
from cuekit.protocols.claude_wire import Json
from cuekit.protocols.decode_claude import Decoder
from cuekit.protocols.processes import Commands
from cuekit.wire.process import AgentGone, ProcessHost

INTERRUPT_SECONDS = 10.0
EXIT_SECONDS = 10.0  # from the result to the exit


@dataclass(frozen=True)
class BatchOutcome:
    """How a run ended. With denials it may be completed all the same: claude exits with 0."""

    outcome: str  # completed, failed, interrupted
    exit_status: int | None
    message: str | None = None
    agent_session_id: str | None = None
    denials: tuple[Json, ...] = ()  # what claude was not allowed, since nobody could be asked


class ClaudeBatch:
    """One run. See `protocols.base.AgentSession`; it takes one message, and ends by itself."""

    def __init__(self, setup: SessionSetup, links: Links) -> None:
        # As in plain batch: without asking, unless the option is a literal false.
        asked = asked_of(setup, skip_permissions=setup.options.get(BYPASS) is not False)
        environment = dict(setup.environment) | (TRUSTED_FOLDER if setup.folder_trusted else {})
        self._host = ProcessHost(
            batch_arguments(setup.argv, asked),
            cwd=setup.cwd,
            environment=environment,
            tap=links.tap,
        )
        self._links = links
        self._decoder = Decoder()
        self._commands = Commands()
        self._reader: asyncio.Task[None] | None = None
        self._sent = False
        self._ended: Json | None = None
        self._finished = asyncio.Event()
        self._closing = False

    @property
    def busy(self) -> bool:
        """Whether the one turn runs."""
        return self._sent and self._ended is None

    async def start(self) -> None:
        """Spawn. Raises CuekitError (`agent_not_started`)."""
        await self._host.start()
        self._reader = asyncio.create_task(self._read())

    async def send(self, text: str) -> Sent:
        """Give the prompt. Raises InvalidState for a second one."""
        if self._sent:
            raise InvalidState("a batch run takes one prompt", hint="--mode supervised")
        self._sent = True
        # Told already: it has ended, and its last words say why.
        with contextlib.suppress(AgentGone):
            await self._host.write_line(literal(text).encode("utf-8", "replace"))
        self._host.close_input()
        return Sent.STARTED

    async def interrupt(self) -> bool:
        """End the turn, and with it the run; False when none runs."""
        if not self.busy:
            return False
        self._commands.look_at_all(self._host.pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._host.pid, signal.SIGINT)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._finished.wait(), INTERRUPT_SECONDS)
        await self.close()
        return True

    async def close(self) -> None:
        """End the run and every process of it."""
        self._closing = True
        with contextlib.suppress(AgentGone):
            self._commands.look_at_all(self._host.pid)
        await self._host.shut_down(close_seconds=0.3 if self.busy else EXIT_SECONDS)
        await self._commands.end()
        if self._reader is not None:
            await asyncio.gather(self._reader, return_exceptions=True)

    async def wait(self) -> int | None:
        """Wait for the process to end and its last words to be read; its exit status."""
        status = await self._host.wait()
        if self._reader is not None:
            await asyncio.shield(asyncio.gather(self._reader, return_exceptions=True))
        return status

    def outcome(self) -> BatchOutcome:
        """How the run ended, once `wait` has returned."""
        ended: Json = self._ended or {"outcome": "failed", "message": "claude ended without a turn"}
        return BatchOutcome(
            outcome=ended["outcome"],
            exit_status=self._host.returncode,
            message=ended.get("message"),
            agent_session_id=self._decoder.session_id,
            denials=tuple(ended.get("permission_denials", ())),
        )

    async def _read(self) -> None:
        try:
            async for line in self._host.lines():
                for event in self._decoder.decode_line(line):
                    self._take(event)
        finally:
            await self._end()

    def _take(self, event: AgentEvent) -> None:
        if event.kind is EventKind.TURN_COMPLETED:
            self._ended = event.values
            for denial in event.values.get("permission_denials", ()):
                self._links.emit(AgentEvent(EventKind.ERROR, refused(denial)))
        self._links.emit(event)
        if self._ended is not None:
            self._finished.set()

    async def _end(self) -> None:
        """The end of claude's output: told as a failed turn where claude did not come to one."""
        said = await last_words(self._host)
        if self._ended is None and self._sent:
            if not self._decoder.in_turn:
                self._links.emit(AgentEvent(EventKind.TURN_STARTED, {}))
            self._ended = {"outcome": "interrupted"}
            if not self._closing:
                words = f"claude ended in the middle of the turn{said}"
                self._ended = {"outcome": "failed", "message": words, "code": "agent_gone"}
            self._links.emit(AgentEvent(EventKind.TURN_COMPLETED, self._ended))
        self._finished.set()


def refused(denial: Json) -> Json:
    """The error that names what claude was not allowed: its exit status is 0 all the same."""
    asked: Any = denial.get("input") or {}
    shown = asked.get("command") or asked.get("file_path") or asked.get("url") or ""
    what = f"{denial['native_tool']}: {str(shown)[:300]}" if shown else denial["native_tool"]
    message = f"claude was not allowed to act, since nobody can be asked in batch: {what}"
    return {"message": message, "recoverable": False, "code": "refused_unasked"}


async def run(setup: SessionSetup, prompt: str, links: Links) -> BatchOutcome:
    """Run a prompt to its end; cancelled, it ends the whole process group.

    Raises CuekitError when claude cannot be started.
    """
    batch = ClaudeBatch(setup, links)
    try:
        await batch.start()
        await batch.send(prompt)
        await batch.wait()
    finally:
        await batch.close()
    return batch.outcome()
