"""A session with an agent that speaks ACP (the Agent Client Protocol, version 1).

grok 1.0.41, gemini 0.61.0 and opencode 1.18.33, run; what differs stands in `acp_agents`.
"""

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import Any

from cuekit.errors import CuekitError
from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols import acp_agents, acp_leave, acp_words
from cuekit.protocols.acp_agents import AcpAgent, FollowUp
from cuekit.protocols.acp_leave import Leave
from cuekit.protocols.acp_opening import Opening
from cuekit.protocols.acp_values import Json, object_of, present
from cuekit.protocols.base import Links, Sent, SessionSetup
from cuekit.protocols.decode_acp import Decoder
from cuekit.wire.jsonrpc import METHOD_NOT_FOUND, Peer, RemoteError, RequestFailed
from cuekit.wire.process import AgentGone, ProcessHost

START_SECONDS = 90.0
INTERRUPT_SECONDS = 10.0
SETTLE_SECONDS = 0.5
CLOSE_SECONDS = 1.0  # grok takes 2 to 4 s to end on a closed input, none on SIGTERM
END_SECONDS = 2.0


@dataclass(eq=False)
class Prompt:
    """One `session/prompt` that is not answered yet."""

    texts: list[str]


class AcpSession:
    """One agent process, one session. See `protocols.base.AgentSession`."""

    def __init__(self, setup: SessionSetup, links: Links) -> None:
        self._setup = setup
        self._links = links
        self._agent: AcpAgent = acp_agents.known(setup.agent_kind)
        self._decoder = Decoder(title_is_command=self._agent.title_is_command)
        self._host = ProcessHost(
            setup.argv,
            cwd=setup.cwd,
            environment={**setup.environment, **self._agent.environment},
            tap=links.tap,
        )
        self._peer = Peer(
            self._host,
            on_request=self._asked,
            on_notification=self._notified,
            on_stray=self._stray,
            header=True,
        )
        self._reader: asyncio.Task[None] | None = None
        self._side_tasks: set[asyncio.Task[Any]] = set()
        self._leave = Leave(setup, links, self._decoder, self)
        self._sending = asyncio.Lock()
        self._changed = asyncio.Event()
        self._session_id: str | None = None
        self._steers = False
        self._prompts: list[Prompt] = []  # the first of them runs
        self._turn = False  # a turn was told that has not ended
        self._turn_ends = 0
        self._held: list[str] = []  # of the user, for the next turn
        self._reasons: list[str] = []  # of denials, since the wire has no place for them
        self._cancelling = False
        self._refused = False  # something was, in this turn
        self._replaying = setup.resume is not None
        self._last_update = 0.0
        self._gone = False
        self._closing = False

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self._turn or bool(self._prompts)

    async def start(self) -> None:
        """Spawn, initialise, open or load the session. Raises CuekitError, NotSignedIn."""
        await self._host.start()
        self._reader = self._task(self._read())
        try:
            async with asyncio.timeout(START_SECONDS):
                opening = Opening(self._peer, self._setup, self._agent, lambda: self._last_update)
                opened = await opening.open()
        except TimeoutError:
            await self.close()
            raise CuekitError(
                f"{self._agent.name} did not open a session within {START_SECONDS:g} s",
                code="agent_not_started",
                hint="cuekit doctor",
            ) from None
        except BaseException:
            await self.close()
            raise
        self._agent, self._session_id = opened.agent, opened.session_id
        self._steers, self._replaying = opened.steers, False
        values = {
            "agent_session_id": opened.session_id,
            "cwd": self._setup.cwd,
            **present(model=opened.model, agent_version=opened.version),
        }
        self._emit(AgentEvent(EventKind.SESSION_STARTED, values))

    async def send(self, text: str) -> Sent:
        """Give a message: a turn of its own, or whatever the agent does with it while busy."""
        async with self._sending:
            if self._gone:
                raise AgentGone(f"{self._agent.name} has ended")
            if not self.busy:
                self._start_turn(text)
                return Sent.STARTED
            if self._steers and (sent := await self._steer(text)) is not None:
                return sent
            match self._agent.follow_up:
                case FollowUp.QUEUED:
                    self._post([text])
                    return Sent.QUEUED
                case FollowUp.JOINED:
                    self._post([text])
                    return Sent.JOINED
            self._held.append(text)
            return Sent.HELD

    async def interrupt(self) -> bool:
        """End the running turn, and every request for leave with it; False when none ran."""
        if not self.busy:
            return False
        ends = self._turn_ends
        await self.cancel()
        if not await self._until(lambda: self._turn_ends != ends, INTERRUPT_SECONDS):
            self._prompts = self._prompts[1:]
            words = f"{self._agent.name} did not confirm it"
            self._finish({"outcome": "interrupted", "message": words})
        return True

    async def close(self) -> None:
        """End the session and the whole process group; open requests are answered `cancelled`."""
        self._closing = True
        with contextlib.suppress(CuekitError, TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                if self.busy and not self._gone:
                    await self._notify_cancel()
                self._leave.settle("abandoned")
                while self._leave.open or self._peer.open_requests:
                    await asyncio.sleep(0.01)
        await self._host.shut_down(close_seconds=CLOSE_SECONDS)
        if self._reader is not None:
            await asyncio.gather(self._reader, return_exceptions=True)
        for task in list(self._side_tasks):
            task.cancel()
        await asyncio.gather(*self._side_tasks, return_exceptions=True)

    async def wait(self) -> int | None:
        """Wait for the process to end and its last words to be read; its exit status."""
        status = await self._host.wait()
        if self._reader is not None:
            await asyncio.shield(asyncio.gather(self._reader, return_exceptions=True))
        return status

    # -- prompts --------------------------------------------------------------------------------

    def _start_turn(self, *texts: str) -> None:
        given = [*self._reasons, *self._held, *texts]
        self._reasons, self._held = [], []
        self._begin()
        self._post(given)

    def _post(self, texts: list[str]) -> None:
        prompt = Prompt(texts)
        self._prompts.append(prompt)
        self._task(self._request(prompt))

    async def _request(self, prompt: Prompt) -> None:
        params = {"sessionId": self._session_id, "prompt": acp_words.text_blocks(prompt.texts)}
        # What the agent answers is taken at once; that it has gone is told by the reader.
        with contextlib.suppress(RemoteError, AgentGone):
            await self._peer.request(
                "session/prompt", params, at_once=lambda reply: self._answered(prompt, reply)
            )

    def _answered(self, prompt: Prompt, reply: Json) -> None:
        if prompt not in self._prompts:
            return  # given up
        runs = prompt is self._prompts[0]
        self._prompts.remove(prompt)
        ended = self._end_of(reply)
        if self._agent.follow_up is FollowUp.JOINED and self._prompts:
            return  # the last answer of those that went into one turn ends it
        if not runs and self._agent.follow_up is not FollowUp.JOINED:
            self._lost(prompt)
            return
        self._finish(ended)

    def _end_of(self, reply: Json) -> Json:
        """How a prompt ended; what else its answer tells goes out."""
        if reply.get("error") is not None:
            events = self._decoder.close()
            error = RemoteError("session/prompt", reply["error"])
            ended: Json = {"outcome": "failed", **acp_words.failure(self._agent, error)}
        else:
            *events, last = self._decoder.decode({"id": 0, "result": reply.get("result")}) or [
                AgentEvent(EventKind.TURN_COMPLETED, acp_words.no_reason(self._agent))
            ]
            ended = last.values
        for event in events:
            self._emit(event)
        return ended

    def _begin(self) -> None:
        for event in self._decoder.flush():
            self._emit(event)
        self._turn, self._cancelling, self._refused = True, False, False
        self._emit(AgentEvent(EventKind.TURN_STARTED, {}))

    def _finish(self, values: Json) -> None:
        """The end of the running turn, told once; then whatever waits for it."""
        self._leave.settle("withdrawn")
        cancelled, refused = self._cancelling, self._refused
        if values["outcome"] == "failed" and cancelled:
            values = {**values, "outcome": "interrupted"}
        elif values["outcome"] == "interrupted" and refused and not cancelled:
            words = f"{self._agent.name} ended the turn at a refusal"
            values = {"message": words, "code": "refused", **values}
        self._turn = False
        self._turn_ends += 1
        self._emit(AgentEvent(EventKind.TURN_COMPLETED, values))
        self._changed.set()
        if self._prompts:
            self._begin()
        elif not self._closing and not self._gone:
            goes_on = bool(self._reasons) and not cancelled
            if goes_on or (self._held and values["outcome"] == "completed"):
                self._task(self._send_held())

    async def _send_held(self) -> None:
        async with self._sending:
            if not self.busy and not self._gone and (self._held or self._reasons):
                self._start_turn()

    async def _steer(self, text: str) -> Sent | None:
        """Into the running turn, where the agent announces that it can; None when it cannot now."""
        params = {"sessionId": self._session_id, "prompt": acp_words.text_blocks([text])}
        try:
            result = await self._peer.request("_session/steering", params)
        except RemoteError:
            return None
        if isinstance(result, dict) and result.get("outcome") == "startedNewTurn":
            # No answer would ever end that turn: it is stopped, and the text sent as a prompt.
            await self._notify_cancel()
            self._start_turn(text)
            return Sent.STARTED
        return Sent.JOINED

    def _lost(self, prompt: Prompt) -> None:
        words = f"the turn ended before {self._agent.name} had read this message: "
        values = {"message": words + "\n".join(prompt.texts), "code": "message_not_read"}
        self._emit(AgentEvent(EventKind.ERROR, {**values, "recoverable": True}))

    # -- cancelling ---------------------------------------------------------------------------

    @property
    def ending(self) -> bool:
        """Whether the turn is over or being ended."""
        return self._cancelling or self._closing or not self._turn

    async def cancel(self) -> None:
        """End the turn. Both are needed: gemini and opencode hang on a request without answer."""
        self._cancelling = True
        await self._notify_cancel()
        self._leave.settle("withdrawn")

    def denied(self, reason: str | None) -> None:
        """Something was refused; the reason goes out when the turn is over."""
        self._refused = True
        if reason:
            self._reasons.append(reason)

    async def _notify_cancel(self) -> None:
        await self._peer.notify("session/cancel", {"sessionId": self._session_id})

    # -- what the agent says --------------------------------------------------------------------

    async def _asked(self, method: str, params: Json, request_id: Any) -> Json:
        """Answer a request of the agent's; everything but a request for leave is refused."""
        if method != acp_leave.METHOD:
            for event in self._decoder.decode(
                {"method": method, "id": request_id, "params": params}
            ):
                self._emit(event)
            raise RequestFailed(METHOD_NOT_FOUND, f"no method {method}")
        return await self._leave.ask(params, request_id)

    def _notified(self, method: str, params: Json) -> None:
        if method == "$/cancel_request":
            request_id = params.get("requestId")
            self._leave.withdraw(request_id, known=self._peer.is_serving(request_id))
            return
        if method == "session/update":
            self._last_update = time.monotonic()
            if self._replaying or object_of(params, "_meta").get("isReplay") is True:
                return
        for event in self._decoder.decode({"method": method, "params": params}):
            self._emit(event)
            if event.kind is EventKind.STATUS and event.values.get("what") == "mode":
                self._mode_changed(str(event.values.get("mode")))

    def _mode_changed(self, mode: str) -> None:
        """An agent that leaves its asking mode is set back, and that is told."""
        agent = self._agent
        if not agent.has_modes or self._session_id is None or mode in agent.asking_modes:
            return
        back = agent.asking_modes[0]
        self._warn("mode_changed", f"{agent.name} went into the mode {mode}; it is set back")
        self._task(self._set_mode(back))

    async def _set_mode(self, mode: str) -> None:
        params = {"sessionId": self._session_id, "modeId": mode}
        try:
            await self._peer.request("session/set_mode", params)
        except RemoteError as error:
            self._warn("mode_changed", f"{self._agent.name} did not go back into {mode}: {error}")
            await self.cancel()
        except AgentGone:
            return

    def _stray(self, line: Any) -> None:
        self._emit(AgentEvent(EventKind.RAW, {"native": line}))

    # -- the process ----------------------------------------------------------------------------

    async def _read(self) -> None:
        try:
            await self._peer.run()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(END_SECONDS):
                    await self._host.wait()
        finally:
            self._agent_ended()

    def _agent_ended(self) -> None:
        self._gone = True
        self._prompts = []
        if not self._turn:
            return
        for event in self._decoder.close():
            self._emit(event)
        if self._closing:
            self._finish({"outcome": "interrupted"})
            return
        how = acp_words.ended_how(self._host.returncode, self._host.error_text())
        words = f"{self._agent.name} ended in the middle of the turn{how}"
        self._finish({"outcome": "failed", "message": words, "code": "agent_gone"})

    # -- small things ---------------------------------------------------------------------------

    def _emit(self, event: AgentEvent) -> None:
        self._links.emit(event)

    def _warn(self, code: str, message: str) -> None:
        values = {"message": message, "recoverable": True, "code": code}
        self._emit(AgentEvent(EventKind.ERROR, values))

    async def _until(self, condition: Any, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        return bool(condition())

    def _task(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._side_tasks.add(task)
        task.add_done_callback(self._side_tasks.discard)
        return task
