"""The server on standard input and output; the one place that imports the `mcp` package."""

import json
import os
import sqlite3
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from cuekit import __version__
from cuekit.errors import CuekitError
from cuekit.mcp_server import identity, resources
from cuekit.mcp_server.schemas import TOOLS
from cuekit.mcp_server.tools import Gone, Parent

T = TypeVar("T")
SIDE_BY_SIDE = 16  # calls at work at the same time; a wait takes one for its whole length
INSTRUCTIONS = (
    "Delegates tasks to coding agents in tmux panes. submit_task, then wait (again while it says"
    " running), steer_task, get_result. A user can attach to each pane."
)


def serve() -> int:
    """Serve one client until standard input ends; 0."""
    environ = identity.environment(os.environ, os.getpid())
    parent = Parent(identity.new_session(), environ)
    try:
        anyio.run(_serve, parent)
    except* (BrokenPipeError, anyio.BrokenResourceError):
        pass  # the client is gone, and with it whoever could be told
    return 0


async def _serve(parent: Parent) -> None:
    server = _server(parent)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


def _server(parent: Parent) -> "Server[Any]":
    limiter = anyio.CapacityLimiter(SIDE_BY_SIDE)

    async def in_thread(work: Callable[[threading.Event], T]) -> T:
        stopped = threading.Event()
        try:
            return await anyio.to_thread.run_sync(
                work, stopped, abandon_on_cancel=True, limiter=limiter
            )
        finally:
            stopped.set()  # a call that was taken back ends at its next look

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_tools())

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        def work(stopped: threading.Event) -> types.CallToolResult:
            return _called(parent, params, stopped)

        return await in_thread(work)

    async def list_resources(_context: Any, _params: Any) -> types.ListResourcesResult:
        found = await in_thread(lambda _: _guarded(partial(resources.listed, parent)))
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=one.uri, name=one.name, mime_type=one.mime_type) for one in found
            ]
        )

    async def list_templates(_context: Any, _params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(uri_template=uri, name=name, mime_type=mime_type)
                for uri, name, mime_type in resources.TEMPLATES
            ]
        )

    async def read_resource(
        _context: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        text, mime_type = await in_thread(lambda _: _guarded(partial(resources.read, parent, uri)))
        shown = text.encode("utf-8", "replace").decode()
        contents = types.TextResourceContents(uri=uri, text=shown, mime_type=mime_type)
        return types.ReadResourceResult(contents=[contents])

    return Server(
        "cuekit",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def _tools() -> list[types.Tool]:
    return [
        types.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=tool.schema,
            annotations=types.ToolAnnotations(
                read_only_hint=tool.read_only,
                destructive_hint=tool.destructive,
                idempotent_hint=tool.read_only or tool.idempotent,
                open_world_hint=tool.name.startswith(("submit", "steer", "resume")),
            ),
        )
        for tool in TOOLS
    ]


def _called(
    parent: Parent, params: types.CallToolRequestParams, stopped: threading.Event
) -> types.CallToolResult:
    """A tool's object; a failure is the same object that the command line prints."""
    try:
        value = parent.call(params.name, params.arguments, stopped)
    except Gone:
        return types.CallToolResult(content=[], is_error=True)
    except Exception as error:  # the boundary: a failure of ours must not end the connection
        return _result({"error": _failure(error, parent).as_json()}, is_error=True)
    return _result(value, is_error=False)


def _result(value: dict[str, Any], *, is_error: bool) -> types.CallToolResult:
    # A path may hold bytes that are no text; on the wire they would end the connection.
    written = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    text = types.TextContent(type="text", text=written.decode())
    return types.CallToolResult(
        content=[text], structured_content=json.loads(written), is_error=is_error
    )


def _guarded(work: Callable[[], T]) -> T:
    try:
        return work()
    except CuekitError as error:
        code = -32002 if error.exit_status == 3 else -32603  # MCP: resource not found
        raise MCPError(code=code, message=error.message, data=error.as_json()) from None


def _failure(error: Exception, parent: Parent) -> CuekitError:
    if isinstance(error, CuekitError):
        return error
    if isinstance(error, sqlite3.Error):
        from cuekit.service.lookup import store_failure

        return store_failure(error, parent.environ)
    return CuekitError(
        f"a fault of cuekit's own: {type(error).__name__}: {error}", code="internal_error"
    )
