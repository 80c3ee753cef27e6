"""The activity module of `composer.py`, and a target that types into it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cuekit.activity.base import Composer, Screen, SteerPlan
from cuekit.launch import notify
from cuekit.model.activity import Signal
from cuekit.panes.octal import shell_path
from cuekit.panes.steer import Target
from cuekit.panes.tmux import Tmux
from tests.support.tmux import TmuxServer
from tests.support.wait import wait_until

PROGRAM = Path(__file__).with_name("composer.py")
ROOT = Path(__file__).resolve().parents[2]


class ComposerAgent:
    """Satisfies ActivityModule."""

    def __init__(self, refusal: str | None = None) -> None:
        self.refusal = refusal

    def hook_signals(self, event: str, payload: Mapping[str, Any], at: float) -> list[Signal]:
        return []

    def log_signals(self, line: bytes, at: float) -> list[Signal]:
        return []

    def title_signal(self, title: str, at: float) -> Signal | None:
        return None

    def read_screen(self, plain: str, styled: str) -> Screen:
        lines = plain.rstrip("\n").split("\n")
        busy = lines[-1].strip() == "BUSY"
        if lines[0].startswith("DIALOG"):
            return Screen(dialog="approval")
        if not lines[0].startswith(">"):
            return Screen(composer=Composer.HIDDEN, busy=busy)
        draft = " ".join(lines[:-1])[2:]
        if not draft.strip():
            return Screen(composer=Composer.EMPTY, busy=busy)
        return Screen(composer=Composer.DRAFT, draft=draft, busy=busy)

    def steer_plan(self, text: str, version: str | None) -> SteerPlan:
        if self.refusal:
            return SteerPlan(pieces=(), refusal=self.refusal)
        return SteerPlan(pieces=(text,), enter_delay_s=0.0)


class ComposerPane:
    """`composer.py` in a pane of a private server."""

    def __init__(self, server: TmuxServer, folder: Path, *options: str) -> None:
        self.folder = folder
        self.tmux = Tmux(str(server.socket), environ=server.env)
        words = " ".join(shell_path(word) for word in (sys.executable, str(PROGRAM), str(folder)))
        path = shell_path(str(ROOT))
        more = " ".join(shell_path(option) for option in options)
        command = f"PYTHONPATH={path} exec {words} {more}"
        self.pane_id = self.tmux.start_session(
            "composer", ["/bin/sh", "-c", command], task_id="t_x", pipe_command=""
        )
        wait_until((folder / "ready").exists, what=lambda: self.tmux.capture(self.pane_id))

    def target(self, agent: ComposerAgent | None, *, busy: bool = False) -> Target:
        return Target(
            backend=self.tmux,
            pane_id=self.pane_id,
            kind="composer",
            agent=agent,
            version=None,
            task_dir=str(self.folder),
            busy=busy,
            check=lambda: None,
            waiter=lambda: notify.Waiter([str(self.folder)]),
        )

    def show(self, state: str) -> None:
        """Set what the program shows, and wait until it does."""
        new = self.folder / "state.new"
        new.write_text(state)
        new.rename(self.folder / "state")
        wanted = {"dialog": "DIALOG", "busy": "BUSY", "hidden": "IDLE", "idle": ">"}[state]

        def shown() -> bool:
            screen = self.screen()
            return wanted in screen and (state != "hidden" or ">" not in screen)

        wait_until(shown, what=lambda: repr(self.screen().strip()))

    def screen(self) -> str:
        return self.tmux.capture(self.pane_id)

    def messages(self) -> list[str]:
        import json

        try:
            lines = (self.folder / "messages").read_text().splitlines()
        except OSError:
            return []
        return [json.loads(line) for line in lines]

    def answers(self) -> bytes:
        path = self.folder / "answers"
        return path.read_bytes() if path.exists() else b""
