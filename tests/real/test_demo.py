"""`./dev demo --agent-kind KIND` with the real agent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.real_agents import RealAgent

ROOT = Path(__file__).resolve().parents[2]


def test_the_demo_holds_with_the_agent(any_agent: RealAgent) -> None:
    if any_agent.name == "claude":  # it can be told of trust only in its own record
        any_agent.trust(Path("/tmp"))  # where the demo makes its project
    path = f"{Path(sys.executable).parent}{os.pathsep}{any_agent.env['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "tools.demo", "--agent-kind", any_agent.kind],
        cwd=ROOT,
        env=any_agent.env | {"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert any_agent.model.user_messages == [
        "Answer with one word: ready",
        "Now answer with one word: steered",
    ]
