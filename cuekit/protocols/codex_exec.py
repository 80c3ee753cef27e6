"""`codex exec --json`: one prompt, one turn, nobody asked; its events, and how it ended.

Measured with codex 0.133.0, 0.141.0 and 0.171.0.
"""

from dataclasses import dataclass

from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols.base import Links, SessionSetup
from cuekit.protocols.codex_wire import Json, without_colours
from cuekit.protocols.decode_codex_exec import Decoder
from cuekit.wire.process import AgentGone, ProcessHost

REFUSED = ("approval policy is Never; reject command", "patch rejected")
"""Parts of the lines on standard error that tell a refusal; the stream itself says nothing."""

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

    def end(self, status: int | None, last_error: str) -> Json:
        """The outcome; told as an event too where codex did not come to that."""
        if self.outcome is not None:
            return self.outcome
        stopped = status is not None and (status < 0 or status in (0, 129, 130, 143))
        interrupted = self.turn_open and stopped
        message = self._failure if not last_error else f"{self._failure}: {last_error}"
        ended: Json = {
            "outcome": "interrupted" if interrupted else "failed",
            "message": "codex ended in the middle of the turn" if interrupted else message,
        }
        if self.turn_open:
            self._links.emit(AgentEvent(EventKind.TURN_COMPLETED, ended))
        return ended


async def run(setup: SessionSetup, prompt: str | None, links: Links) -> ExecOutcome:
    """Run `setup.argv`, which holds `exec --json`, to its end.

    `prompt` goes to standard input (the argument vector ends in `-` then); None when the vector
    holds it already. Cancelled, it ends the whole process group. Raises CuekitError when codex
    cannot be started.
    """
    watch, decoder = _Watch(links), Decoder()

    def tap(direction: str, line: bytes) -> None:
        if links.tap is not None:
            links.tap(direction, line)
        if direction == "!":
            watch.error_line(without_colours(line.decode("utf-8", "replace")))

    host = ProcessHost(setup.argv, cwd=setup.cwd, environment=setup.environment, tap=tap)
    await host.start()
    try:
        await _give_prompt(host, prompt)
        async for line in host.lines():
            for event in decoder.decode_line(line):
                watch.take(event)
    finally:
        status = await host.shut_down(close_seconds=EXIT_SECONDS if watch.outcome else 1.0)
    errors = [line for line in host.error_text().splitlines() if line.startswith("Error")]
    ended = watch.end(status, errors[-1] if errors else "")
    return ExecOutcome(
        outcome=ended["outcome"],
        exit_status=status,
        message=ended.get("message"),
        agent_session_id=watch.session_id,
        refusals=watch.refusals,
    )


async def _give_prompt(host: ProcessHost, prompt: str | None) -> None:
    try:
        if prompt is not None:
            await host.write_line(prompt.encode("utf-8", "replace"))
    except AgentGone:
        pass  # it has ended already: its last words say why
    finally:
        host.close_input()
