"""Measuring commands: wall time, processor time and memory of one run, and runs interleaved."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Run:
    """One run of a command: seconds, seconds of processor time, peak bytes."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    status: int


@dataclass
class Series:
    """The runs of one case."""

    runs: list[Run] = field(default_factory=list)

    @property
    def minimum_ms(self) -> float:
        """The quickest run, which noise of the machine touches least."""
        return min(run.wall_s for run in self.runs) * 1000

    @property
    def median_ms(self) -> float:
        """The run in the middle."""
        return statistics.median(run.wall_s for run in self.runs) * 1000

    @property
    def peak_mib(self) -> float:
        """The most memory that any run took."""
        return max(run.peak_bytes for run in self.runs) / 1024**2


def run(command: Sequence[str], environ: Mapping[str, str], cwd: Path) -> Run:
    """Run a command to its end and measure it."""
    start = time.perf_counter()
    child = subprocess.Popen(
        command,
        cwd=cwd,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime
    return Run(wall, cpu, usage.ru_maxrss * MAXRSS_UNIT, child.returncode)


def interleaved(cases: Mapping[str, Callable[[], Run]], rounds: int) -> dict[str, Series]:
    """Each case once a round, so that what slows the machine down slows all of them down.

    A first round fills caches and does not count.
    """
    series = {name: Series() for name in cases}
    for case in cases.values():
        case()
    for _ in range(rounds):
        for name, case in cases.items():
            series[name].runs.append(case())
    return series
