"""An agent built with the `agent-client-protocol` package: an independent other side."""

from __future__ import annotations

import asyncio
from typing import Any

import acp
from acp import helpers, schema

OPTIONS = [
    schema.PermissionOption(option_id="always", name="Always", kind="allow_always"),
    schema.PermissionOption(option_id="once", name="Once", kind="allow_once"),
    schema.PermissionOption(option_id="no", name="No", kind="reject_once"),
]


class Peer(acp.Agent):
    """Asks before a command, tells what came of it, writes a file, and stops when told so."""

    def __init__(self) -> None:
        self._client: Any = None
        self._cancelled = asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(
        self, protocol_version: int, *args: Any, **more: Any
    ) -> schema.InitializeResponse:
        return schema.InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_capabilities=schema.AgentCapabilities(load_session=False),
        )

    async def new_session(self, cwd: str, *args: Any, **more: Any) -> schema.NewSessionResponse:
        modes = [schema.SessionMode(id=name, name=name) for name in ("auto", "default")]
        state = schema.SessionModeState(current_mode_id="auto", available_modes=modes)
        return schema.NewSessionResponse(session_id="peer-1", modes=state)

    async def set_session_mode(
        self, session_id: str, mode_id: str, **more: Any
    ) -> schema.SetSessionModeResponse:
        assert mode_id == "default"
        return schema.SetSessionModeResponse()

    async def cancel(self, session_id: str, **more: Any) -> None:
        self._cancelled.set()

    async def prompt(
        self, session_id: str, prompt: list[Any], **more: Any
    ) -> schema.PromptResponse:
        self._cancelled.clear()
        await self._tell(session_id, helpers.update_agent_message_text("I will "))
        await self._tell(session_id, helpers.update_agent_message_text("x" * 600_000))
        call = schema.ToolCallUpdate(
            tool_call_id="c1", title="make", kind="execute", raw_input={"command": "make"}
        )
        reply = await self._client.request_permission(
            options=OPTIONS, session_id=session_id, tool_call=call
        )
        chosen = getattr(reply.outcome, "option_id", "cancelled")
        if chosen == "cancelled":
            await asyncio.wait_for(self._cancelled.wait(), 10)
            return schema.PromptResponse(stop_reason="cancelled")
        status: Any = "completed" if chosen == "once" else "failed"
        diff = helpers.tool_diff_content(path="/p/a.txt", new_text="b\n", old_text="a\n")
        update = helpers.update_tool_call("c1", status=status, content=[diff])
        await self._tell(session_id, update)
        await self._tell(session_id, helpers.update_agent_message_text(chosen))
        return schema.PromptResponse(stop_reason="end_turn")

    async def _tell(self, session_id: str, update: Any) -> None:
        await self._client.session_update(session_id=session_id, update=update)


if __name__ == "__main__":
    # The package takes an agent that has the methods it needs, whatever its protocol class names.
    asyncio.run(acp.run_agent(Peer()))  # type: ignore[abstract]
