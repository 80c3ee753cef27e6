"""What a sidecar costs: until it speaks to its agent, while it waits for an answer, in memory.

    python -m benchmarks.supervised [--runs N]

The agent is a shell script that answers nothing, so that only cuekit's own part is measured. The
bare start is `python -c "import asyncio, sqlite3, json"` in the same run. Linux only.
"""

import argparse
import os
import pty
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

from cuekit.launch import sidecar_plan
from cuekit.model.lifecycle import Status
from cuekit.paths import Home
from cuekit.store import db, tasks

TASK = "t_bench000"
MOST_TIMES = 3.0
MOST_MIB = 60.0
MOST_PERCENT = 0.5
IDLE_SECONDS = 10.0


def main() -> int:
    """Measure and print; 1 when a target was missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=9)
    runs = parser.parse_args().runs
    bare, ready = [], []
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        for _ in range(runs):
            bare.append(_bare())
            with place.sidecar() as sidecar:
                ready.append(sidecar.ready)
        with place.sidecar() as sidecar:
            mib, percent = sidecar.memory(), sidecar.idle()
    times = statistics.median(ready) / statistics.median(bare)
    print(f"bare python    min {min(bare):.0f} ms  median {statistics.median(bare):.0f} ms")
    print(f"sidecar ready  min {min(ready):.0f} ms  median {statistics.median(ready):.0f} ms")
    print(f"  {times:.2f} times (target {MOST_TIMES:g})")
    print(f"memory {mib:.1f} MiB (target {MOST_MIB:g}); idle {percent:.2f} % (target 0.5 %)")
    return 0 if times <= MOST_TIMES and mib <= MOST_MIB and percent <= MOST_PERCENT else 1


def _bare() -> float:
    start = time.monotonic()
    subprocess.run([sys.executable, "-c", "import asyncio, sqlite3, json"], check=True)
    return (time.monotonic() - start) * 1000


class Place:
    """A home with one queued task whose agent only says that it was started."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(str(folder / "home"))
        self.mark = folder / "started"
        run = Path(self.home.run(TASK))
        (run / "waiters").mkdir(parents=True)
        (folder / "prompt.md").write_text("hello")
        agent = f'echo > "{self.mark}"; exec sleep 600'
        plan = sidecar_plan.SidecarPlan(
            agent_kind="codex", protocol="codex", argv=["/bin/sh", "-c", agent]
        )
        (run / sidecar_plan.FILE_NAME).write_text(plan.text())
        with closing(db.open_store(self.home)) as store:
            values = {"task_id": TASK, "agent_kind": "codex", "mode": "supervised"}
            place = {"cwd": str(folder), "task_dir": str(folder), "session_id": "s", "spec": {}}
            tasks.insert(store, {**values, **place})
            tasks.move(store, TASK, Status.RUNNING)

    def sidecar(self) -> "Sidecar":
        """Start one."""
        self.mark.unlink(missing_ok=True)
        return Sidecar(self)


class Sidecar:
    """A sidecar on a terminal of its own, from its start to the start of its agent."""

    def __init__(self, place: Place) -> None:
        self._master, terminal = pty.openpty()
        environ = {**os.environ, "CUEKIT_HOME": place.home.root, "TERM": "xterm-256color"}
        start = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "cuekit.sidecar", TASK],
            env=environ,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
        )
        os.close(terminal)
        threading.Thread(target=self._read, daemon=True).start()
        while not place.mark.exists():
            if self._process.poll() is not None or time.monotonic() - start > 30:
                raise SystemExit("the sidecar did not start its agent")
            time.sleep(0.001)
        self.ready = (time.monotonic() - start) * 1000

    def __enter__(self) -> "Sidecar":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(20)
        os.close(self._master)

    def memory(self) -> float:
        """MiB of resident memory."""
        time.sleep(1)
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0.0

    def idle(self) -> float:
        """Percent of a core while nothing happens."""
        before = self._ticks()
        time.sleep(IDLE_SECONDS)
        return (self._ticks() - before) / os.sysconf("SC_CLK_TCK") / IDLE_SECONDS * 100

    def _ticks(self) -> int:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def _read(self) -> None:
        try:
            while os.read(self._master, 65536):
                pass
        except OSError:
            return


if __name__ == "__main__":
    raise SystemExit(main())
