"""How each MCP client is told of `cuekit --mcp`: its snippet of configuration, its own command."""

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cuekit.errors import CuekitError, InvalidInput, InvalidState
from cuekit.paths import search_path

Json = dict[str, Any]
NAME = "cuekit"
LIMIT_S = 60.0
PASSED_ON = (
    "CUEKIT_HOME",
    "CUEKIT_TASK_ID",
    "CUEKIT_CHILD_TOKEN",
    "CUEKIT_TASK_DIR",
    "TMUX_TMPDIR",
)
"""What codex is to pass on to the server; of itself it gives its servers a few variables alone."""


class Client(NamedTuple):
    """A client: its program, its file, and what is to know about it (CLI and version measured)."""

    program: str
    file: str
    note: str


CLIENTS: Mapping[str, Client] = {
    "codex": Client(
        "codex",
        "~/.codex/config.toml",
        "Codex gives a server few variables of its own environment. Add to env_vars those that"
        " your child agents need (API keys, proxies).",
    ),
    "claude": Client(
        "claude", "~/.claude.json", "Or .mcp.json, for one project and all its users."
    ),
    "gemini": Client(
        "gemini", "~/.gemini/settings.json", "Its mcpServers may hold others already."
    ),
    "opencode": Client("opencode", "~/.config/opencode/opencode.json", "Or opencode.json here."),
}


def client(name: str) -> Client:
    """The client of that name; `claude-code` is claude. Raises InvalidInput (`unknown_client`)."""
    found = CLIENTS.get(name.replace("claude-code", "claude"))
    if found is None:
        raise InvalidInput(
            f"no MCP client {name!r}; there is {', '.join(CLIENTS)}",
            code="unknown_client",
            hint="cuekit mcp config codex",
        )
    return found


def server_command(environ: Mapping[str, str], program: str, python: str) -> list[str]:
    """The command that starts the server: by absolute path, so that no PATH decides.

    `program` is how this process was started, `python` its interpreter.
    """
    from shutil import which

    if os.path.basename(program) == NAME:
        found = program if os.path.isabs(program) else which(program, path=search_path(environ))
        if found:
            return [os.path.abspath(found), "--mcp"]
    found = which(NAME, path=search_path(environ))
    return [os.path.abspath(found), "--mcp"] if found else [python, "-m", NAME, "--mcp"]


def snippet(name: str, command: Sequence[str]) -> str:
    """What goes into the client's file."""
    program, *arguments = command
    match client(name).program:
        case "codex":
            return "\n".join(
                [
                    f"[mcp_servers.{NAME}]",
                    f"command = {json.dumps(program)}",
                    f"args = {json.dumps(arguments)}",
                    f"env_vars = {json.dumps(list(PASSED_ON))}",
                    "tool_timeout_sec = 120",
                ]
            )
        case "opencode":
            entry = {"type": "local", "command": [program, *arguments], "enabled": True}
            return json.dumps({"mcp": {NAME: entry}}, indent=2)
        case _:
            return json.dumps(
                {"mcpServers": {NAME: {"command": program, "args": arguments}}}, indent=2
            )


def add_command(name: str, command: Sequence[str]) -> list[str]:
    """The client's own command that registers the server for the user."""
    match client(name).program:
        case "codex":
            return ["codex", "mcp", "add", NAME, "--", *command]
        case "claude":
            return ["claude", "mcp", "add", "--scope", "user", NAME, "--", *command]
        case "gemini":
            return ["gemini", "mcp", "add", "--scope", "user", NAME, *command]
        case _:
            return ["opencode", "mcp", "add", NAME, "--", *command]


def config(name: str, command: Sequence[str]) -> Json:
    """The object of `mcp config`."""
    known = client(name)
    return {
        "client": known.program,
        "file": known.file,
        "snippet": snippet(name, command),
        "add": shlex.join(add_command(name, command)),
        "note": known.note,
    }


def add(name: str, command: Sequence[str], environ: Mapping[str, str]) -> Json:
    """Run the client's own command; what was run, and what it printed.

    Raises InvalidState (`client_not_installed`) and CuekitError (`client_failed`).
    """
    import subprocess
    from shutil import which

    argv = add_command(name, command)
    program = which(argv[0], path=search_path(environ))
    if program is None:
        raise InvalidState(
            f"{argv[0]} is not on your PATH",
            code="client_not_installed",
            hint=f"cuekit mcp config {name} prints what its file needs",
        )
    try:
        done = subprocess.run(
            [program, *argv[1:]],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _failed(argv, f"has not ended in {LIMIT_S:g} s", name) from None
    except OSError as error:
        raise _failed(argv, str(error.strerror), name) from None
    said = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode != 0:
        raise _failed(argv, f"exited with {done.returncode}: {said[-500:]}", name)
    return {"client": argv[0], "ran": shlex.join(argv), "output": said}


def _failed(argv: Sequence[str], what: str, name: str) -> CuekitError:
    return CuekitError(
        f"{shlex.join(argv)} {what}",
        code="client_failed",
        hint=f"cuekit mcp config {name} prints what its file needs",
        details={"ran": list(argv)},
    )
