"""The open requests for leave of an ACP session: each asked once, and answered exactly once."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from cuekit.model.approval import ApprovalRequest, Decision, DecisionKind
from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols import acp_permission
from cuekit.protocols.acp_permission import CANCELLED
from cuekit.protocols.acp_values import Json
from cuekit.protocols.base import Links, SessionSetup
from cuekit.protocols.decode_acp import Decoder

METHOD = "session/request_permission"
ALLOWS = frozenset({DecisionKind.ALLOW, DecisionKind.ALLOW_ALWAYS})
log = logging.getLogger(__name__)


class Turns(Protocol):
    """What the session does when a request was decided."""

    @property
    def ending(self) -> bool:
        """Whether the turn is over or being ended: nothing is allowed any more."""

    async def cancel(self) -> None:
        """Cancel the turn."""

    def denied(self, reason: str | None) -> None:
        """Something was refused; the wire has no place for the reason."""


class Leave:
    """Takes requests to whoever decides, and decisions back in the agent's own options."""

    def __init__(self, setup: SessionSetup, links: Links, decoder: Decoder, turns: Turns) -> None:
        self._setup = setup
        self._links = links
        self._decoder = decoder
        self._turns = turns
        self._deciding: dict[tuple[str, str], asyncio.Task[Decision]] = {}
        self._taken_back: set[tuple[str, str]] = set()  # before they came to anybody

    @property
    def open(self) -> int:
        """How many requests wait for a decision."""
        return len(self._deciding)

    async def ask(self, params: Json, request_id: Any) -> Json:
        """The outcome of one request; `cancelled` for one that is over or not understood."""
        try:
            item, events = self._decoder.asked(params)
            request = acp_permission.approval_request(
                self._setup.agent_kind, params, item, self._decoder.items, self._setup.cwd
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            self._warn("a request for leave was not understood, and refused")
            return CANCELLED
        for event in events:
            self._links.emit(event)
        decision = await self._decision(request, request_id)
        if decision is None:
            return CANCELLED
        return await self._outcome(request, decision)

    def settle(self, why: str) -> None:
        """End every open request; each is answered `cancelled`."""
        for deciding in self._deciding.values():
            deciding.cancel(why)

    def withdraw(self, request_id: Any, *, known: bool) -> None:
        """The agent takes a request back; a `known` one may not have come to anybody yet."""
        key = _key(request_id)
        deciding = self._deciding.get(key)
        if deciding is not None:
            deciding.cancel("withdrawn")
        elif known:
            self._taken_back.add(key)

    async def _decision(self, request: ApprovalRequest, request_id: Any) -> Decision | None:
        """What was decided; None when the request is over without that."""
        key = _key(request_id)
        if self._turns.ending or key in self._taken_back:
            self._taken_back.discard(key)
            return None
        deciding = asyncio.create_task(_awaited(self._links.await_decision, request))
        self._deciding[key] = deciding
        try:
            await asyncio.wait({deciding})
        except asyncio.CancelledError as cancelled:
            deciding.cancel(*cancelled.args)
            await asyncio.gather(deciding, return_exceptions=True)
            raise
        finally:
            self._deciding.pop(key, None)
        # A decision of the moment in which the turn was cancelled counts no more.
        if deciding.cancelled() or self._turns.ending:
            return None
        if (error := deciding.exception()) is not None:
            log.error("an approval could not be decided", exc_info=error)
            return None
        return deciding.result()

    async def _outcome(self, request: ApprovalRequest, decision: Decision) -> Json:
        if decision.kind is DecisionKind.CANCEL_RUN:
            await self._turns.cancel()
            return CANCELLED
        allowed = decision.kind in ALLOWS and decision.changed_input is None
        if allowed and not acp_permission.can_allow(request.options):
            self._warn("the agent offers no answer that allows it once: refused")
        elif not allowed:
            self._turns.denied(decision.message)
        return acp_permission.answer(request.options, decision)

    def _warn(self, message: str) -> None:
        values = {"message": message, "recoverable": True, "code": "request_refused"}
        self._links.emit(AgentEvent(EventKind.ERROR, values))


async def _awaited(
    decide: Callable[[ApprovalRequest], Awaitable[Decision]], request: ApprovalRequest
) -> Decision:
    return await decide(request)


def _key(request_id: Any) -> tuple[str, str]:
    """0 is an id, and so is "0": another one."""
    return (type(request_id).__name__, repr(request_id))
