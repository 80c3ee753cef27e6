"""The beginning of an ACP connection: hello, sign-in, a session new or loaded, its mode."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from cuekit import __version__
from cuekit.errors import CuekitError
from cuekit.protocols import acp_agents, acp_gemini, acp_modes
from cuekit.protocols.acp_agents import AcpAgent
from cuekit.protocols.acp_values import Json, object_of, text_of
from cuekit.protocols.base import NotSignedIn, SessionSetup
from cuekit.wire.jsonrpc import Peer, RemoteError

PROTOCOL_VERSION = 1
AUTH_REQUIRED = -32000
REPLAY_QUIET_SECONDS = 0.7
REPLAY_SECONDS = 15.0


@dataclass(frozen=True)
class Opened:
    """A session that is ready for its first prompt."""

    agent: AcpAgent
    session_id: str
    steers: bool
    model: str | None
    version: str | None


class Opening:
    """Opens one session. `last_update` tells when the agent last said something of a session."""

    def __init__(
        self, peer: Peer, setup: SessionSetup, agent: AcpAgent, last_update: Callable[[], float]
    ) -> None:
        self._peer = peer
        self._setup = setup
        self._agent = agent
        self._last_update = last_update
        self._hello: Json = {}

    async def open(self) -> Opened:
        """All of it. Raises CuekitError, NotSignedIn, AgentGone."""
        self._refuse_what_has_no_place()
        await self._initialise()
        session_id, answer = await self._session()
        await self._ask_first(session_id, answer)
        model = await self._choose_model(session_id, answer)
        return Opened(
            self._agent,
            session_id,
            acp_agents.steers(self._hello),
            model,
            acp_agents.version_of(self._hello),
        )

    def _refuse_what_has_no_place(self) -> None:
        setup = self._setup
        refused = {
            "a system prompt of its own": setup.append_system_prompt,
            "an output schema": setup.output_schema,
            "a fork of a session": setup.fork or None,
        }
        for what, value in refused.items():
            if value is not None:
                raise CuekitError(
                    f"{self._agent.name} takes no {what.split(' ', 1)[1]} over ACP",
                    code="not_supported",
                    hint="put it into the objective" if what != "a fork of a session" else None,
                )

    async def _initialise(self) -> None:
        """No file and no terminal service is offered: agents do that work, and ask for it."""
        params = {
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": {},
            "clientInfo": {"name": "cuekit", "title": "cuekit", "version": __version__},
        }
        hello = await self._peer.request("initialize", params)
        self._hello = hello if isinstance(hello, dict) else {}
        spoken = self._hello.get("protocolVersion")
        if spoken != PROTOCOL_VERSION:
            raise CuekitError(
                f"{self._agent.name} speaks version {spoken} of ACP, cuekit {PROTOCOL_VERSION}",
                code="protocol_version",
            )
        agent = acp_agents.recognised(self._agent, self._setup.agent_kind, self._hello)
        if mode := acp_agents.as_text(self._setup.options.get(acp_modes.OPTION)):
            agent = acp_agents.asking_in(agent, mode)
        self._agent = agent

    async def _session(self) -> tuple[str, Json]:
        try:
            return await self._open_session()
        except RemoteError as error:
            if error.rpc_code != AUTH_REQUIRED:
                raise
            first = error
        method = acp_agents.sign_in_method(self._agent, self._hello, self._setup.environment)
        if method is not None:
            with contextlib.suppress(RemoteError):
                await self._peer.request("authenticate", {"methodId": method})
                return await self._open_session()
        login = self._agent.login
        raise NotSignedIn(
            f"{self._agent.name} is not signed in ({first})",
            hint=f"run: {login}" if login else None,
        )

    async def _open_session(self) -> tuple[str, Json]:
        place = {"cwd": self._setup.cwd, "mcpServers": []}
        if self._setup.resume is not None:
            return self._setup.resume, await self._load(self._setup.resume, place)
        if object_of(self._hello, "agentCapabilities", "sessionCapabilities").get(
            "additionalDirectories"
        ):
            place["additionalDirectories"] = list(self._setup.add_dirs)
        answer = await self._peer.request("session/new", place)
        session_id = text_of(answer, "sessionId") if isinstance(answer, dict) else None
        if session_id is None:
            words = f"{self._agent.name} answered session/new without a session"
            raise CuekitError(words, code="agent_error")
        return session_id, answer

    async def _load(self, session_id: str, place: Json) -> Json:
        """Go on with a session. Its history is told again; whoever calls swallows that."""
        name = self._agent.name
        if object_of(self._hello, "agentCapabilities").get("loadSession") is not True:
            raise CuekitError(f"{name} cannot go on with a session", code="cannot_resume")
        if not self._agent.load_within_minute:
            await acp_gemini.wait_out_the_minute(self._setup.environment, session_id)
        try:
            answer = await self._peer.request("session/load", {"sessionId": session_id, **place})
        except RemoteError as error:
            if error.rpc_code == AUTH_REQUIRED:
                raise
            more = text_of(error.data, "details") if isinstance(error.data, dict) else None
            said = (more or str(error)).splitlines()[0]
            raise CuekitError(
                f"{name} cannot go on with session {session_id}: {said}",
                code="resume_failed",
                hint="it may have been removed, or be another folder's",
            ) from None
        if self._agent.replays_late:
            await self._replayed()
        return answer if isinstance(answer, dict) else {}

    async def _replayed(self) -> None:
        """gemini answers before it has told most of the history, and marks no end of it."""
        end = time.monotonic() + REPLAY_SECONDS
        start = time.monotonic()
        while time.monotonic() < end:
            if time.monotonic() - max(start, self._last_update()) >= REPLAY_QUIET_SECONDS:
                return
            await asyncio.sleep(0.05)

    async def _ask_first(self, session_id: str, answer: Json) -> None:
        change = acp_modes.needed_change(self._agent, answer, session_id)
        if change is None:
            return
        try:
            result = await self._peer.request(change.method, change.params)
        except RemoteError as error:
            raise CuekitError(
                f"{self._agent.name} did not take its asking mode {change.mode!r}: {error}",
                code="agent_does_not_ask",
            ) from None
        told = acp_modes.current(result) if isinstance(result, dict) else None
        if told is not None and told != change.mode:
            raise CuekitError(
                f"{self._agent.name} stays in the mode {told!r} in place of {change.mode!r}",
                code="agent_does_not_ask",
            )

    async def _choose_model(self, session_id: str, answer: Json) -> str | None:
        model = self._setup.model
        if model is None or self._agent.model_by_flag:
            return text_of(object_of(answer, "models"), "currentModelId") or model
        method, params = acp_modes.model_change(answer, session_id, model)
        await self._peer.request(method, params)
        return model
