"""A tmux server of a test's own: private socket name, private socket folder, ended by name.

    def test_x(tmux_server):
        pane = tmux_server.run("new-session", "-d", "-P", "-F", "#{pane_id}", "cat")
        wait_until(lambda: "hello" in tmux_server.screen(pane))

`tmux_server.env` holds TMUX_TMPDIR for programs that are started beside it.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

TMUX_TIMEOUT = 10.0
"""Seconds that one tmux command may take before a test fails instead of hanging."""


class TmuxServer:
    """One private tmux server; nothing is started before the first command that needs it."""

    def __init__(self, label: str | None = None, env: Mapping[str, str] | None = None) -> None:
        # Not below pytest's own folder: a socket path may have no more than 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="ck-", dir="/tmp"))
        self.label = label or f"ck-{secrets.token_hex(4)}"
        # tmux falls back to a shared folder when TMUX_TMPDIR is not there, so commands name the
        # socket by its path and can never reach another server.
        self.socket = self.folder / f"tmux-{os.getuid()}" / self.label
        self.socket.parent.mkdir(mode=0o700)
        base = dict(os.environ if env is None else env)
        for inherited in ("TMUX", "TMUX_PANE"):
            base.pop(inherited, None)
        self.env = {**base, "TMUX_TMPDIR": str(self.folder)}

    def try_run(self, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run one tmux command on this server; the caller judges its status."""
        return subprocess.run(
            ["tmux", "-S", str(self.socket), "-f", "/dev/null", *args],
            env=self.env,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            timeout=TMUX_TIMEOUT,
            check=False,
        )

    def run(self, *args: str, stdin: str = "") -> str:
        """Run one tmux command that must succeed; return its output without the last newline."""
        done = self.try_run(*args, stdin=stdin)
        assert done.returncode == 0, f"tmux {' '.join(args)}: {done.stderr.strip()}"
        return done.stdout.removesuffix("\n")

    def screen(self, target: str) -> str:
        """The text that the pane shows now."""
        return self.run("capture-pane", "-p", "-t", target)

    def paste(self, target: str, text: str) -> None:
        """Paste `text` as one bracketed paste, without an Enter."""
        self.run("load-buffer", "-b", "scripted", "-", stdin=text)
        self.run("paste-buffer", "-p", "-r", "-d", "-b", "scripted", "-t", target)

    def key(self, target: str, *names: str) -> None:
        """Press keys by their tmux names."""
        self.run("send-keys", "-t", target, *names)

    def value(self, target: str, fmt: str) -> str:
        """A tmux format such as `#{pane_title}` for one pane."""
        return self.run("display-message", "-p", "-t", target, fmt)

    def sessions(self) -> list[str]:
        """Names of the sessions, empty when the server is not running."""
        done = self.try_run("list-sessions", "-F", "#{session_name}")
        return done.stdout.splitlines() if done.returncode == 0 else []

    def close(self) -> None:
        """End the server and remove its folder; harmless when it never ran."""
        self.try_run("kill-server")
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture
def tmux_server() -> Iterator[TmuxServer]:
    """A private tmux server for one test."""
    server = TmuxServer()
    try:
        yield server
    finally:
        server.close()
