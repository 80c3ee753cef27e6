"""What every protocol session offers, and what it is given."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from cuekit.errors import CuekitError
from cuekit.model.approval import ApprovalRequest, Decision
from cuekit.model.event import AgentEvent
from cuekit.wire.process import Tap


class NotSignedIn(CuekitError):
    """The agent has no credentials that its provider takes."""

    default_code = "not_signed_in"


class Sent(StrEnum):
    """What became of a user message."""

    STARTED = "started"  # it began a turn
    JOINED = "joined"  # it went into the running turn
    QUEUED = "queued"  # the agent keeps it until the turn is over
    HELD = "held"  # we keep it until the turn is over, since the agent would drop one of the two


@dataclass(frozen=True)
class SessionSetup:
    """All that a session needs; no look-ups of its own."""

    argv: tuple[str, ...]  # the agent's command, an absolute path first
    cwd: str
    environment: Mapping[str, str]
    run_dir: str  # private folder for files with secrets
    model: str | None = None
    version: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)  # adapter_options
    append_system_prompt: str | None = None
    add_dirs: tuple[str, ...] = ()
    output_schema: Mapping[str, Any] | None = None
    resume: str | None = None  # the agent's own session id
    fork: bool = False
    folder_trusted: bool = False
    agent_kind: str = ""  # for a protocol that several agents speak


@dataclass(frozen=True)
class Links:
    """Where a session's findings go.

    `await_decision` is cancelled with the text "withdrawn" or "expired" when the agent takes the
    request back or its own limit is reached; any other cancellation means that it was abandoned.
    """

    emit: Callable[[AgentEvent], None]
    await_decision: Callable[[ApprovalRequest], Awaitable[Decision]]
    tap: Tap | None = None


class AgentSession(Protocol):
    """One agent process that speaks its protocol.

    Events: session_started once the agent's id is known; turn_started and turn_completed around
    each turn, exactly once each, also for interrupted and failed ones. The session's end without
    `close` is told by `wait` returning.
    """

    async def start(self) -> None:
        """Spawn, initialise, open (or resume, fork) the session. Raises CuekitError."""

    async def send(self, text: str) -> Sent:
        """Give a user message, idle or busy. Raises AgentGone, CuekitError."""

    async def interrupt(self) -> bool:
        """End the running turn and what it runs; False when there was none."""

    async def close(self) -> None:
        """End the session and the whole process group; open approvals end as abandoned."""

    async def wait(self) -> int | None:
        """Wait for the agent's process to end; its exit status."""

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
