"""`codex exec --json`: one prompt, one turn, nobody asked; its events, and how it ended.

Measured with codex 0.133.0, 0.141.0 and 0.171.0.
"""

import asyncio
import contextlib
from dataclasses import dataclass

from cuekit.errors import CuekitError
from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols import codex_settings
from cuekit.protocols.base import Links, Sent, SessionSetup
from cuekit.protocols.codex_wire import Json, without_colours
from cuekit.protocols.decode_codex_exec import Decoder
from cuekit.protocols.processes import Commands
from cuekit.wire.process import AgentGone, ProcessHost

REFUSED = ("approval policy is Never; reject command", "patch rejected")
"""Parts of the lines on standard error that tell a refusal; the stream itself says nothing."""

END_SECONDS = 0.5
EXIT_SECONDS = 20.0  # offline, 0.133.0 and 0.141.0 live on for 5 s after their last line


@dataclass(frozen=True)
class ExecOutcome:
    """How a run ended. Completed means that codex said so: it exits with 0 on SIGTERM too."""

    outcome: str  # completed, failed, interrupted
    exit_status: int | None
    message: str | None = None
    agent_session_id: str | None = None
    refusals: int = 0  # actions that codex refused because nobody could be asked


class _Watch:
    """What a run has told so far."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._failure = "codex ended without a turn"
        self.session_id: str | None = None
        self.turn_open = False
        self.outcome: Json | None = None
        self.refusals = 0

    def take(self, event: AgentEvent) -> None:
        kind, values = event
        if kind is EventKind.SESSION_STARTED:
            self.session_id = values["agent_session_id"]
        elif kind is EventKind.TURN_STARTED:
            self.turn_open = True
        elif kind is EventKind.TURN_COMPLETED:
            self.turn_open, self.outcome = False, values
        elif kind is EventKind.ERROR and not values["recoverable"]:
            self._failure = values["message"]
        self._links.emit(event)

    def error_line(self, line: str) -> None:
        """A refusal leaves no trace but this: not in the stream, not in the exit status."""
        if any(words in line for words in REFUSED):
            self.refusals += 1
            words = f"codex refused an action, since nobody can be asked in batch: {line[-300:]}"
            values = {"message": words, "recoverable": False, "code": "refused_unasked"}
            self._links.emit(AgentEvent(EventKind.ERROR, values))

    def end(self, stopped: bool, last_error: list[str]) -> Json:
        """The outcome; told as an event where codex did not come to that."""
        if self.outcome is not None:
            return self.outcome
        if stopped:
            ended: Json = {"outcome": "interrupted", "message": "codex was stopped in its turn"}
        else:
            ended = {"outcome": "failed", "message": ": ".join([self._failure, *last_error])}
        if self.turn_open:
            self.turn_open = False
            self._links.emit(AgentEvent(EventKind.TURN_COMPLETED, ended))
        elif not stopped:
            values = {"message": ended["message"], "recoverable": False}
            self._links.emit(AgentEvent(EventKind.ERROR, values))
        self.outcome = ended
        return ended


class CodexExec:
    """A batch run as a session of one prompt. See `protocols.base.AgentSession`."""

    def __init__(self, setup: SessionSetup, links: Links) -> None:
        self._setup = setup
        self._links = links
        self._watch = _Watch(links)
        self._host: ProcessHost | None = None
        self._reader: asyncio.Task[None] | None = None
        self._stopped = False
        self.outcome: ExecOutcome | None = None  # once it has ended

    @property
    def busy(self) -> bool:
        """Whether the turn is still to end."""
        return self._reader is not None and not self._reader.done() and not self._watch.outcome

    async def start(self) -> None:
        """Nothing runs before there is a prompt. Raises CuekitError for what exec cannot do."""
        if self._setup.fork:
            raise CuekitError(
                "codex exec cannot fork a session", code="not_supported", hint="--mode supervised"
            )

    async def send(self, text: str) -> Sent:
        """Start codex with its prompt on standard input: it takes any text of any length there."""
        if self._host is not None:
            raise CuekitError("a batch run takes one prompt", code="one_prompt")
        argv = codex_settings.exec_argv(self._setup)
        self._host = ProcessHost(
            argv, cwd=self._setup.cwd, environment=self._setup.environment, tap=self._tap
        )
        await self._host.start()
        self._reader = asyncio.create_task(self._read(self._host))
        with contextlib.suppress(AgentGone):  # ended already: its last words say why
            await self._host.write_line(text.encode("utf-8", "replace"))
        self._host.close_input()
        return Sent.STARTED

    async def interrupt(self) -> bool:
        """End the run, with its turn; False when it has ended."""
        if not self.busy:
            return False
        await self.close()
        return True

    async def close(self) -> None:
        """End the process group and what it has started."""
        if self._host is None or self._reader is None:
            return
        self._stopped = self._watch.outcome is None
        commands = Commands()
        if self._stopped:
            commands.hold_all(self._host.pid)
        else:
            commands.look_at_all(self._host.pid)
        await self._host.shut_down(close_seconds=0.0 if self._stopped else END_SECONDS)
        await commands.end()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def wait(self) -> int | None:
        """Wait for the end of the process and of its output; its exit status."""
        if self._host is None or self._reader is None:
            return None
        await asyncio.shield(asyncio.gather(self._reader, return_exceptions=True))
        return self._host.returncode

    async def _read(self, host: ProcessHost) -> None:
        decoder = Decoder()
        async for line in host.lines():
            for event in decoder.decode_line(line):
                self._watch.take(event)
        status: int | None = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EXIT_SECONDS):
                status = await host.wait()
        errors = [line for line in host.error_text().splitlines() if line.startswith("Error")]
        ended = self._watch.end(self._stopped or _was_stopped(status), errors[-1:])
        self.outcome = ExecOutcome(
            outcome=ended["outcome"],
            exit_status=status,
            message=ended.get("message"),
            agent_session_id=self._watch.session_id,
            refusals=self._watch.refusals,
        )

    def _tap(self, direction: str, line: bytes) -> None:
        if self._links.tap is not None:
            self._links.tap(direction, line)
        if direction == "!":
            self._watch.error_line(without_colours(line.decode("utf-8", "replace")))


def _was_stopped(status: int | None) -> bool:
    """Whether an exit without an end of the turn tells of a signal: 0.133.0 gives 0 for TERM."""
    return status is not None and (status < 0 or status in (0, 129, 130, 143))
