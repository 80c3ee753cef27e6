#!/usr/bin/env python3
"""A program with a composer, as agents' terminal interfaces have one, that records what it gets.

    composer.py FOLDER [--plain] [--events TASK_DIR] [--lose-enters N]

Raw mode; asks for bracketed paste unless `--plain`. Enter outside of a paste submits: the message
is appended to FOLDER/messages as one JSON line. FOLDER/state, when it is there, holds a word that
sets what is shown: `idle`, `busy`, `dialog`, `hidden`. Bytes typed at the dialog go to
FOLDER/answers. `--events` appends prompt_accepted events as a supervisor would; `--lose-enters`
swallows the first Enters of each message. C-u empties the composer, C-d ends the program.

The screen: `DIALOG: Allow?` or a line `> TEXT` (the text's end, line breaks as blanks), and
`BUSY` or `IDLE` in the last line.
"""

from __future__ import annotations

import json
import os
import select
import sys
import termios
import tty
from pathlib import Path

OPEN, CLOSE = b"\x1b[200~", b"\x1b[201~"
SHOWN = 150


class Composer:
    def __init__(self, folder: Path, task_dir: str | None, lose_enters: int) -> None:
        self.folder = folder
        self.task_dir = task_dir
        self.lose_enters = lose_enters
        self.lost = 0
        self.draft = bytearray()
        self.pending = b""
        self.pasting = False
        self.turn = 0
        self.over = False

    def state(self) -> str:
        try:
            return (self.folder / "state").read_text().strip()
        except OSError:
            return "idle"

    def take(self, data: bytes) -> None:
        self.pending += data
        while self.pending and not self.over:
            if self.pending.startswith((OPEN, CLOSE)):
                self.pasting = self.pending.startswith(OPEN)
                self.pending = self.pending[len(OPEN) :]
            elif OPEN.startswith(self.pending) or CLOSE.startswith(self.pending):
                return  # the rest of a mark is on its way
            else:
                self.take_part()

    def take_part(self) -> None:
        """Take bytes up to the next escape, or one key."""
        if self.state() == "dialog":
            with open(self.folder / "answers", "ab") as file:
                file.write(self.pending[:1])
            self.pending = self.pending[1:]
        elif self.pasting:
            end = self.pending.find(b"\x1b", 1)
            end = len(self.pending) if end < 0 else end
            self.draft += self.pending[:end]
            self.pending = self.pending[end:]
        else:
            key, self.pending = self.pending[:1], self.pending[1:]
            if key == b"\r":
                self.enter()
            elif key == b"\x15":
                self.draft.clear()
            elif key == b"\x04":
                self.over = True
            else:
                self.draft += key

    def enter(self) -> None:
        if self.lost < self.lose_enters:
            self.lost += 1
            return
        self.lost = 0
        text = self.draft.decode("utf-8", "backslashreplace")
        with open(self.folder / "messages", "a") as file:
            file.write(json.dumps(text) + "\n")
        self.draft.clear()
        if self.task_dir:
            from cuekit.launch import events

            self.turn += 1
            events.append(
                self.task_dir, "t_x", "prompt_accepted", {"turn": self.turn, "text": text}
            )

    def draw(self) -> None:
        state = self.state()
        lines = ["DIALOG: Allow?"] if state == "dialog" else []
        if state not in ("dialog", "hidden"):
            text = self.draft.decode("utf-8", "replace").replace("\n", " ").replace("\t", " ")
            lines.append("> " + text[-SHOWN:])
        lines.append("BUSY" if state == "busy" else "IDLE")
        screen = "\x1b[H\x1b[2J" + "\r\n".join(lines)
        os.write(1, screen.encode("utf-8", "replace"))


def main() -> None:
    arguments = sys.argv[1:]
    folder = Path(arguments[0])
    task_dir = arguments[arguments.index("--events") + 1] if "--events" in arguments else None
    lose = (
        int(arguments[arguments.index("--lose-enters") + 1]) if "--lose-enters" in arguments else 0
    )
    composer = Composer(folder, task_dir, lose)
    saved = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        if "--plain" not in arguments:
            os.write(1, b"\x1b[?2004h")
        composer.draw()
        (folder / "ready").touch()
        shown = composer.state()
        while not composer.over:
            if select.select([0], [], [], 0.02)[0]:
                composer.take(os.read(0, 65536))
            elif composer.state() == shown:
                continue
            shown = composer.state()
            composer.draw()
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, saved)


if __name__ == "__main__":
    main()
