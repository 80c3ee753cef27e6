"""The SDK's own client over standard input and output, for tests that are not async."""

import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

T = TypeVar("T")
LIMIT_S = 100.0


class Tools:
    """One connection; a tool's object, or its error object."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session

    async def ok(self, tool: str, /, **arguments: Any) -> Any:
        """The object of a call that must succeed."""
        failed, value = await self.call(tool, arguments)
        assert not failed, value
        return value

    async def error(self, tool: str, /, **arguments: Any) -> str:
        """The code of a call that must fail, in the shape of the command line."""
        failed, value = await self.call(tool, arguments)
        assert failed, value
        assert set(value) == {"error"}
        assert set(value["error"]) == {"code", "message", "hint", "retryable", "details"}
        return str(value["error"]["code"])

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[bool, Any]:
        """Whether it failed, and the object; text and structured content say the same."""
        result = await self.session.call_tool(tool, dict(arguments))
        (content,) = result.content
        value = json.loads(content.text)  # type: ignore[union-attr]
        assert value == result.structured_content
        return bool(result.is_error), value

    async def read(self, uri: str) -> str:
        """The text of a resource."""
        (content,) = (await self.session.read_resource(uri)).contents
        return str(content.text)  # type: ignore[union-attr]

    async def until_reached(self, *task_ids: str, **arguments: Any) -> list[Any]:
        """Wait as a parent does, again and again; the views."""
        while True:
            waited = await self.ok("wait", task_ids=list(task_ids), **arguments)
            if waited["state"] == "reached":
                return list(waited["tasks"])


def talk(
    env: Mapping[str, str],
    cwd: Path,
    say: Callable[[Tools], Awaitable[T]],
    *,
    hiding: Sequence[str] = (),
) -> T:
    """Start `cuekit --mcp`, speak with it, and let it end.

    `hiding`: variables that a process in between has and does not pass on.
    """
    command = [sys.executable, "-m", "cuekit", "--mcp"]
    if hiding:
        without = [word for name in hiding for word in ("-u", name)]
        command = ["/bin/sh", "-c", '"$@"; exit $?', "sh", "env", *without, *command]

    async def whole() -> tuple[bool, Any]:
        server = StdioServerParameters(
            command=command[0], args=command[1:], env=dict(env), cwd=str(cwd)
        )
        with anyio.fail_after(LIMIT_S):
            async with (
                stdio_client(server) as (reader, writer),
                ClientSession(reader, writer) as session,
            ):
                await session.initialize()
                try:
                    return True, await say(Tools(session))
                except Exception as error:  # not through task groups, which would wrap it
                    return False, error

    done, value = anyio.run(whole)
    if not done:
        raise value
    said: T = value
    return said
