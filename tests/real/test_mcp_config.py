"""What `cuekit mcp config` prints is taken by the client itself: its own list shows the server."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.real_agents import RealAgent

PLACES = {"gemini": ".gemini/settings.json", "opencode": ".config/opencode/opencode.json"}
LIST = ("mcp", "list")


def test_the_snippet_is_taken_by_the_client(acp_agent: RealAgent) -> None:
    told = acp_agent.cuekit_result("mcp", "config", acp_agent.name)
    if acp_agent.name not in PLACES:
        assert (acp_agent.name, told.returncode) == ("grok", 2)
        return
    snippet = told.stdout
    place = Path(acp_agent.home) / PLACES[acp_agent.name]
    assert f"~/{PLACES[acp_agent.name]}" in snippet.splitlines()[0]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(snippet[snippet.index("{") :])
    done = acp_agent.run(*LIST, timeout=60)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    assert "cuekit" in shown, shown
    assert re.search(r"cuekit.*--mcp|cuekit\s+connected", shown, re.DOTALL), shown
