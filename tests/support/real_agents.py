"""A real agent in a throwaway home, with a scripted model as its provider.

Fixtures `codex`, `claude` and `any_agent` (tests/real/conftest.py) give one for each version:

    def test_x(codex):
        codex.model.queue("hello there")
        codex.trust()
        task = codex.cuekit("task", "submit", "--agent-kind", codex.kind, ...)
        assert codex.model.user_messages == ["..."]
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import agent_home, processes
from tests.support.agent_versions import ROOT, AgentVersion
from tests.support.model_server import ModelServer
from tests.support.tmux import TmuxServer
from tests.support.wait import wait_until

NO_WAY_OUT = {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1,localhost"}
"""A look-up outside fails at once: the port is closed.

Without a route a name is asked for until time is up: codex 0.133.0 then waits 5 s at its end for
its catalogue of plugins, grok 1.0.41 2.3 s at its start. The model is plain http, so not meant.
"""


@dataclass
class RealAgent:
    """One version of one agent, ready to run. `env` may be changed by a test before it starts."""

    version: AgentVersion
    binary: Path
    model: ModelServer
    home: Path
    project: Path
    cuekit_home: Path
    env: dict[str, str]
    tmux: TmuxServer

    @property
    def name(self) -> str:
        """The program: codex or claude."""
        return self.version.name

    @property
    def kind(self) -> str:
        """The agent kind of cuekit: codex or claude-code."""
        return self.version.kind

    def trust(self, folder: Path | None = None) -> None:
        """Trust the project (or another folder) in the agent's own configuration."""
        trust = agent_home.codex_trust if self.name == "codex" else agent_home.claude_trust
        trust(self.home, folder or self.project)

    def run(
        self, *args: str, timeout: float = 60, **changes: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the agent itself in the project, without cuekit; `changes` to its environment."""
        return self._run([self.name, *args], timeout, changes)

    def print_answer(self, prompt: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """The agent's own batch mode: `codex exec` or `claude -p`."""
        batch = ["exec", "--"] if self.name == "codex" else ["-p", "--"]
        return self.run(*batch, prompt, timeout=timeout)

    def start_tui(self, *args: str) -> str:
        """Start the agent's own TUI in a pane, without cuekit; the pane's id."""
        flags = []
        if self.name == "codex":
            flags = ["--no-alt-screen", "-c", "features.daemon_auto_start=false"]
        command = shlex.join([self.name, *flags, *args])
        size = ["-x", "110", "-y", "36", "-c", str(self.project)]
        return self.tmux.run("new-session", "-d", *size, "-P", "-F", "#{pane_id}", command)

    def type_in_tui(self, pane: str, text: str) -> None:
        """Paste `text` into the TUI as a person would: Enter once it is in the composer.

        Returns when the composer has let go of it. claude 2.1.167 and 2.1.197 lose what is
        pasted sooner, while they still take the message before.
        """

        def screen() -> str:
            return self.tmux.screen(pane)

        last = text.splitlines()[-1].strip()
        self.tmux.paste(pane, text)
        wait_until(lambda: last in composer(self.name, screen()), 30, screen)
        # The composers take an Enter within some 60 ms of a paste as part of it, unseen.
        time.sleep(0.3)
        self.tmux.key(pane, "Enter")
        wait_until(lambda: last not in composer(self.name, screen()), 30, screen)

    def cuekit_result(
        self, *args: str, timeout: float = 60, stdin: str | None = None, **changes: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `cuekit ARGS` in the project; the caller judges its status."""
        command = [sys.executable, "-m", "cuekit", *args]
        return self._run(command, timeout, {"PYTHONPATH": str(ROOT), **changes}, stdin)

    def cuekit(self, *args: str, timeout: float = 60, stdin: str | None = None) -> Any:
        """Run `cuekit ARGS --format json`, which must succeed; what it printed, parsed."""
        done = self.cuekit_result(*args, "--format", "json", timeout=timeout, stdin=stdin)
        assert done.returncode == 0, f"cuekit {shlex.join(args)}: {done.returncode}\n{done.stderr}"
        return json.loads(done.stdout)

    def processes(self) -> dict[int, str]:
        """Everything alive that belongs to this agent: tmux, cuekit's own, and what it started.

        Told by the home in the environment, which every program passes on.
        """
        return processes.marked(f"HOME={self.home}")

    def close(self) -> None:
        """End the tmux server, every process that is left, and the model."""
        self.tmux.close()
        processes.end_marked(f"HOME={self.home}")
        self.model.close()

    def _run(
        self,
        command: list[str],
        timeout: float,
        changes: Mapping[str, str],
        stdin: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            env={**self.env, **changes},
            cwd=self.project,
            input=stdin or "",
            capture_output=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )


def composer(name: str, screen: str) -> str:
    """The part of the TUI's screen that holds the message being written.

    claude: between the last two rules. codex: from the last line that begins with its mark.
    """
    lines = screen.splitlines()
    if name == "codex":
        starts = [i for i, line in enumerate(lines) if line.startswith("\u203a")]
        return "\n".join(lines[starts[-1] :] if starts else [])
    rules = [i for i, line in enumerate(lines) if line.startswith("\u2500" * 20)]
    return "\n".join(lines[rules[-2] : rules[-1]] if len(rules) > 1 else [])


def _git_repository(folder: Path, env: Mapping[str, str]) -> None:
    folder.mkdir()
    (folder / "README.md").write_text("A project for tests.\n", encoding="utf-8")
    for args in (
        ["init", "-q", "-b", "main"],
        ["add", "README.md"],
        ["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "-m", "first"],
    ):
        subprocess.run(["git", *args], cwd=folder, env=dict(env), check=True, timeout=30)


def make_agent(version: AgentVersion, folder: Path) -> RealAgent:
    """Set up one agent below `folder` and start its model. FileNotFoundError if not installed."""
    binary = version.binary
    if binary is None:
        raise FileNotFoundError(f"{version.label} is not installed below {version.folder.parent}")
    for name in ("bin", "home", "tmp"):
        (folder / name).mkdir()
    home, project = folder / "home", folder / "project"
    (folder / "bin" / version.name).symlink_to(binary)
    scripts = sysconfig.get_path("scripts")
    env = {
        "PATH": os.pathsep.join([str(folder / "bin"), scripts, os.environ["PATH"]]),
        "HOME": str(home),
        "USER": "cuekit-test",
        "LOGNAME": "cuekit-test",
        "SHELL": "/bin/sh",
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "TMPDIR": str(folder / "tmp"),
        "CUEKIT_HOME": str(folder / "cuekit"),
        "GIT_CONFIG_NOSYSTEM": "1",
        **NO_WAY_OUT,
    }
    model = ModelServer().start()
    env |= agent_home.FILES[version.name](home, model.url)
    _git_repository(project, env)
    tmux = TmuxServer(label="default", env=env)
    return RealAgent(version, binary, model, home, project, folder / "cuekit", tmux.env, tmux)
