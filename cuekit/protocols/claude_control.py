"""Claude's control requests, both ways: ours, and those by which it asks leave.

Measured with Claude Code 2.1.167, 2.1.197 and 2.1.332.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from cuekit.errors import CuekitError
from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols import claude_approvals
from cuekit.protocols.base import Links
from cuekit.protocols.claude_wire import Json
from cuekit.wire.process import AgentGone

ASKS = "can_use_tool"
log = logging.getLogger(__name__)


class Approver:
    """From what claude asks to what it is answered, for both channels; fails closed."""

    def __init__(self, links: Links, cwd: str) -> None:
        self._links = links
        self._cwd = cwd

    async def decide(self, asked: Json) -> Json:
        """The answer; whatever goes wrong is a denial. Cancelled, the request ends undecided."""
        try:
            request = claude_approvals.approval_request(asked, self._cwd)
        except (KeyError, TypeError, ValueError, AttributeError):
            words = claude_approvals.NOT_UNDERSTOOD
            values = {"message": words, "recoverable": True, "code": "request_refused"}
            self._links.emit(AgentEvent(EventKind.ERROR, values))
            return claude_approvals.refusal(words)
        try:
            decision = await self._links.await_decision(request)
        except Exception:
            log.exception("no decision could be had")
            return claude_approvals.refusal(claude_approvals.REFUSED)
        return claude_approvals.answer(asked, decision)


class Control:
    """The control messages of one process."""

    def __init__(
        self,
        write: Callable[[Json], Awaitable[None]],
        decide: Callable[[Json], Awaitable[Json]],
    ) -> None:
        self._write = write
        self._decide = decide
        self._numbers = 0
        self._waiting: dict[str, asyncio.Future[Json]] = {}  # our requests
        self._deciding: dict[str, asyncio.Task[None]] = {}  # claude's
        self._gone: AgentGone | None = None

    async def request(self, request: Json) -> Json:
        """A request and its answer. Raises CuekitError, AgentGone."""
        if self._gone is not None:
            raise self._gone
        self._numbers += 1
        name = f"cuekit-{self._numbers}"
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[name] = future
        try:
            await self._write({"type": "control_request", "request_id": name, "request": request})
            return await future
        finally:
            self._waiting.pop(name, None)

    def take(self, message: Json) -> None:
        """A message of claude's whose type begins with `control_`; a broken one is passed over."""
        match message.get("type"):
            case "control_request":
                self._asked(message.get("request_id"), message.get("request"))
            case "control_response":
                self._answered(message.get("response"))
            case "control_cancel_request":
                self._withdrawn(message.get("request_id"))

    async def end(self, gone: AgentGone) -> None:
        """Claude has ended: whatever waits for it fails, and decisions are abandoned."""
        self._gone = gone
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(gone)
        tasks = list(self._deciding.values())
        for task in tasks:
            task.cancel("abandoned")
        await asyncio.gather(*tasks, return_exceptions=True)

    def _asked(self, name: Any, request: Any) -> None:
        if not isinstance(request, dict) or not isinstance(name, str) or name in self._deciding:
            return  # nobody can be answered; claude does not run what it got no answer for
        task = asyncio.create_task(self._serve(name, request))
        self._deciding[name] = task
        task.add_done_callback(lambda _: self._deciding.pop(name, None))

    async def _serve(self, name: str, request: Json) -> None:
        if request.get("subtype") == ASKS:
            body: Json = {"subtype": "success", "response": await self._decide(request)}
        else:
            body = {"subtype": "error", "error": f"not supported: {request.get('subtype')}"}
        response = {"type": "control_response", "response": {**body, "request_id": name}}
        with contextlib.suppress(AgentGone):
            await self._write(response)

    def _answered(self, response: Any) -> None:
        if not isinstance(response, dict):
            return
        future = self._waiting.get(str(response.get("request_id")))
        if future is None or future.done():
            return
        if response.get("subtype") == "success":
            result = response.get("response")
            future.set_result(result if isinstance(result, dict) else {})
        else:
            words = f"claude refused a request: {response.get('error')}"
            future.set_exception(CuekitError(words, code="agent_error"))

    def _withdrawn(self, name: Any) -> None:
        task = self._deciding.get(str(name))
        if task is not None:
            task.cancel("withdrawn")
