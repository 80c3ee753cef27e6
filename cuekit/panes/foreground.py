"""Whether the agent itself reads what is typed into its pane."""

import os


def foreground_group(pid: int) -> int | None:
    """The process group that reads the terminal of a process; None when that cannot be told."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
        return int(stat[stat.rindex(b")") + 2 :].split()[5])
    except (OSError, ValueError, IndexError):
        return _from_ps(pid)


def _from_ps(pid: int) -> int | None:
    import subprocess

    if os.path.exists("/proc/self/stat"):
        return None
    try:
        done = subprocess.run(
            ["ps", "-p", str(pid), "-o", "tpgid="],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
        return int(done.stdout.strip())
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
