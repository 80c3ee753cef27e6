"""The doctor's looks at tmux and at the caller's terminal."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from cuekit.errors import CuekitError
from cuekit.service.doctor_check import Check, Situation, failure, ok, warning

if TYPE_CHECKING:
    from cuekit.panes.tmux import Tmux

TMUX_LIMIT_S = 5.0
OLDEST_TMUX = (3, 2)
"""Below it `pane-died` with an exit status, or options of one pane, are missing."""

TERMINFO = (
    "/etc/terminfo",
    "/lib/terminfo",
    "/usr/share/terminfo",
    "/usr/lib/terminfo",
    "/usr/local/share/terminfo",
    "/opt/homebrew/share/terminfo",
)

SOCKET_BYTES = 103
"""What fits in a socket's address on macOS (104 with the NUL); Linux has 4 more."""


def tmux(situation: Situation) -> Iterator[Check]:
    """The program, the server, its options, and the length of its socket's path."""
    from cuekit.panes.base import TmuxGone, TmuxUnclear
    from cuekit.panes.tmux_call import find_tmux

    yield _version(find_tmux(situation.environ), situation)
    server = server_of(situation)
    path = server.socket()
    yield _socket(path)
    try:
        count = len(server.panes())
        options = server.unpinnable()
    except TmuxGone:
        yield ok("tmux_server", f"none runs at {path}; the first task starts it")
        return
    except TmuxUnclear as error:
        yield failure("tmux_server", error.message, error.hint)
        return
    yield ok("tmux_server", f"answers at {path}, with {count} panes")
    if options:
        names = ", ".join(options)
        yield failure(
            "tmux_options",
            f"the server has {names} on: it would end together with its tasks",
            f"tmux set-option -s {options[0]} off, or multiplexer: {{socket_name: cuekit}}"
            " in .cuekit.yaml",
        )
    else:
        yield ok("tmux_options", "none is set that a task's session cannot overrule")


def server_of(situation: Situation) -> "Tmux":
    """The server that a task submitted here would get. Raises TmuxMissing."""
    from cuekit.config import load
    from cuekit.panes.tmux import Tmux, named_socket
    from cuekit.paths import home_from

    environ = situation.environ
    socket = None
    with suppress(CuekitError):  # a broken configuration is told of by its own check
        found = load.effective(situation.cwd, home_from(environ), environ).multiplexer
        named = named_socket(found.socket_name, environ) if found.socket_name else None
        socket = found.socket_path or named
    return Tmux(socket, environ=environ, limit_s=TMUX_LIMIT_S)


def _version(binary: str, situation: Situation) -> Check:
    import subprocess

    try:
        done = subprocess.run(
            [binary, "-V"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TMUX_LIMIT_S,
            check=False,
            env=dict(situation.environ),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return failure("tmux", f"{binary} does not run: {error}", "install tmux anew")
    said = done.stdout.strip()
    numbers = re.search(r"(\d+)\.(\d+)", said)
    if numbers and (int(numbers[1]), int(numbers[2])) < OLDEST_TMUX:
        lowest = ".".join(map(str, OLDEST_TMUX))
        return failure("tmux", f"{said} at {binary} is older than {lowest}", "upgrade tmux")
    return ok("tmux", f"{said or 'no version told'} at {binary}")


def _socket(path: str) -> Check:
    length = len(os.fsencode(path))
    if length > SOCKET_BYTES:
        return failure(
            "tmux_socket",
            f"the path of the socket has {length} bytes, more than {SOCKET_BYTES}: {path}",
            "set TMUX_TMPDIR to a shorter folder",
        )
    return ok("tmux_socket", f"{length} of at most {SOCKET_BYTES} bytes: {path}")


def terminal(situation: Situation) -> Iterator[Check]:
    """UTF-8 and the terminal's name, which attach needs."""
    from cuekit.launch.environment import LOCALE_NAMES, utf8_locale

    name = next((n for n in LOCALE_NAMES if situation.environ.get(n)), None)
    shown = f"{name}={situation.environ[name]}" if name else "none is set"
    if utf8_locale(situation.environ):
        yield warning(
            "locale",
            f"not a UTF-8 locale ({shown}); tasks get C.UTF-8, your own terminal may show less",
            "export LC_CTYPE=C.UTF-8",
        )
    else:
        yield ok("locale", f"UTF-8 ({shown})")
    yield _terminal_name(situation.environ)


def _terminal_name(environ: Mapping[str, str]) -> Check:
    term = environ.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        said = f"TERM is {term!r}: tasks run, but `cuekit task attach` needs a terminal"
        return warning("terminal", said, "attach from a terminal, or export TERM=xterm-256color")
    if not any(os.path.exists(path) for path in _terminfo_paths(term, environ)):
        said = f"TERM={term} is not in the terminal database here, so tmux may refuse to attach"
        return warning("terminal", said, "export TERM=xterm-256color")
    return ok("terminal", f"TERM={term}")


def _terminfo_paths(term: str, environ: Mapping[str, str]) -> list[str]:
    """Where the description of a terminal may be; macOS names the folders in hexadecimal."""
    folders = [environ.get("TERMINFO", ""), os.path.join(environ.get("HOME", ""), ".terminfo")]
    folders += [*environ.get("TERMINFO_DIRS", "").split(":"), *TERMINFO]
    return [
        os.path.join(folder, letter, term)
        for folder in folders
        if folder
        for letter in (term[0], f"{ord(term[0]):x}")
    ]
