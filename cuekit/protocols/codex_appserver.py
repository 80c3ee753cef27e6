"""A session with `codex app-server`: a thread, its turns, and what codex asks of its user.

Measured with codex 0.133.0, 0.141.0 and 0.171.0.
"""

import asyncio
import contextlib
from collections import deque
from typing import Any

from cuekit import __version__
from cuekit.errors import CuekitError
from cuekit.model.approval import Decision, DecisionKind
from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols import codex_approvals, codex_settings
from cuekit.protocols.base import Links, NotSignedIn, Sent, SessionSetup
from cuekit.protocols.codex_clocks import Changes, StallClock
from cuekit.protocols.codex_wire import LOGIN_HINT, Json, without_colours
from cuekit.protocols.decode_codex import Decoder
from cuekit.protocols.processes import Commands
from cuekit.wire.jsonrpc import METHOD_NOT_FOUND, Peer, RemoteError, RequestFailed
from cuekit.wire.process import AgentGone, ProcessHost

START_SECONDS = 60.0
TURN_START_SECONDS = 30.0
INTERRUPT_SECONDS = 10.0
CLEAN_SECONDS = 3.0
CLOSE_SECONDS = 0.3  # 0.133.0 and 0.141.0 take 5 s to end on a closed input, none on SIGTERM
END_SECONDS = 2.0
MOST_STEERS = 5


class CodexAppServer:
    """One `codex app-server`, one thread. See `protocols.base.AgentSession`."""

    def __init__(self, setup: SessionSetup, links: Links) -> None:
        self._setup = setup
        self._links = links
        self._decoder = Decoder()
        self._host = ProcessHost(
            setup.argv, cwd=setup.cwd, environment=setup.environment, tap=links.tap
        )
        self._peer = Peer(
            self._host,
            on_request=self._asked,
            on_notification=self._notified,
            on_stray=self._stray,
            header=False,
        )
        self._reader: asyncio.Task[None] | None = None
        self._side_tasks: set[asyncio.Task[Any]] = set()
        self._sending = asyncio.Lock()
        self._changes = Changes()
        self._commands = Commands()
        self._thread_id = ""
        self._turn: str | None = None
        self._last_turn: str | None = None
        self._starting = False  # turn/start is sent, its turn/started has not come
        self._unread: deque[str] = deque()  # steered into the turn, not yet taken by codex
        self._offered: str | None = None  # in a turn/steer without an answer, not yet taken
        self._held: list[str] = []  # for the next turn
        self._failing: Json | None = None  # why the running turn is being ended by us
        self._stall = StallClock(codex_settings.stall_seconds(setup), self._stalled)
        self._closing = False

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self._starting or self._turn is not None

    async def start(self) -> None:
        """Spawn, initialise, open the thread. Raises CuekitError, NotSignedIn, AgentGone."""
        await self._host.start()
        self._reader = asyncio.create_task(self._read())
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._initialise()
                await self._open_thread()
        except TimeoutError:
            await self.close()
            raise CuekitError(
                f"codex app-server did not open a session within {START_SECONDS:g} s",
                code="agent_not_started",
                hint="cuekit doctor",
            ) from None
        except BaseException:
            await self.close()
            raise

    async def send(self, text: str) -> Sent:
        """Give a message: a turn of its own, or into the turn that runs."""
        async with self._sending:
            for _ in range(MOST_STEERS):
                if not self.busy:
                    await self._start_turn(text)
                    return Sent.STARTED
                if (sent := await self._steer(text)) is not None:
                    return sent
            self._held.append(text)
            return Sent.HELD

    async def interrupt(self) -> bool:
        """End the turn and its commands; False when none ran.

        With no turn 0.133.0 and 0.141.0 do not answer turn/interrupt until the next one ends:
        what is waited for is the turn's end, never the answer.
        """
        if self._starting:
            await self._changes.until(lambda: not self._starting, TURN_START_SECONDS)
        turn = self._turn
        if turn is None:
            return False
        self._commands.look(self._host.pid)
        self._aside(self._request_interrupt(turn))
        if not await self._changes.until(lambda: self._turn != turn, INTERRUPT_SECONDS):
            self._finish({"outcome": "interrupted", "message": "codex did not confirm it"})
        await self._end_commands()
        return True

    async def close(self) -> None:
        """End the session and every process of it; a request that is open ends unanswered."""
        self._closing = True
        self._stall.stop()
        with contextlib.suppress(AgentGone):
            self._commands.look_at_all(self._host.pid)
        await self._host.shut_down(close_seconds=CLOSE_SECONDS)
        await self._commands.end()
        for task in list(self._side_tasks):
            task.cancel()
        await asyncio.gather(*self._side_tasks, return_exceptions=True)
        if self._reader is not None:
            await asyncio.gather(self._reader, return_exceptions=True)

    async def wait(self) -> int | None:
        """Wait for the process to end and its last words to be read; its exit status."""
        status = await self._host.wait()
        if self._reader is not None:
            await asyncio.shield(asyncio.gather(self._reader, return_exceptions=True))
        return status

    async def _read(self) -> None:
        try:
            await self._peer.run()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(END_SECONDS):
                    await self._host.wait()
        finally:
            self._server_ended()

    async def _initialise(self) -> None:
        await self._peer.request("initialize", codex_settings.client(__version__))
        await self._peer.notify("initialized")
        with contextlib.suppress(RemoteError):  # a version without it says so at its first turn
            account = await self._peer.request("account/read", {"refreshToken": False})
            if codex_settings.lacks_account(account):
                raise NotSignedIn(LOGIN_HINT, hint="codex login")

    async def _open_thread(self) -> None:
        method, params = codex_settings.opening(self._setup)
        result = await self._peer.request(method, params)
        try:
            self._thread_id = str(result["thread"]["id"])
        except (KeyError, TypeError):
            words = f"codex answered {method} without a thread"
            raise CuekitError(words, code="agent_error") from None
        for event in self._decoder.decode({"id": 0, "result": result}):
            self._links.emit(event)

    async def _start_turn(self, text: str) -> None:
        parts = [*self._held, text]
        self._starting, self._held = True, []
        self._commands.turn_begins(self._host.pid)
        params = codex_settings.turn(self._setup, self._thread_id, parts)
        try:
            await self._peer.request("turn/start", params)
        except CuekitError:
            if self._starting:
                self._starting, self._held = False, parts[:-1]
                self._changes.tell()
            raise

    async def _steer(self, text: str) -> Sent | None:
        """Into the running turn; None when that has just ended, or another one runs."""
        if self._starting and not await self._changes.until(
            lambda: not self._starting, TURN_START_SECONDS
        ):
            raise CuekitError("codex does not begin its turn", code="agent_error")
        turn = self._turn
        if turn is None:
            return None
        self._offered = text
        params = {
            "threadId": self._thread_id,
            "expectedTurnId": turn,
            "input": codex_settings.text_input([text]),
        }
        try:
            await self._peer.request("turn/steer", params)
            return self._steered(text, turn)
        except RemoteError as error:
            if "active turn" in str(error):
                # Its end is on the way: the line with it may not have been read yet.
                await self._changes.until(lambda: self._turn != turn, 1.0)
                return None
            self._held.append(text)  # a turn that takes no steering (a review, compaction)
            return Sent.HELD
        finally:
            self._offered = None

    def _steered(self, text: str, turn: str) -> Sent | None:
        """After codex said yes: by now it may have read the text, or ended without doing so."""
        if self._offered is None:
            return Sent.JOINED
        if self._turn != turn:
            return None
        self._unread.append(text)
        return Sent.JOINED

    async def _request_interrupt(self, turn: str) -> None:
        with contextlib.suppress(RemoteError, AgentGone):
            params = {"threadId": self._thread_id, "turnId": turn}
            await self._peer.request("turn/interrupt", params)

    async def _end_commands(self) -> None:
        with contextlib.suppress(RemoteError, AgentGone, TimeoutError):
            async with asyncio.timeout(CLEAN_SECONDS):
                params = {"threadId": self._thread_id}
                await self._peer.request("thread/backgroundTerminals/clean", params)
        if not await self._changes.until(
            lambda: not self._commands.left(), CLEAN_SECONDS, poll=0.05
        ):
            await self._commands.end()

    def _notified(self, method: str, params: Json) -> None:
        if method == "serverRequest/resolved":
            # Also comes after our own answer, when nothing waits any more.
            self._peer.cancel_serving(params.get("requestId"), "withdrawn")
        for event in self._decoder.decode({"method": method, "params": params}):
            self._take(event)

    def _take(self, event: AgentEvent) -> None:
        kind, values = event
        if kind is EventKind.TURN_COMPLETED:
            turn = values.get("agent_turn_id")
            if self._starting and turn != self._last_turn:
                self._begin(turn)
            if turn == self._turn:
                self._finish(values)
            return
        if kind is EventKind.TURN_STARTED:
            self._begin(values["agent_turn_id"])
            return
        if kind is EventKind.PROMPT_ACCEPTED:
            self._taken(values["text"])
        elif kind is EventKind.ERROR and values["recoverable"]:
            self._stall.retrying(values["message"])
        if kind not in (EventKind.ERROR, EventKind.STATUS, EventKind.RAW):
            self._stall.stop()
        self._links.emit(event)

    def _begin(self, turn: str | None) -> None:
        values = {} if turn is None else {"agent_turn_id": turn}
        self._turn, self._last_turn = turn, turn
        self._starting, self._failing = False, None
        self._links.emit(AgentEvent(EventKind.TURN_STARTED, values))
        self._changes.tell()

    def _finish(self, values: Json) -> None:
        """The end of the running turn, told once; then what was held goes out."""
        self._stall.stop()
        if self._failing is not None:
            values = {**values, "outcome": "failed", **self._failing}
        completed = values["outcome"] == "completed"
        unread, self._unread = list(self._unread), deque()
        self._turn, self._starting, self._failing = None, False, None
        self._links.emit(AgentEvent(EventKind.TURN_COMPLETED, values))
        self._changes.tell()
        if completed:
            self._held += unread
        else:
            for text in unread:
                words = f"the turn ended before codex had read this message: {text}"
                lost = {"message": words, "recoverable": True, "code": "message_not_read"}
                self._links.emit(AgentEvent(EventKind.ERROR, lost))
        if self._held and completed and not self._closing:
            self._aside(self._send_held())

    async def _send_held(self) -> None:
        async with self._sending:
            if self.busy or not self._held:
                return
            text = self._held.pop()
            with contextlib.suppress(CuekitError):
                await self._start_turn(text)

    async def _asked(self, method: str, params: Json, request_id: Any) -> Json:
        """Answer a request of codex's; everything unknown is refused at once."""
        if method in codex_approvals.LEGACY:
            return codex_approvals.refusal(method)
        if method not in codex_approvals.METHODS:
            for event in self._decoder.decode(
                {"method": method, "id": request_id, "params": params}
            ):
                self._links.emit(event)
            raise RequestFailed(METHOD_NOT_FOUND, f"no method {method}")
        try:
            request = codex_approvals.approval_request(method, params, self._decoder.items.changes)
        except (KeyError, TypeError, ValueError, AttributeError):
            words = f"a request of codex's was not understood, and refused: {method}"
            values = {"message": words, "recoverable": True, "code": "request_refused"}
            self._links.emit(AgentEvent(EventKind.ERROR, values))
            return codex_approvals.refusal(method)
        decision = await self._links.await_decision(request)
        if decision.kind is DecisionKind.DENY and decision.message:
            await self._tell_reason(decision.message)
        if decision.kind is DecisionKind.CANCEL_RUN and not codex_approvals.ends_the_turn(method):
            self._aside(self.interrupt())
        return self._answer(method, params, decision)

    def _answer(self, method: str, params: Json, decision: Decision) -> Json:
        try:
            return codex_approvals.answer(method, params, decision)
        except (KeyError, TypeError, ValueError, AttributeError):
            return codex_approvals.refusal(method)

    async def _tell_reason(self, reason: str) -> None:
        """The wire has no place for it: it goes into the turn before the refusal goes out."""
        turn = self._turn
        if turn is None:
            self._held.append(reason)
            return
        try:
            async with asyncio.timeout(CLEAN_SECONDS), self._sending:
                if await self._steer(reason) is None:
                    self._held.append(reason)
        except (AgentGone, CuekitError, TimeoutError):
            self._held.append(reason)

    def _stray(self, line: Any) -> None:
        self._links.emit(AgentEvent(EventKind.RAW, {"native": line}))

    def _server_ended(self) -> None:
        if not self.busy:
            return
        if self._starting:
            self._begin(None)
        if self._closing:
            self._finish({"outcome": "interrupted"})
            return
        how = _ended_how(self._host.returncode, self._host.error_text())
        message = f"codex app-server ended in the middle of the turn{how}"
        self._finish({"outcome": "failed", "message": message, "code": "agent_gone"})

    def _stalled(self, words: str) -> None:
        """0.171.0 without a network tries again for ever; somebody has to end that."""
        values = {"message": f"codex {words}", "code": "stalled"}
        self._failing = values
        self._links.emit(AgentEvent(EventKind.ERROR, {**values, "recoverable": False}))
        self._aside(self.interrupt())

    def _taken(self, text: str) -> None:
        if text == self._offered:
            self._offered = None
        elif text in self._unread:
            self._unread.remove(text)

    def _aside(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._side_tasks.add(task)
        task.add_done_callback(self._side_tasks.discard)


def _ended_how(status: int | None, errors: str) -> str:
    if status is None or status == 0:
        return ""
    if status < 0:
        return f" (signal {-status})"
    words = errors.splitlines()
    said = f": {without_colours(words[-1])[:500]}" if words else ""
    return f" (exit status {status}{said})"
