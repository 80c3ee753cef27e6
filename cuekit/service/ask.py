"""Asking programs for their version and help: side by side, limited, harmless to the user."""

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

MOST_BYTES = 1_000_000
OWN_FOLDERS = frozenset(
    {
        "GEMINI_CLI_HOME",
        "GROK_HOME",
        "JCODE_HOME",
        "PI_CODING_AGENT_DIR",
        "PI_CODING_AGENT_SESSION_DIR",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
    }
)
"""Variables that would lead an agent to its user's files without HOME."""
VERSION_MANAGERS = {
    "ASDF_DATA_DIR": ".asdf",
    "MISE_CONFIG_DIR": ".config/mise",
    "MISE_DATA_DIR": ".local/share/mise",
    "NODENV_ROOT": ".nodenv",
    "VOLTA_HOME": ".volta",
}
"""Where the launchers that such tools put on the PATH find the program, below HOME by default."""


def outputs(
    commands: Sequence[Sequence[str]], environ: Mapping[str, str], limit_s: float
) -> list[str]:
    """What each command prints, all of them run at once; "" for one that fails or is too slow.

    They run without a terminal and without input, in an empty folder and with an empty home:
    even `--version` makes some agents write into their user's (codex, gemini, opencode, pi: seen).
    """
    if not commands:
        return []
    with tempfile.TemporaryDirectory(prefix="cuekit-ask-") as folder:
        places = [os.path.join(folder, name) for name in ("home", "work")]
        for place in places:
            os.mkdir(place)
        home, work = places
        children = [_start(command, _environment(environ, home), work) for command in commands]
        try:
            return _collect(children, time.monotonic() + limit_s)
        finally:
            for child in children:
                if child is not None:
                    _end(child)


def _environment(environ: Mapping[str, str], home: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in environ.items()
        if name not in OWN_FOLDERS and not name.startswith(("TMUX", "CLAUDE", "CODEX_"))
    }
    real = environ.get("HOME", "")
    for name, place in VERSION_MANAGERS.items():
        if real and os.path.isdir(os.path.join(real, place)):
            kept.setdefault(name, os.path.join(real, place))
    quiet = {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "200", "DISABLE_AUTOUPDATER": "1"}
    return kept | quiet | {"HOME": home}


def _start(
    command: Sequence[str], environ: Mapping[str, str], folder: str
) -> "subprocess.Popen[bytes] | None":
    try:
        return subprocess.Popen(
            list(command),
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError):
        return None


def _collect(children: "Sequence[subprocess.Popen[bytes] | None]", deadline: float) -> list[str]:
    texts = [b""] * len(children)
    with selectors.DefaultSelector() as selector:
        for place, child in enumerate(children):
            if child is not None and child.stdout is not None:
                selector.register(child.stdout, selectors.EVENT_READ, place)
        while selector.get_map() and (left := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                chunk = os.read(key.fd, 65536)
                texts[key.data] += chunk
                if not chunk or len(texts[key.data]) > MOST_BYTES:
                    selector.unregister(key.fileobj)
        unfinished = {key.data for key in selector.get_map().values()}
    return [
        "" if place in unfinished or not _succeeded(child, deadline) else _text(texts[place])
        for place, child in enumerate(children)
    ]


def _succeeded(child: "subprocess.Popen[bytes] | None", deadline: float) -> bool:
    if child is None:
        return False
    try:
        return child.wait(max(0.2, deadline - time.monotonic())) == 0
    except subprocess.TimeoutExpired:
        return False


def _end(child: "subprocess.Popen[bytes]") -> None:
    """End a command that is not over, with its process group."""
    if child.poll() is None:
        with suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    if child.stdout is not None:
        child.stdout.close()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
