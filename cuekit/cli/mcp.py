"""`cuekit mcp`: telling an agent of `cuekit --mcp`."""

import os
import sys
from typing import Any

import click

from cuekit.cli import render
from cuekit.cli.groups import Entry, LazyGroup
from cuekit.cli.options import command, format_option

CLIENTS = "codex, claude, gemini or opencode"

group = LazyGroup(
    "mcp",
    {
        "config": Entry("cuekit.cli.mcp", "config", "Print what a client's configuration needs."),
        "add": Entry("cuekit.cli.mcp", "add", "Register the server by the client's own command."),
    },
    help="Give agents cuekit as an MCP server.\n\nThey can delegate by it, and report. The "
    "server itself is `cuekit --mcp`.",
    examples=("cuekit mcp config codex", "cuekit mcp add claude"),
)


@command(
    "config",
    help=f"Print what the configuration of CLIENT needs: {CLIENTS}. Without CLIENT, of each.\n\n"
    "Nothing is written.",
    short_help="Print what a client's configuration needs.",
    examples=("cuekit mcp config codex", "cuekit mcp config claude --format json"),
)
@click.argument("client", required=False)
@format_option
def config(client: str | None, fmt: str) -> None:
    """Print one snippet, or all."""
    from cuekit.service import mcp_clients

    server = mcp_clients.server_command(os.environ, sys.argv[0], sys.executable)
    names = [client] if client else list(mcp_clients.CLIENTS)
    found = [mcp_clients.config(name, server) for name in names]
    value = found[0] if client else {"clients": found}
    render.emit(value, fmt, lambda _: "\n\n".join(_as_text(one) for one in found))


@command(
    "add",
    help=f"Register `cuekit --mcp` with CLIENT ({CLIENTS}) by that client's own command, and say "
    "which one was run.",
    short_help="Register the server by the client's own command.",
    examples=("cuekit mcp add claude", "cuekit mcp add codex"),
)
@click.argument("client")
@format_option
def add(client: str, fmt: str) -> None:
    """Run it and print what it said."""
    from cuekit.service import mcp_clients

    server = mcp_clients.server_command(os.environ, sys.argv[0], sys.executable)
    done = mcp_clients.add(client, server, os.environ)
    render.emit(done, fmt, lambda it: render.visible(f"ran: {it['ran']}\n{it['output']}".strip()))


def _as_text(value: dict[str, Any]) -> str:
    lines = [
        f"# {value['client']}: put this into {value['file']}",
        f"# or run: {value['add']}",
        f"# {value['note']}",
        value["snippet"],
    ]
    return render.visible("\n".join(lines))
