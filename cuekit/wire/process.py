"""A child process whose standard streams carry a protocol: never blocked, and ended whole."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from cuekit.errors import CuekitError
from cuekit.wire.lines import LineFramer

CHUNK_BYTES = 256 * 1024
ERROR_BYTES = 64 * 1024  # of standard error, the newest
CLOSE_SECONDS = 3.0
TERM_SECONDS = 2.0
KILL_SECONDS = 3.0

Tap = Callable[[str, bytes], None]
"""Sees each line: `>` to the child, `<` from it, `!` on its standard error."""


class AgentGone(CuekitError):
    """The agent's process has ended or does not read any more."""

    default_code = "agent_gone"


class ProcessHost:
    """One child in a process group of its own; `lines()` is its output, `write_line` its input."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        environment: Mapping[str, str],
        tap: Tap | None = None,
    ) -> None:
        self._argv = list(argv)
        self._cwd = cwd
        self._environment = dict(environment)
        self._tap = tap
        self._process: asyncio.subprocess.Process | None = None
        self._errors = bytearray()
        self._error_task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    async def start(self) -> None:
        """Start the child. Raises CuekitError (`agent_not_started`)."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._argv,
                cwd=self._cwd,
                env=self._environment,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=CHUNK_BYTES,
                start_new_session=True,
            )
        except OSError as error:
            raise CuekitError(
                f"the agent could not be started: {error.strerror}: {self._argv[0]}",
                code="agent_not_started",
                hint="cuekit doctor",
            ) from None
        self._error_task = asyncio.create_task(self._drain_errors())

    @property
    def pid(self) -> int:
        """The child's process id, which is its group's and session's too."""
        return self._child.pid

    @property
    def returncode(self) -> int | None:
        """Exit status; negative for a signal; None while it runs."""
        return self._child.returncode

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines of standard output until its end; a last line without an end comes too."""
        framer = LineFramer()
        stdout = self._child.stdout
        if stdout is None:
            return
        while chunk := await stdout.read(CHUNK_BYTES):
            for line in framer.push(chunk):
                if line:
                    self._show("<", line)
                    yield line
        if rest := framer.rest():
            self._show("<", rest)
            yield rest

    async def write_line(self, line: bytes) -> None:
        """Write one line (its line break included). Raises AgentGone."""
        stdin = self._child.stdin
        if stdin is None or stdin.is_closing():
            raise AgentGone(self._gone_text())
        async with self._writing:
            self._show(">", line.rstrip(b"\n"))
            try:
                stdin.write(line)
                await stdin.drain()
            except (BrokenPipeError, ConnectionResetError):
                raise AgentGone(self._gone_text()) from None

    def close_input(self) -> None:
        """End the child's standard input."""
        if self._child.stdin is not None:
            with contextlib.suppress(OSError):
                self._child.stdin.close()

    async def shut_down(self, *, close_seconds: float = CLOSE_SECONDS) -> int | None:
        """End the child and its whole group: close its input, TERM, KILL. Its exit status."""
        if self._process is None:
            return None
        self.close_input()
        for number, seconds in (
            (None, close_seconds),
            (signal.SIGTERM, TERM_SECONDS),
            (signal.SIGKILL, KILL_SECONDS),
        ):
            if number is not None:
                self._signal_group(number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._process.wait()
                    break
        self._signal_group(signal.SIGKILL)  # what the child itself had started and left
        if self._error_task is not None:
            self._error_task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._error_task
        return self._process.returncode

    async def wait(self) -> int:
        """Wait for the child's end; its exit status."""
        return await self._child.wait()

    def error_text(self) -> str:
        """The newest part of what the child wrote to standard error."""
        return bytes(self._errors).decode("utf-8", "replace").strip()

    @property
    def _child(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise AgentGone("the agent was not started")
        return self._process

    def _gone_text(self) -> str:
        words = self.error_text().splitlines()
        said = f": {words[-1]}" if words else ""
        return f"the agent's process does not answer any more{said}"

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, number)

    async def _drain_errors(self) -> None:
        stderr = self._child.stderr
        if stderr is None:
            return
        while chunk := await stderr.read(CHUNK_BYTES):
            self._errors += chunk
            del self._errors[:-ERROR_BYTES]
            for line in chunk.splitlines():
                self._show("!", line)

    def _show(self, direction: str, line: bytes) -> None:
        if self._tap is not None:
            self._tap(direction, line)
