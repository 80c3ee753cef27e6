"""Standard input to a task's transcript, run by tmux's pipe-pane: `python -I -S ... RUN_FOLDER`.

It never makes the pane wait: what cannot be written is counted and said in the transcript when
writing works again. The size is capped. Window titles (OSC 0 and 2) are kept in a file for the
supervisor.
"""

import contextlib
import os
import re
import select
import signal
import sys
import time

if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from cuekit import files
from cuekit.launch import plan as plans
from cuekit.launch import processes, sentinel
from cuekit.launch import transcript as transcripts
from cuekit.launch.plan import LaunchPlan

TITLE = re.compile(rb"\x1b\][02];([^\x07\x1b]{0,512})(?:\x07|\x1b\\)")
TITLE_BYTES = 600
TITLE_SECONDS = 0.1
START_SECONDS = 0.5  # between two looks for a supervisor that has not begun


class Transcript:
    """The file, its limit, and what was lost of it."""

    def __init__(self, path: str, limit: int) -> None:
        self._descriptor = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        self._left = limit
        self._lost = 0
        self._why = ""

    def write(self, data: bytes) -> None:
        """Append bytes; what does not fit or cannot be written is counted as lost."""
        if self._left <= 0:
            return
        if self._lost and not self._say_gap():
            self._lost += len(data)
            return
        if len(data) > self._left:
            data = data[: self._left]
            rest = "\r\n[cuekit: the transcript's size limit is reached; the rest is not kept]\r\n"
            data += rest.encode()
            self._left = 0
        self._append(data)
        self._left -= len(data)

    def _append(self, data: bytes) -> None:
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except OSError as error:
                self._lost += len(data)
                self._why = os.strerror(error.errno or 0)
                return

    def _say_gap(self) -> bool:
        note = f"\r\n[cuekit: {self._lost} bytes are missing here: {self._why}]\r\n".encode()
        try:
            written = os.write(self._descriptor, note)
        except OSError:
            return False
        self._lost = 0
        self._append(note[written:])
        return self._lost == 0

    def close(self) -> None:
        """Say what is missing at the end, if it can be said."""
        if self._lost:
            self._say_gap()
        os.close(self._descriptor)


class Titles:
    """The newest window title in the stream, written to a file when it changes."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._rest = b""
        self._title: bytes | None = None
        self._stored: bytes | None = None
        self._at = 0.0

    def feed(self, data: bytes) -> None:
        """Look through more of the stream."""
        data = self._rest + data
        end = 0
        for match in TITLE.finditer(data):
            self._title, end = match.group(1), match.end()
        start = data.rfind(b"\x1b", max(end, len(data) - TITLE_BYTES))
        if start > 0 and data[start : start + 2] == b"\x1b\\":
            start = data.rfind(b"\x1b", end, start)
        self._rest = data[start:] if start >= 0 else b""
        self.store()

    def store(self, *, at_once: bool = False) -> None:
        """Write the title if it is new and the last one has stood for a moment."""
        now = time.monotonic()
        if self._title is None or self._title == self._stored:
            return
        if not at_once and now - self._at < TITLE_SECONDS:
            return
        self._at, self._stored = now, self._title
        try:
            files.replace_file(self._path, self._title)
        except OSError:
            self._stored = None

    @property
    def waits(self) -> bool:
        """Whether a title is still to be written."""
        return self._title != self._stored


class Guard:
    """Watches the supervisor, and settles its task when it is killed.

    tmux's pane-died hook does the same, but not surely: in 3 of 20 runs tmux 3.3a with utempter
    (Debian 12) lost the signal that tells of the pane's end.
    """

    def __init__(self, plan: LaunchPlan) -> None:
        self._plan = plan
        self.watched: list[int] = []
        self._over = not hasattr(os, "pidfd_open")

    def look(self, ready: list[int]) -> None:
        """Find the supervisor, or see that it has ended."""
        if self.watched and self.watched[0] in ready:
            os.close(self.watched.pop())
            self._over = True
            if sentinel.read(self._plan.run_dir) is None:
                self._settle()
        elif not self.watched and not self._over:
            self._find()

    def _find(self) -> None:
        who = files.read_json(os.path.join(self._plan.run_dir, plans.STARTED))
        if not isinstance(who, dict):
            return
        with contextlib.suppress(OSError):
            descriptor = os.pidfd_open(int(who["pid"]))
            if processes.alive(who):
                self.watched = [descriptor]
                return
            os.close(descriptor)
        self._over = True
        if sentinel.read(self._plan.run_dir) is None:
            self._settle()

    def _settle(self) -> None:
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "supervisor.py")
        argv = [sys.executable, "-I", "-S", program, "--settle", self._plan.run_dir]
        # A process of its own, since to close the session ends this one.
        os.posix_spawn(argv[0], argv, os.environ, setsid=True)


class EndMark:
    """Cuts the supervisor's mark out of the stream, and all that comes behind it."""

    def __init__(self, mark: bytes) -> None:
        self._mark = mark
        self._held = b""
        self.seen = False

    def feed(self, data: bytes) -> bytes:
        """The part of the stream that may be written now."""
        if self.seen:
            return b""
        data = self._held + data
        before, found, _ = data.partition(self._mark)
        if found:
            self.seen, self._held = True, b""
            return before
        kept = self._beginning_at_the_end_of(data)
        self._held = data[len(data) - kept :]
        return data[: len(data) - kept]

    def rest(self) -> bytes:
        """What was held back, at the end of the stream."""
        held, self._held = self._held, b""
        return held

    def _beginning_at_the_end_of(self, data: bytes) -> int:
        for length in range(min(len(self._mark) - 1, len(data)), 0, -1):
            if data.endswith(self._mark[:length]):
                return length
        return 0


def _pause(titles: Titles, guard: Guard) -> float | None:
    if titles.waits:
        return TITLE_SECONDS
    return None if guard.watched else START_SECONDS


def main(run_dir: str) -> int:
    """Copy until the end of the stream."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    plan = plans.read(run_dir)
    if plan is None:
        return 1
    transcript = Transcript(
        os.path.join(plan.task_dir, transcripts.FILE_NAME), plan.transcript_limit
    )
    titles = Titles(os.path.join(run_dir, plans.TITLE))
    end = EndMark(transcripts.mark(plan))
    guard = Guard(plan)
    while True:
        waits = titles.waits
        ready, _, _ = select.select([0, *guard.watched], [], [], _pause(titles, guard))
        guard.look(ready)
        if 0 not in ready:
            titles.store(at_once=waits)
            continue
        data = os.read(0, 65536)
        if not data:
            break
        transcript.write(end.feed(data))
        titles.feed(data)
        if end.seen:
            transcripts.say_written(run_dir)
    transcript.write(end.rest())
    transcript.close()
    transcripts.say_written(run_dir)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
