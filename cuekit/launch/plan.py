"""What submit tells the supervisor: `launch.json` in the private run folder."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cuekit import files

FILE_NAME = "launch.json"
ENVIRONMENT = "environment"
LOCK = "lock"
WRITTEN = "transcript-done"
SPOOL = "spool"
TITLE = "title"
WAITERS = "waiters"
HOOK = "hook"
COMMAND = "cuekit"
CANCEL = "cancel"
FINISH = "finish"
KEEP = "keep"
STARTED = "started"


class LaunchPlan(NamedTuple):
    """All that the supervisor needs to know; no secrets in it."""

    task_id: str
    agent_kind: str
    mode: str
    argv: list[str]
    cwd: str
    task_dir: str
    run_dir: str
    home: str
    stdin: str  # tty, null, or the path of the file that is standard input
    timeout_s: float | None
    keep: bool
    tmux: str  # absolute path of the tmux binary
    socket_path: str
    session: str  # name of the tmux session
    expects_evidence: bool  # the agent tells in this mode how its turn ended
    sidecar: bool = False  # the child is cuekit's own and tells the store itself
    last_message_file: str | None = None
    transcript_limit: int = 64 * 1024 * 1024  # bytes
    end_mark: str = ""  # nobody else's word; after the child's last output, see transcript.py
    first_prompt: Sequence[str] = ()  # command that types the first prompt
    hooks: Mapping[str, Sequence[str]] = {}  # the user's own command for an event
    hook_limit_s: float = 10.0
    notify: Mapping[str, Any] = {}  # events, desktop (a command), terminal
    own_environment: Sequence[str] = ()  # names that cuekit gave to the child

    def write(self) -> None:
        """Write it into the run folder."""
        files.replace_json(os.path.join(self.run_dir, FILE_NAME), self._asdict())


def read(run_dir: str) -> LaunchPlan | None:
    """The plan in a run folder, or None when there is none that can be read."""
    values: Any = files.read_json(os.path.join(run_dir, FILE_NAME))
    if not isinstance(values, dict):
        return None
    known = LaunchPlan._fields
    try:
        return LaunchPlan(**{name: value for name, value in values.items() if name in known})
    except TypeError:
        return None


def encode_environment(environ: dict[str, str]) -> bytes:
    """Variables as `env -0` writes them."""
    return b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in environ.items())


def take_environment(run_dir: str) -> dict[str, str]:
    """Read the environment file and remove it, since it may hold secrets.

    Raises FileNotFoundError when it was taken already.
    """
    path = os.path.join(run_dir, ENVIRONMENT)
    with open(path, "rb") as file:
        pairs = file.read().split(b"\0")
    os.unlink(path)
    return dict(os.fsdecode(pair).split("=", 1) for pair in pairs if b"=" in pair)


def forget_environment(run_dir: str) -> None:
    """Remove the environment file of a task that is not to start any more."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(run_dir, ENVIRONMENT))
