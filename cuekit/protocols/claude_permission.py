"""The approval channel of the first design: a tool of an MCP server that claude calls over HTTP.

On 127.0.0.1 alone, on a port that the system gives, for whoever has the session's token. Measured
with Claude Code 2.1.167, 2.1.197 and 2.1.332.
"""

import asyncio
import contextlib
import hmac
import json
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from cuekit import __version__
from cuekit.errors import CuekitError
from cuekit.protocols import claude_approvals
from cuekit.protocols.claude_wire import Json, read_message
from cuekit.wire.http_server import Exchange, HttpServer
from cuekit.wire.process import Tap

SERVER_NAME = "cuekit"
TOOL_NAME = "approve"
PATH = "/mcp"
PROTOCOLS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
PROGRESS_SECONDS = 15.0
"""A call without an answer or a progress notification is given up after 300 s (2.1.197)."""

ENVIRONMENT: Mapping[str, str] = {
    "MCP_TOOL_TIMEOUT": "2000000000",  # ms; the longest that a timer of its runtime takes
    "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT": "0",
}
METHOD_NOT_FOUND, INVALID_PARAMS, PARSE_ERROR = -32601, -32602, -32700

TOOL: Json = {
    "name": TOOL_NAME,
    "description": "Asks the user of cuekit whether a tool may be used",
    "inputSchema": {
        "type": "object",
        "properties": {
            "tool_name": {"type": "string"},
            "input": {"type": "object"},
            "tool_use_id": {"type": "string"},
        },
        "required": ["tool_name", "input"],
    },
}

Decide = Callable[[Json], Awaitable[Json]]
"""From the arguments of a call to the object that claude takes; cancelled when nobody waits."""


def not_connected(init: Json) -> str | None:
    """What claude's `init` says of our server, unless that it is connected."""
    servers = init.get("mcp_servers")
    for server in servers if isinstance(servers, list) else ():
        if isinstance(server, dict) and server.get("name") == SERVER_NAME:
            state = str(server.get("status"))
            return None if state == "connected" else state
    return "missing"


class PermissionEndpoint:
    """One session's server. The token lives in a file that only its owner can read."""

    def __init__(
        self,
        run_dir: str,
        decide: Decide,
        *,
        tap: Tap | None = None,
        progress_seconds: float = PROGRESS_SECONDS,
    ) -> None:
        self._decide = decide
        self._tap = tap
        self._progress_seconds = progress_seconds
        self._token = secrets.token_urlsafe(32)
        self._server = HttpServer(self._serve, self._is_ours)
        self._calls: dict[Any, asyncio.Task[Json]] = {}
        self._connected = asyncio.Event()
        self.config_file = os.path.join(run_dir, f"mcp-{secrets.token_hex(8)}.json")

    async def start(self) -> None:
        """Listen, and write the configuration for `--mcp-config`. Raises CuekitError."""
        try:
            port = await self._server.start()
            entry = {
                "type": "http",
                "url": f"http://127.0.0.1:{port}{PATH}",
                "headers": {"Authorization": f"Bearer {self._token}"},
            }
            text = json.dumps({"mcpServers": {SERVER_NAME: entry}})
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with open(os.open(self.config_file, flags, 0o600), "w", encoding="ascii") as file:
                file.write(text)
        except OSError as error:
            await self.close()
            raise CuekitError(
                f"the approval channel could not be opened: {error.strerror}",
                code="approval_channel_failed",
                hint="give approval_channel: stdio",
            ) from None

    async def wait_connected(self, seconds: float) -> None:
        """Wait until claude has asked for the tools. Raises CuekitError."""
        try:
            async with asyncio.timeout(seconds):
                await self._connected.wait()
        except TimeoutError:
            raise CuekitError(
                f"claude did not connect to cuekit's approval channel within {seconds:g} s",
                code="approval_channel_failed",
                hint="give approval_channel: stdio",
            ) from None

    async def close(self) -> None:
        """Refuse what is open, stop listening, remove the token."""
        tasks = list(self._calls.values())
        for task in tasks:
            task.cancel("abandoned")
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.close()
        with contextlib.suppress(OSError):
            os.unlink(self.config_file)

    def _is_ours(self, headers: Mapping[str, str]) -> bool:
        given = headers.get("authorization", "").encode("utf-8", "replace")
        return hmac.compare_digest(given, f"Bearer {self._token}".encode("ascii"))

    async def _serve(self, exchange: Exchange) -> None:
        if exchange.path != PATH:
            await exchange.reply(404)
        elif exchange.method != "POST":
            await exchange.reply(405, {"Allow": "POST"})
        elif (message := read_message(exchange.body)) is None:
            error = {"code": PARSE_ERROR, "message": "one JSON object is expected"}
            await exchange.reply_json(400, {"jsonrpc": "2.0", "id": None, "error": error})
        else:
            self._show("mcp>", message)
            await self._take(exchange, message)

    async def _take(self, exchange: Exchange, message: Json) -> None:
        method, params = message.get("method"), message.get("params")
        params = params if isinstance(params, dict) else {}
        if "id" not in message or not isinstance(method, str):
            if method == "notifications/cancelled":
                self._withdraw(params.get("requestId"))
            await exchange.reply(202)
            return
        if method == "tools/call":
            await self._call(exchange, message["id"], params)
            return
        reply: Json = {"jsonrpc": "2.0", "id": message["id"], **self._answer(method, params)}
        self._show("mcp<", reply)
        await exchange.reply_json(200, reply)
        if method == "tools/list":
            self._connected.set()

    def _answer(self, method: str, params: Json) -> Json:
        if method == "initialize":
            asked = params.get("protocolVersion")
            return {
                "result": {
                    "protocolVersion": asked if asked in PROTOCOLS else PROTOCOLS[0],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": SERVER_NAME, "version": __version__},
                }
            }
        if method == "tools/list":
            return {"result": {"tools": [TOOL]}}
        if method == "ping":
            return {"result": {}}
        # `server/discover` (2.1.332) too: told that there is none, it falls back to `initialize`
        return {"error": {"code": METHOD_NOT_FOUND, "message": f"no method {method}"}}

    def _withdraw(self, request_id: Any) -> None:
        """Also comes for a call that is answered already (2.1.167, 2.1.197, 2.1.332)."""
        task = self._calls.get(_key(request_id))
        if task is not None:
            task.cancel("withdrawn")

    async def _call(self, exchange: Exchange, request_id: Any, params: Json) -> None:
        """Answer at once with a stream, and end it when somebody has decided."""
        arguments, key = params.get("arguments"), _key(request_id)
        if params.get("name") != TOOL_NAME or not isinstance(arguments, dict) or key in self._calls:
            error = {"code": INVALID_PARAMS, "message": f"the one tool is {TOOL_NAME}"}
            await exchange.reply_json(200, {"jsonrpc": "2.0", "id": request_id, "error": error})
            return
        meta = params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        task = asyncio.ensure_future(self._decide(arguments))
        self._calls[key] = task
        gone = asyncio.create_task(exchange.wait_gone())
        try:
            await exchange.start_stream()
            await self._keep_alive(exchange, task, gone, token)
            text = json.dumps(await _settled(task, gone))
            content = [{"type": "text", "text": text}]
            reply = {"jsonrpc": "2.0", "id": request_id, "result": {"content": content}}
            self._show("mcp<", reply)
            await exchange.send_event(reply)
        finally:
            self._calls.pop(key, None)
            gone.cancel()
            if not task.done():
                task.cancel("abandoned")

    async def _keep_alive(
        self,
        exchange: Exchange,
        task: "asyncio.Task[Json]",
        gone: "asyncio.Task[None]",
        token: Any,
    ) -> None:
        count = 0
        while not task.done() and not gone.done():
            await asyncio.wait(
                {task, gone}, timeout=self._progress_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if task.done() or gone.done():
                return
            count += 1
            if token is not None:
                values = {"progressToken": token, "progress": count}
                note = {"jsonrpc": "2.0", "method": "notifications/progress"}
                await exchange.send_event({**note, "params": values})

    def _show(self, direction: str, message: Json) -> None:
        if self._tap is not None:
            self._tap("#", f"{direction} {json.dumps(message)}".encode("ascii"))


async def _settled(task: "asyncio.Task[Json]", gone: "asyncio.Task[None]") -> Json:
    """The decision; a refusal when it was taken back, or when the caller has hung up."""
    if gone.done() and not task.done():
        task.cancel("abandoned")
    (result,) = await asyncio.gather(task, return_exceptions=True)
    if isinstance(result, BaseException):
        return claude_approvals.refusal(claude_approvals.REFUSED)
    return result


def _key(request_id: Any) -> Any:
    """Ids are told apart by type: 1 and "1" are two calls."""
    return (type(request_id).__name__, str(request_id))
