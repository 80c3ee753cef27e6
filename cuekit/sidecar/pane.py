"""The pane of a supervised task, as the rest of the sidecar sees it."""

import asyncio
import sys
from collections.abc import Sequence
from typing import Protocol

from cuekit.model.approval import Decision
from cuekit.model.event import AgentEvent
from cuekit.store.approvals import Approval


class Actions(Protocol):
    """What a person at the pane can do."""

    def send(self, text: str) -> None:
        """Give the agent a message."""

    def interrupt(self) -> None:
        """Ctrl-C: end the running turn; soon after another one, end the run."""

    def end(self) -> None:
        """End the run cleanly."""

    def decide(self, approval_id: str, decision: Decision) -> None:
        """Decide an approval. Raises CuekitError: not offered, or somebody else was first."""


class Pane(Protocol):
    """Shows the conversation and takes keys."""

    def show(self, event: AgentEvent) -> None:
        """Show an event of the run."""

    def note(self, text: str) -> None:
        """Say something of cuekit's own."""

    def set_pending(self, approvals: Sequence[Approval]) -> None:
        """The approvals that wait now, oldest first; rings the bell when there is a new one."""

    async def run(self, actions: Actions) -> None:
        """Take keys until cancelled, or until there is no terminal any more."""


class PlainPane:
    """A pane for runs without a terminal: says what is cuekit's own, and takes no keys."""

    def show(self, event: AgentEvent) -> None:
        """Nothing: the events are in the task's file."""

    def note(self, text: str) -> None:
        """One line on standard error."""
        sys.stderr.write(f"{text}\n")

    def set_pending(self, approvals: Sequence[Approval]) -> None:
        """Nothing."""

    async def run(self, actions: Actions) -> None:
        """Wait for the end."""
        await asyncio.Event().wait()
