"""Running git with fixed words, within limits, and so that a repository's files run nothing.

A repository's own configuration can name programs: hooks, a file system monitor, filters of
content, diff drivers, transports. All of them are off in every call here; only the checkout of a
worktree in a folder that the user trusts runs the filters.
"""

import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import IO, NamedTuple

from cuekit.errors import CuekitError
from cuekit.model.git_output import config_names, without_programs
from cuekit.paths import search_path

LIMIT_S = 10.0
MOST_BYTES = 8 * 1024 * 1024
FIXED = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
)
ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",  # the child's own git must never find the index locked by a look
    "GIT_PAGER": "cat",
}
NO_TRANSPORT = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1"}


class Done(NamedTuple):
    """What a call of git came to."""

    status: int
    out: bytes
    err: str

    @property
    def ok(self) -> bool:
        """Whether git was content."""
        return self.status == 0

    @property
    def line(self) -> str:
        """The output as one line of text."""
        return os.fsdecode(self.out).rstrip("\n")

    @property
    def words(self) -> str:
        """Git's own complaint, without its prefix."""
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        said = next((it for it in lines if it.startswith(("fatal:", "error:"))), "")
        said = said or (lines[-1] if lines else f"exit status {self.status}")
        return said.removeprefix("fatal: ").removeprefix("error: ")


class Git:
    """Git in one folder. Raises CuekitError (`git_missing`) where there is none on the PATH."""

    def __init__(self, folder: str, environ: Mapping[str, str], *, filters: bool = False) -> None:
        self.folder = folder
        self.binary = find(environ)
        self._filters = filters
        kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
        self._environ = kept | ENVIRONMENT | ({} if filters else NO_TRANSPORT)
        self._quiet: dict[str, str] | None = None

    def run(
        self, *words: str, limit_s: float = LIMIT_S, most: int = MOST_BYTES, locks: bool = False
    ) -> Done:
        """Run one git command that reads no content of files.

        Raises CuekitError: `git_timed_out`, `git_too_much` (it printed more than is taken),
        `git_failed` when it cannot be run at all. Another failure is in the value.
        """
        environ = {**self._environ, "GIT_OPTIONAL_LOCKS": "1"} if locks else self._environ
        return _bounded(self._argv(words), self.folder, environ, limit_s, most)

    def look(
        self, *words: str, limit_s: float = LIMIT_S, most: int = MOST_BYTES, locks: bool = False
    ) -> Done:
        """Run one that may read content of files, its filters off unless they are wanted."""
        if self._quiet is None:
            self._quiet = {} if self._filters else self._without_programs()
        environ = self._environ | self._quiet
        environ |= {"GIT_OPTIONAL_LOCKS": "1"} if locks else {}
        return _bounded(self._argv(words), self.folder, environ, limit_s, most)

    def _argv(self, words: Sequence[str]) -> list[str]:
        settings = [word for setting in FIXED for word in ("-c", setting)]
        return [self.binary, "--no-pager", "--literal-pathspecs", *settings, *words]

    def _without_programs(self) -> dict[str, str]:
        """The environment that overrides what the configuration names (git 2.31 and later)."""
        listed = self.run("config", "--list", "--name-only", "-z")
        if not listed.ok:
            raise CuekitError(
                f"git cannot read its configuration: {listed.words}", code="git_failed"
            )
        pairs = without_programs(config_names(listed.out))
        found = {"GIT_CONFIG_COUNT": str(len(pairs))}
        for number, (name, value) in enumerate(pairs):
            found |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        return found


def find(environ: Mapping[str, str]) -> str:
    """The absolute path of git. Raises CuekitError (`git_missing`).

    A relative entry of the PATH is passed over: it would be looked up in somebody's repository.
    """
    path = search_path(environ)
    binary = shutil.which("git", path=path) if path else None
    if binary is None:
        raise CuekitError(
            "git is not on the PATH", code="git_missing", hint="install git, or correct PATH"
        )
    return binary


def _bounded(
    argv: Sequence[str], folder: str, environ: Mapping[str, str], limit_s: float, most: int
) -> Done:
    try:
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # no terminal to ask on, and one group to end
        )
    except (OSError, ValueError) as error:
        raise CuekitError(f"git cannot be run in {folder}: {error}", code="git_failed") from None
    try:
        out, err = _read(process, time.monotonic() + limit_s, most)
        status = process.wait(limit_s)
    except subprocess.TimeoutExpired:
        raise CuekitError(
            f"git took longer than {limit_s:g} s in {folder}", code="git_timed_out", retryable=True
        ) from None
    finally:
        _end(process)
    return Done(status, out, err.decode("utf-8", "replace"))


def _read(process: "subprocess.Popen[bytes]", deadline: float, most: int) -> tuple[bytes, bytes]:
    """Both outputs to their ends. Raises TimeoutExpired, and CuekitError (`git_too_much`)."""
    streams: tuple[IO[bytes] | None, IO[bytes] | None] = (process.stdout, process.stderr)
    found = [bytearray(), bytearray()]
    with selectors.DefaultSelector() as selector:
        for number, stream in enumerate(streams):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, number)
        while selector.get_map():
            left = deadline - time.monotonic()
            ready = selector.select(max(0.0, left))
            if not ready and left <= 0:
                raise subprocess.TimeoutExpired(process.args, 0)
            for key, _ in ready:
                data = os.read(key.fd, 65536)
                if not data:
                    selector.unregister(key.fileobj)
                found[key.data] += data
            if len(found[0]) > most or len(found[1]) > most:
                raise CuekitError(
                    f"git printed more than {most} bytes", code="git_too_much", hint=None
                )
    return bytes(found[0]), bytes(found[1])


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End git and what it started, if it still runs."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
