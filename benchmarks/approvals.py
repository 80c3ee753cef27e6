"""From the moment that another process has written a decision to the bytes on the agent's wire.

    python -m benchmarks.approvals [--runs N]

A coordinator waits, as in the sidecar; another process decides as `approval allow` does and notes
when its decision was stored; the coordinator's process writes the answer into a pipe. Prints the
times and ends with status 1 when the median is over the target.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from cuekit.approvals.coordinator import Coordinator
from cuekit.launch import plan as plans
from cuekit.launch import processes
from cuekit.model.approval import ApprovalRequest, Risk
from cuekit.model.lifecycle import Status
from cuekit.paths import Home
from cuekit.store import db, tasks

TARGET_MS = 20.0
IDLE_SECONDS = 10.0
IDLE_PERCENT = 0.5
TASK = "t_bench000"

DECIDER = """
import os, sys, time
from cuekit.launch import notify
from cuekit.model.approval import Decision, DecisionKind
from cuekit.service import approvals
wake = notify.wake
def noted(run_dir):
    global stored
    stored = time.clock_gettime(time.CLOCK_MONOTONIC)
    wake(run_dir)
notify.wake = noted
for line in sys.stdin:
    approvals.decide(line.strip(), Decision(DecisionKind.ALLOW), os.environ)
    print(stored, flush=True)
"""


def main() -> int:
    """Measure and print; 1 when a target was missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        home = Home(str(Path(folder, "home")))
        lock = _make_task(home, folder)
        times, idle = asyncio.run(_measured(home, runs))
        os.close(lock)
    median = statistics.median(times)
    worst = sorted(times)[int(len(times) * 0.99) - 1]
    print(f"decision stored to answer on the wire, {runs} runs (target {TARGET_MS:g} ms)")
    print(f"  min {min(times):.2f} ms   median {median:.2f} ms   99 % {worst:.2f} ms")
    print(
        f"an open approval, {IDLE_SECONDS:g} s (target {IDLE_PERCENT:g} %): {idle:.2f} % of a core"
    )
    return 0 if median <= TARGET_MS and idle <= IDLE_PERCENT else 1


async def _measured(home: Home, runs: int) -> tuple[list[float], float]:
    """Milliseconds of each run, and the share of a core while one waits, in percent."""
    environ = {**os.environ, "CUEKIT_HOME": home.root, "PYTHONPATH": os.pathsep.join(sys.path)}
    environ.pop("CUEKIT_TASK_ID", None)
    waits = asyncio.Event()
    reader, writer = os.pipe()
    times: list[float] = []
    with closing(db.open_store(home)) as store:
        async with Coordinator(
            store,
            TASK,
            home.run(TASK),
            emit=lambda event: None,
            rule_for=lambda request, risk: None,
            risk_of=lambda request: Risk.WRITE,
            asker=processes.identity(os.getpid()),
            on_change=waits.set,
        ) as coordinator:
            decider = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", DECIDER),
                env=environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            assert decider.stdin is not None
            assert decider.stdout is not None
            for number in range(runs + 1):
                request = ApprovalRequest("codex", "shell", "x", {"command": f"touch {number}"})
                answer = asyncio.create_task(coordinator.await_decision(request))
                while not coordinator.pending:
                    waits.clear()
                    await waits.wait()
                decider.stdin.write(coordinator.pending[0].encode() + b"\n")
                decision = await answer
                os.write(writer, f"{decision.kind}\n".encode())
                written = time.clock_gettime(time.CLOCK_MONOTONIC)
                os.read(reader, 100)
                times.append((written - float(await decider.stdout.readline())) * 1000)
            decider.stdin.close()
            await decider.wait()
            answer = asyncio.create_task(coordinator.await_decision(request))
            before = time.process_time()
            await asyncio.sleep(IDLE_SECONDS)
            idle = (time.process_time() - before) / IDLE_SECONDS * 100
            answer.cancel()
    return times[1:], idle


def _make_task(home: Home, folder: str) -> int:
    """A running task; the descriptor that holds its supervisor's lock."""
    import fcntl

    run = Path(home.run(TASK))
    (run / plans.WAITERS).mkdir(parents=True)
    with closing(db.open_store(home)) as store:
        tasks.insert(
            store,
            {
                "task_id": TASK,
                "agent_kind": "codex",
                "mode": "supervised",
                "cwd": folder,
                "task_dir": folder,
                "session_id": "s_00000000",
                "spec": {},
            },
        )
        tasks.move(store, TASK, Status.RUNNING)
    lock = os.open(run / plans.LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


if __name__ == "__main__":
    raise SystemExit(main())
