"""A small HTTP/1.1 server for one trusted client on this machine: whole bodies in, streams out."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

HEAD_BYTES = 64 * 1024
BODY_BYTES = 64 * 1024 * 1024
LAST_ANSWER_SECONDS = 1.0
REASONS = {
    200: "OK",
    202: "Accepted",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    411: "Length Required",
    413: "Content Too Large",
}


class Exchange:
    """One request, and the ways to answer it."""

    def __init__(
        self,
        method: str,
        path: str,
        body: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.method = method
        self.path = path
        self.body = body
        self.streaming = False
        self._reader = reader
        self._writer = writer

    async def reply(
        self, status: int, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> None:
        """A whole answer."""
        await _reply(self._writer, status, headers or {}, body)

    async def reply_json(self, status: int, value: Any) -> None:
        """A whole answer in JSON."""
        body = json.dumps(value).encode("ascii")
        await self.reply(status, {"Content-Type": "application/json"}, body)

    async def start_stream(self) -> None:
        """Begin an answer of server-sent events; it ends with the connection."""
        self.streaming = True
        head = (
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
            "Connection: close\r\n\r\n: open\n\n"
        )
        self._writer.write(head.encode("ascii"))
        await self._writer.drain()

    async def send_event(self, value: Any) -> None:
        """One event with a JSON value."""
        text = json.dumps(value)
        self._writer.write(f"event: message\ndata: {text}\n\n".encode("ascii"))
        await self._writer.drain()

    async def wait_gone(self) -> None:
        """Wait until the client hangs up; what it still sends is not read as a request."""
        with contextlib.suppress(OSError):
            while await self._reader.read(4096):
                pass


Serve = Callable[[Exchange], Awaitable[None]]
Allowed = Callable[[Mapping[str, str]], bool]


class HttpServer:
    """Listens on 127.0.0.1. A request that is not allowed gets 401 before its body is read."""

    def __init__(self, serve: Serve, allowed: Allowed) -> None:
        self._serve = serve
        self._allowed = allowed
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()  # one for each connection
        self._answering: set[asyncio.Task[None]] = set()

    async def start(self) -> int:
        """Listen on a free port; which one. Raises OSError."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=HEAD_BYTES)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        """Stop listening, let answers that are under way go out, and end every connection."""
        if self._server is not None:
            self._server.close()
        own = asyncio.current_task()
        answering = [task for task in self._answering if task is not own]
        if answering:
            await asyncio.wait(answering, timeout=LAST_ANSWER_SECONDS)
        tasks = [task for task in self._tasks if task is not own]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
        try:
            while await self._one(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass  # a client that hung up or speaks no HTTP
        except asyncio.CancelledError:
            pass  # the server is closed; asyncio would log it as an error of its own
        finally:
            writer.close()
            if task is not None:
                self._tasks.discard(task)

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; whether the connection stays open."""
        head = await reader.readuntil(b"\r\n\r\n")
        method, path, headers = parse_head(head)
        if not self._allowed(headers):
            await _reply(writer, 401, {"WWW-Authenticate": "Bearer", "Connection": "close"}, b"")
            return False
        length = headers.get("content-length", "" if method == "POST" else "0")
        if not length.isdecimal() or "transfer-encoding" in headers:
            await _reply(writer, 411, {"Connection": "close"}, b"")
            return False
        if int(length) > BODY_BYTES:
            await _reply(writer, 413, {"Connection": "close"}, b"")
            return False
        body = await reader.readexactly(int(length))
        exchange = Exchange(method, path, body, reader, writer)
        task = asyncio.current_task()
        if task is not None:
            self._answering.add(task)
        try:
            await self._serve(exchange)
        finally:
            if task is not None:
                self._answering.discard(task)
        return not exchange.streaming and headers.get("connection", "").lower() != "close"


def parse_head(head: bytes) -> tuple[str, str, dict[str, str]]:
    """Method, path and headers (names in small letters). Raises ValueError."""
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise ValueError(line)
        headers[name.strip().lower()] = value.strip()
    return method, path, headers


async def _reply(
    writer: asyncio.StreamWriter, status: int, headers: Mapping[str, str], body: bytes
) -> None:
    lines = [f"HTTP/1.1 {status} {REASONS[status]}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
    await writer.drain()
