"""`cuekit mcp`: what it prints fits the client's file, and what it runs is the client's own."""

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine, cli

__all__ = ["cli"]


def snippet(cli: CommandLine, client: str) -> tuple[str, str]:
    value = cli.json("mcp", "config", client)
    assert set(value) == {"client", "file", "snippet", "add", "note"}
    return value["snippet"], value["add"]


def installed(cli: CommandLine, name: str, script: str) -> Path:
    """A program first on the PATH."""
    folder = cli.user / "bin"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    cli.env["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return folder / name


def test_each_snippet_is_in_the_clients_own_language(cli: CommandLine) -> None:
    program = str(installed(cli, "cuekit", "exit 1"))
    text, add = snippet(cli, "codex")
    server = tomllib.loads(text)["mcp_servers"]["cuekit"]
    assert (server["command"], server["args"]) == (program, ["--mcp"])
    assert {"CUEKIT_HOME", "CUEKIT_TASK_ID", "CUEKIT_CHILD_TOKEN"} <= set(server["env_vars"])
    assert add == f"codex mcp add cuekit -- {program} --mcp"
    for client in ("claude", "gemini"):
        text, add = snippet(cli, client)
        known = json.loads(text)["mcpServers"]["cuekit"]
        assert known == {"command": program, "args": ["--mcp"]}
        assert add.startswith(f"{client} mcp add --scope user cuekit ")
    text, _ = snippet(cli, "opencode")
    assert json.loads(text)["mcp"]["cuekit"]["command"] == [program, "--mcp"]
    assert len(cli.json("mcp", "config")["clients"]) == 4


def test_without_the_program_its_interpreter_is_named(cli: CommandLine) -> None:
    cli.env["PATH"] = "/nonesuch"
    text, _ = snippet(cli, "claude")
    server = json.loads(text)["mcpServers"]["cuekit"]
    assert server == {"command": sys.executable, "args": ["-m", "cuekit", "--mcp"]}


def test_the_clients_own_command_is_run_and_shown(cli: CommandLine) -> None:
    program = installed(cli, "cuekit", "exit 1")
    installed(cli, "claude", 'for word; do echo "<$word>"; done')
    done = cli.json("mcp", "add", "claude")
    assert done["ran"] == f"claude mcp add --scope user cuekit -- {program} --mcp"
    words = ["mcp", "add", "--scope", "user", "cuekit", "--", str(program), "--mcp"]
    assert done["output"].splitlines() == [f"<{word}>" for word in words]
    assert cli.out("mcp", "add", "claude").startswith("ran: claude mcp add ")


@pytest.mark.parametrize(
    ("script", "outcome"),
    [(None, (4, "client_not_installed")), ("echo no >&2; exit 3", (1, "client_failed"))],
)
def test_what_goes_wrong_is_said(
    cli: CommandLine, script: str | None, outcome: tuple[int, str]
) -> None:
    cli.env["PATH"] = "/nonesuch"
    if script is not None:
        installed(cli, "codex", script)
    assert cli.error("mcp", "add", "codex") == outcome
    assert cli.error("mcp", "add", "emacs") == (2, "unknown_client")
    assert cli.error("mcp", "config", "emacs") == (2, "unknown_client")
