"""One end of a JSON-RPC connection over lines; for Codex (no `jsonrpc` member) and ACP (with it).

Methods and parameters are opaque here. A request of the other side runs in a task of its own, so
that one that waits for a person holds up nobody. Whatever ends, ends every request that waits.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from cuekit.errors import CuekitError
from cuekit.wire.lines import encode, parse
from cuekit.wire.process import AgentGone, ProcessHost

METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603

Json = dict[str, Any]
AtOnce = Callable[[Json], None]
log = logging.getLogger(__name__)


class RemoteError(CuekitError):
    """The other side answered a request with an error."""

    default_code = "agent_error"

    def __init__(self, method: str, error: Any) -> None:
        number = error.get("code") if isinstance(error, dict) else None
        words = error.get("message") if isinstance(error, dict) else error
        super().__init__(f"{method}: {words}", details={"method": method, "rpc_code": number})
        self.rpc_code = number
        self.data = error.get("data") if isinstance(error, dict) else None


class RequestFailed(Exception):
    """Raised by a handler to answer a request with a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Peer:
    """A connection. `on_request` answers requests (raise RequestFailed or return the result).

    `on_message` sees every notification, `on_stray` every line or reply that nobody waits for.
    """

    def __init__(
        self,
        host: ProcessHost,
        *,
        on_request: Callable[[str, Json, Any], Awaitable[Any]],
        on_notification: Callable[[str, Json], None],
        on_stray: Callable[[Any], None],
        header: bool,
    ) -> None:
        self._host = host
        self._on_request = on_request
        self._on_notification = on_notification
        self._on_stray = on_stray
        self._header: Json = {"jsonrpc": "2.0"} if header else {}
        self._next_id = 1
        self._waiting: dict[Any, tuple[str, asyncio.Future[Any], AtOnce | None]] = {}
        self._serving: dict[Any, asyncio.Task[None]] = {}
        self._closed: CuekitError | None = None

    async def request(
        self, method: str, params: Json | None = None, *, at_once: AtOnce | None = None
    ) -> Any:
        """Ask and wait for the result. Raises RemoteError, AgentGone.

        `at_once` sees the reply before any message behind it is read: what waits here goes on
        only when the loop comes to it, and by then the agent may have begun with the next thing.
        """
        if self._closed is not None:
            raise self._closed
        number, self._next_id = self._next_id, self._next_id + 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = (method, future, at_once)
        try:
            await self._send({"id": number, "method": method, "params": params or {}})
            return await future
        finally:
            self._waiting.pop(number, None)

    async def notify(self, method: str, params: Json | None = None) -> None:
        """Tell without expecting an answer. Raises AgentGone."""
        message: Json = {"method": method}
        if params is not None or self._header:
            message["params"] = params or {}
        await self._send(message)

    def cancel_serving(self, request_id: Any, why: str) -> bool:
        """Cancel the handler of an open request of the other side; no answer is sent for it."""
        task = self._serving.get(_key(request_id))
        return task.cancel(why) if task is not None else False

    def is_serving(self, request_id: Any) -> bool:
        """Whether a request of the other side is open, its handler perhaps not yet begun."""
        return _key(request_id) in self._serving

    @property
    def open_requests(self) -> int:
        """How many requests of the other side wait for our answer."""
        return len(self._serving)

    async def run(self) -> None:
        """Read until the other side ends; then every waiting request fails with AgentGone."""
        try:
            async for line in self._host.lines():
                self._take(line)
        finally:
            await self._end()

    async def _end(self) -> None:
        words = self._host.error_text().splitlines()
        said = f": {words[-1][:500]}" if words else ""
        self._closed = AgentGone(f"the agent has ended its side of the connection{said}")
        for _, future, _ in self._waiting.values():
            if not future.done():
                future.set_exception(self._closed)
        serving = list(self._serving.values())
        for task in serving:
            task.cancel("abandoned")
        await asyncio.gather(*serving, return_exceptions=True)

    def _take(self, line: bytes) -> None:
        try:
            message = parse(line)
        except ValueError:
            self._on_stray(line.decode("utf-8", "replace"))
            return
        if not isinstance(message, dict):
            self._on_stray(message)
        elif isinstance(message.get("method"), str):
            params = message.get("params")
            self._take_call(message, params if isinstance(params, dict) else {})
        elif "id" in message and ("result" in message or "error" in message):
            self._take_reply(message)
        else:
            self._on_stray(message)

    def _take_call(self, message: Json, params: Json) -> None:
        # 0 is an id, and so is a text: only a missing member makes a notification.
        if "id" not in message:
            self._on_notification(message["method"], params)
            return
        key = _key(message["id"])
        task = asyncio.create_task(self._serve(message["method"], params, message["id"]))
        self._serving[key] = task
        task.add_done_callback(lambda _: self._serving.pop(key, None))

    def _take_reply(self, message: Json) -> None:
        number = message["id"]
        known = number if isinstance(number, int | str) else None
        method, future, at_once = self._waiting.get(known, ("", None, None))
        if future is None or future.done():
            self._on_stray(message)
            return
        if at_once is not None:
            at_once(message)
        if message.get("error") is not None:
            future.set_exception(RemoteError(method, message["error"]))
        else:
            future.set_result(message.get("result"))

    async def _serve(self, method: str, params: Json, request_id: Any) -> None:
        try:
            reply: Json = {"result": await self._on_request(method, params, request_id)}
        except RequestFailed as failed:
            reply = {"error": {"code": failed.code, "message": str(failed)}}
        except Exception:
            log.exception("the handler of %s failed", method)
            reply = {"error": {"code": INTERNAL_ERROR, "message": "internal error"}}
        with contextlib.suppress(AgentGone):
            await self._send({"id": request_id, **reply})

    async def _send(self, message: Json) -> None:
        await self._host.write_line(encode({**self._header, **message}))


def _key(request_id: Any) -> Any:
    """Ids are told apart by type: 1 and "1" are two requests."""
    try:
        hash(request_id)
    except TypeError:
        return ("other", repr(request_id))
    return (type(request_id).__name__, request_id)
