"""The sentinel: the file by which the supervisor says how the child ended."""

import os
from typing import NamedTuple

from cuekit import files

FILE_NAME = "exit-code"


class Sentinel(NamedTuple):
    """How the child ended; `exit_code` is what a shell would give (128 + signal for a signal)."""

    exit_code: int
    exit_signal: int | None
    at: float  # Unix seconds
    cause: str  # a value of lifecycle.EndCause


def write(run_dir: str, sentinel: Sentinel) -> None:
    """Write the sentinel whole or not at all."""
    lines = [f"cuekit_exit={sentinel.exit_code}"]
    if sentinel.exit_signal is not None:
        lines.append(f"cuekit_signal={sentinel.exit_signal}")
    lines += [f"cuekit_time={sentinel.at:.3f}", f"cuekit_cause={sentinel.cause}", ""]
    files.replace_file(os.path.join(run_dir, FILE_NAME), "\n".join(lines).encode())


def read(run_dir: str) -> Sentinel | None:
    """The sentinel, or None when there is none that can be read."""
    try:
        with open(os.path.join(run_dir, FILE_NAME), encoding="ascii") as file:
            values = dict(line.strip().split("=", 1) for line in file if "=" in line)
        signal = values.get("cuekit_signal")
        return Sentinel(
            int(values["cuekit_exit"]),
            int(signal) if signal else None,
            float(values["cuekit_time"]),
            values["cuekit_cause"],
        )
    except (OSError, ValueError, KeyError):
        return None
