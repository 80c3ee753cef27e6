"""The HTTP side of the scripted model: one server on loopback for both protocols."""

from __future__ import annotations

import itertools
import json
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.wait import wait_until

from . import chat_api, gemini_api, messages_api, responses_api
from .script import Drop, Gate, HttpError, Pause, Reply, Script, Step, reply_of

KEPT_HEADERS = ("user-agent", "content-encoding", "x-stainless-retry-count")
"""The only headers that are recorded: never one that carries a key."""

PROTOCOLS: Mapping[str, ModuleType] = {
    "chat": chat_api,
    "gemini": gemini_api,
    "messages": messages_api,
    "responses": responses_api,
}
GEMINI_STREAM = ":streamGenerateContent"


class ClientGone(Exception):
    """The agent closed its connection before the reply was over."""


@dataclass
class Request:
    """One request as the server saw it. `kind`: turn, side (titles and the like) or other."""

    number: int
    method: str
    path: str
    kind: str
    api: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    peer: str
    at: float
    answered_by: str = ""
    outcome: str = "open"
    """open, sent, dropped, client closed, or the HTTP status of an error. codex 0.133 and 0.141
    do not hang up when a person interrupts them: they read the rest and throw it away."""

    @property
    def protocol(self) -> ModuleType:
        """The module that reads bodies of this kind."""
        return PROTOCOLS[self.api or "responses"]

    @property
    def user_messages(self) -> list[str]:
        """Every message of the user in the conversation so far, oldest first."""
        found: list[str] = self.protocol.user_messages(self.body)
        return found

    @property
    def newest_user_messages(self) -> list[str]:
        """The user's messages that the model had not answered before this request."""
        found: list[str] = self.protocol.newest_user_messages(self.body)
        return found

    @property
    def tool_results(self) -> list[str]:
        """What tools gave back since the model's last own output."""
        found: list[str] = self.protocol.tool_results(self.body)
        return found

    @property
    def conversation(self) -> str:
        """The agent's own id of the conversation."""
        found: str = self.protocol.conversation_id(self.body)
        return found


class ModelServer:
    """A scripted model on 127.0.0.1, for one test.

    Say what it answers with `when`, `queue` and `default`, point an agent at `url`, then read
    what it was asked with `turns`, `user_messages` and `wait_for_turns`.
    """

    def __init__(self, script: Script | None = None, port: int = 0) -> None:
        self.script = script or Script()
        self._requests: list[Request] = []
        self._gates: dict[str, Gate] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        handler = type("BoundHandler", (_Handler,), {"model": self})
        self._http = _Server(("127.0.0.1", port), handler)
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    # -- life -------------------------------------------------------------------------
    def start(self) -> ModelServer:
        """Begin to answer; returns itself."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop; replies that still stand at a gate are let go."""
        for gate in list(self._gates.values()):
            gate.release()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> ModelServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """Base address without a path."""
        return f"http://127.0.0.1:{self.port}"

    # -- script -----------------------------------------------------------------------
    def when(self, contains: str, *steps: Step | str, times: int | None = None) -> None:
        """Answer turns whose newest user message or tool output contains this text."""
        self.script.add_rule(contains, reply_of(*steps), times)

    def queue(self, *steps: Step | str) -> None:
        """One more reply, used once, in order, by turns that no rule fits."""
        self.script.add_to_queue(reply_of(*steps))

    def default(self, *steps: Step | str) -> None:
        """The reply for everything else (at first the text `done`)."""
        self.script.set_default(reply_of(*steps))

    def gate(self, name: str = "") -> Gate:
        """A gate to put into a reply; the same name gives the same gate."""
        with self._lock:
            name = name or f"gate-{len(self._gates) + 1}"
            return self._gates.setdefault(name, Gate(name))

    # -- record -----------------------------------------------------------------------
    @property
    def requests(self) -> list[Request]:
        """Everything that came in, side requests and odd paths included."""
        with self._lock:
            return list(self._requests)

    @property
    def turns(self) -> list[Request]:
        """The requests that count: those that an agent makes for its conversation."""
        return [request for request in self.requests if request.kind == "turn"]

    @property
    def user_messages(self) -> list[str]:
        """Exactly what users said, as the model saw it, conversation by conversation.

        Taken from the last turn of each conversation, which repeats all that came before.
        """
        last: dict[str, Request] = {}
        for request in self.turns:
            last[request.conversation] = request
        return [text for request in last.values() for text in request.user_messages]

    def wait_for_turns(self, count: int, seconds: float = 30.0) -> list[Request]:
        """Wait until at least `count` turns were asked for; return them."""

        def enough() -> list[Request]:
            return self.turns if len(self.turns) >= count else []

        return wait_until(enough, seconds, lambda: f"{count} turns; have {self.summary()}")

    def wait_for_message(self, text: str, seconds: float = 30.0) -> Request:
        """Wait until a turn brings exactly `text` as one new user message; return that turn."""

        def found() -> Request | None:
            return next((r for r in self.turns if text in r.newest_user_messages), None)

        request = wait_until(found, seconds, lambda: f"message {text!r}; have {self.summary()}")
        assert request is not None
        return request

    def summary(self) -> list[tuple[str, str, list[str]]]:
        """Kind, outcome and newest messages of every request, for failure messages."""
        return [
            (r.kind, r.outcome, r.newest_user_messages if r.api else [r.path])
            for r in self.requests
        ]

    def record(self, handler: _Handler, kind: str, api: str, body: Mapping[str, Any]) -> Request:
        """Note one request (called by the connection's thread)."""
        kept = {k: handler.headers[k] for k in KEPT_HEADERS if handler.headers.get(k)}
        with self._lock:
            request = Request(
                number=next(self._numbers),
                method=handler.command,
                path=handler.path,
                kind=kind,
                api=api,
                headers=kept,
                body=body,
                peer=str(handler.client_address[0]),
                at=time.monotonic(),
            )
            self._requests.append(request)
            return request


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def shutdown_request(self, request: Any) -> None:
        """Close a connection; one that was set to be cut, without the orderly good-bye."""
        if request.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER):
            self.close_request(request)
        else:
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is daily business, not a fault to print."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: ModelServer

    def log_message(self, format: str, *args: object) -> None:
        pass

    # -- requests ---------------------------------------------------------------------
    def do_HEAD(self) -> None:
        self._plain(self.model.record(self, "other", "", {}), 200, {})

    def do_GET(self) -> None:
        request = self.model.record(self, "other", "", {})
        path = urlsplit(self.path).path
        if self.headers.get("Upgrade"):
            self._plain(request, 426, {"error": {"message": "plain HTTP only"}})
        elif path.endswith("/models"):
            one = {"id": chat_api.MODEL, "object": "model", "created": 1, "owned_by": "scripted"}
            self._plain(request, 200, {"object": "list", "data": [one], "models": []})
        elif path == "/_scripted/requests":
            self._plain(request, 200, [_as_json(r) for r in self.model.requests if r.api])
        else:
            self._plain(request, 404, {"error": {"message": "not found"}})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            request = self.model.record(self, "other", "", {"unreadable_bytes": len(raw)})
            return self._plain(request, 400, {"error": {"message": "the body is not JSON"}})
        if url.path.endswith("/responses"):
            return self._model(body, "responses", responses_api)
        if url.path.endswith("/v1/messages"):
            return self._model(body, "messages", messages_api)
        if url.path.endswith("/chat/completions"):
            return self._model(body, "chat", chat_api)
        if url.path.endswith((GEMINI_STREAM, ":generateContent")):
            body |= {"stream": url.path.endswith(GEMINI_STREAM)}
            return self._model(body, "gemini", gemini_api)
        request = self.model.record(self, "other", "", body)
        if url.path.endswith("/count_tokens"):
            return self._plain(request, 200, {"input_tokens": 100})
        if url.path.endswith(":countTokens"):
            return self._plain(request, 200, {"totalTokens": 100})
        if url.path == "/_scripted/release":
            self.model.gate(parse_qs(url.query)["gate"][0]).release()
            return self._plain(request, 200, {})
        return self._plain(request, 404, {"error": {"message": "not found"}})

    def _model(self, body: Mapping[str, Any], api: str, protocol: ModuleType) -> None:
        kind = "side" if protocol.is_side(body) else "turn"
        request = self.model.record(self, kind, api, body)
        if kind == "side":
            request.answered_by, reply = "side", protocol.SIDE_REPLY
        else:
            newest = "\n".join([*request.newest_user_messages, *request.tool_results])
            request.answered_by, reply = self.model.script.choose(newest)
        self._answer(request, reply, protocol)

    def _answer(self, request: Request, reply: Reply, protocol: ModuleType) -> None:
        match reply:
            case (HttpError(status, message, headers),):
                error = {"type": "api_error", "code": None, "message": message}
                return self._plain(request, status, {"type": "error", "error": error}, headers)
            case (Drop(), *_):
                return self._cut(request)
        try:
            if request.api != "responses" and not request.body.get("stream"):
                whole = protocol.whole(reply, request.body, request.number)
                return self._plain(request, 200, whole)
            self._stream(request, protocol.events(reply, request.body, request.number))
        except (ClientGone, OSError):
            request.outcome = "client closed"
            self.close_connection = True

    # -- answers ----------------------------------------------------------------------
    def _plain(
        self,
        request: Request,
        status: int,
        body: object,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        data = json.dumps(body, ensure_ascii=False).encode()
        request.outcome = "sent" if status < 400 else str(status)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _cut(self, request: Request) -> None:
        # Linger 0: the client sees a reset, as from a server that died.
        request.outcome = "dropped"
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _stream(self, request: Request, events: Any) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        numbers = itertools.count()
        for event in events:
            match event:
                case Pause(seconds):
                    self._idle(_deadline(seconds))
                case Gate():
                    event.reached.set()
                    self._idle(event.released.is_set)
                case Drop():
                    return self._cut(request)
                case _:
                    self.wfile.write(_encoded(request, event, next(numbers)))
                    self.wfile.flush()
        request.outcome = "sent"

    def _idle(self, over: Callable[[], bool]) -> None:
        """Wait, noticing at once when the client hangs up."""
        while not over():
            readable, _, _ = select.select([self.connection], [], [], 0.02)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise ClientGone


def _encoded(request: Request, event: dict[str, Any], number: int) -> bytes:
    encode: Callable[[dict[str, Any]], bytes] | None = getattr(request.protocol, "encode", None)
    if encode is not None:
        return encode(event)
    data = json.dumps({**event, "sequence_number": number}, ensure_ascii=False)
    return f"event: {event['type']}\ndata: {data}\n\n".encode()


def _deadline(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def _as_json(request: Request) -> dict[str, Any]:
    return {
        "number": request.number,
        "kind": request.kind,
        "api": request.api,
        "path": request.path,
        "answered_by": request.answered_by,
        "outcome": request.outcome,
        "newest_user_messages": request.newest_user_messages,
        "user_messages": request.user_messages,
        "tool_results": request.tool_results,
    }
