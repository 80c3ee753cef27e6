"""The one place that runs tmux, and the reading of its answer."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cuekit.errors import CuekitError
from cuekit.panes.base import PaneGone, TmuxGone, TmuxMissing, TmuxUnclear
from cuekit.paths import search_path

# A server that this call starts keeps what it is started with for as long as it lives, and hands
# it to every pane of the user's: so no secret, and nothing of the submitting shell's.
SERVER_ENVIRONMENT = (
    "HOME",
    "PATH",
    "SHELL",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TMPDIR",
    "TMUX_TMPDIR",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",  # tmux looks for the user's tmux.conf there
)
GONE = ("no server running on", "error connecting to", "server exited", "lost server")
NO_TARGET = (
    "can't find pane",
    "can't find session",
    "can't find window",
    "no such session",
    "no current target",  # said by a server whose last session has just ended
    "no sessions",
)


@dataclass(frozen=True)
class Call:
    """What one invocation of tmux gave."""

    arguments: tuple[str, ...]
    socket: str
    status: int
    output: str
    errors: str

    def failure(self) -> CuekitError:
        """The error that tmux's own words stand for."""
        words = self.errors.strip().partition("\n")[0]
        if "File name too long" in words:
            return TmuxUnclear(
                f"the path of tmux's socket is too long for this system: {self.socket}",
                code="tmux_socket",
                hint="set TMUX_TMPDIR, or multiplexer.socket_path, to a shorter one",
                retryable=False,
            )
        if any(words.startswith(start) for start in GONE) and "Permission denied" not in words:
            return TmuxGone(
                f"no tmux server answers at {self.socket}",
                hint="`cuekit task list` tells what has become of its tasks",
                details={"tmux": words},
            )
        if any(words.startswith(start) for start in NO_TARGET):
            return PaneGone(
                f"tmux at {self.socket} has no such pane: {words}",
                hint="`cuekit task list` tells what has become of its task",
            )
        return TmuxUnclear(
            f"tmux {self.arguments[0] if self.arguments else ''} failed with {self.status}:"
            f" {words or 'no word of why'}",
            hint="try again; `cuekit doctor` looks at the tmux server",
            retryable=False,
        )


def find_tmux(environ: Mapping[str, str]) -> str:
    """The absolute path of tmux. Raises TmuxMissing with the way to install it."""
    for folder in filter(None, search_path(environ).split(os.pathsep)):
        path = os.path.join(folder, "tmux")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise TmuxMissing(
        "tmux is not installed, or not on PATH",
        hint="apt-get install tmux (Debian, Ubuntu), brew install tmux (macOS)",
    )


def server_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that a tmux server may keep."""
    kept = {
        name: value
        for name, value in environ.items()
        if name in SERVER_ENVIRONMENT or name.startswith("LC_")
    }
    return {"PATH": os.defpath, **kept}


def run(command: Sequence[str], given: bytes, environ: Mapping[str, str], limit_s: float) -> Call:
    """Run tmux with text on its standard input. Raises TmuxUnclear (`tmux_timeout`) at the limit.

    The client is ended then; a server that was stopped may still carry out what it was told.
    """
    import subprocess

    at = command.index("-S")
    socket, arguments = command[at + 1], tuple(command[at + 2 :])
    try:
        done = subprocess.run(
            list(command),
            input=given,
            capture_output=True,
            env=server_environment(environ),
            cwd="/",
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TmuxUnclear(
            f"the tmux server at {socket} did not answer within {limit_s:g} s",
            code="tmux_timeout",
            hint="see whether its process is stopped (kill -CONT PID) or the machine overloaded",
            details={"socket": socket, "tmux": arguments[0] if arguments else ""},
        ) from None
    except OSError as error:
        raise TmuxUnclear(f"cannot run {command[0]}: {error.strerror}") from None
    return Call(
        arguments,
        socket,
        done.returncode,
        done.stdout.decode("utf-8", "surrogateescape"),
        done.stderr.decode("utf-8", "replace"),
    )
