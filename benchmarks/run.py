"""What cuekit's commands cost, beside floors that are measured in the same run.

    python -m benchmarks.run [--runs N]

Prints a table and ends with status 1 when a target is missed. Ratios compare minima, since those
depend least on what else the machine does; the medians are shown beside them.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Run, Series, interleaved, run
from benchmarks.place import Place
from tools.setup import remove_folder

MANY = 10_000
LIMIT_MIB = 60
SUPERVISOR_MIB = 15
WAIT_LATENCY_MS = 100
WAIT_CPU_PERCENT = 1
LONG_WAIT_S = 10


@dataclass(frozen=True)
class Target:
    """A command is to take at most `factor` times its floor, and some milliseconds more."""

    case: str
    floor: str
    factor: float
    plus: str | None = None  # what comes on top


TARGETS = (
    Target("--help", "click", 1.3),
    Target("--version", "click", 1.3),
    Target("task list, none", "click, sqlite3", 1.5),
    Target("task list, 10000", "click, sqlite3", 2.0),
    Target("task status", "click, sqlite3", 1.5, plus="a tmux call"),
    Target("task submit", "click, libtmux, sqlite3", 2.5),
    Target("task steer", "click, libtmux, sqlite3", 2.5, plus="pause of the agent"),
)


class Report:
    """The lines of the table, and whether any target was missed."""

    def __init__(self) -> None:
        self.missed = False
        print(f"{'':28}{'min':>9}{'median':>9}{'ratio':>7}{'target':>8}{'peak':>10}")

    def floor(self, name: str, series: Series) -> None:
        """A line for what others are compared with."""
        print(f"{name:28}{series.minimum_ms:6.1f} ms{series.median_ms:6.1f} ms")

    def case(self, target: Target, series: Series, floor: Series, plus_ms: float) -> None:
        """A line for a command."""
        ratio = (series.minimum_ms - plus_ms) / floor.minimum_ms
        failed = any(one.status != 0 for one in series.runs)
        ok = ratio <= target.factor and series.peak_mib <= LIMIT_MIB and not failed
        self.missed |= not ok
        verdict = "" if ok else "  FAILED TO RUN" if failed else "  MISSED"
        print(
            f"{target.case:28}{series.minimum_ms:6.1f} ms{series.median_ms:6.1f} ms"
            f"{ratio:7.2f}{target.factor:8.2f}{series.peak_mib:6.1f} MiB{verdict}"
        )

    def value(self, name: str, value: float, limit: float, unit: str) -> None:
        """A line for a single figure with its limit."""
        ok = value <= limit
        self.missed |= not ok
        print(f"{name:28}{value:8.2f} {unit} of at most {limit:g}{'' if ok else '  MISSED'}")


def cases_of(empty: Place, many: Place) -> dict[str, Callable[[], Run]]:
    """Every command and floor to be measured, by name."""
    steered = empty.submit("cat")

    def python(code: str) -> Callable[[], Run]:
        return lambda: run([sys.executable, "-c", code], empty.environ, empty.project)

    def cuekit(place: Place, *arguments: str) -> Callable[[], Run]:
        return lambda: run([place.cuekit, *arguments], place.environ, place.project)

    submit = ("task", "submit", "--agent-kind", "shell", "cat")
    return {
        "python": python("pass"),
        "click": python("import click"),
        "click, sqlite3": python("import click, sqlite3"),
        "click, libtmux, sqlite3": python("import click, libtmux, sqlite3"),
        "click, sqlite3, a tmux call": python(
            "import click, sqlite3, subprocess; subprocess.run("
            f"['tmux', '-S', {empty.socket!r}, 'list-panes', '-a'], capture_output=True)"
        ),
        "--help": cuekit(empty, "--help"),
        "--version": cuekit(empty, "--version"),
        "task list, none": cuekit(Place.without_tasks(empty), "task", "list"),
        "task list, 10000": cuekit(many, "task", "list"),
        "task status": cuekit(empty, "task", "status", steered),
        "task submit": cuekit(empty, *submit),
        "task steer": cuekit(empty, "task", "steer", steered, "some words"),
    }


def measure(rounds: int, empty: Place, many: Place) -> bool:
    """Measure all, print the table; whether every target was met."""
    report = Report()
    series = interleaved(cases_of(empty, many), rounds)
    pause_ms = empty.steer_pause_s() * 1000
    with_call, without = series["click, sqlite3, a tmux call"], series["click, sqlite3"]
    call_ms = with_call.minimum_ms - without.minimum_ms
    extra = {None: 0.0, "pause of the agent": pause_ms, "a tmux call": call_ms}
    commands = {target.case for target in TARGETS}
    for name, one in series.items():
        if name not in commands:
            report.floor(name, one)
    for target in TARGETS:
        one, floor = series[target.case], series[target.floor]
        report.case(target, one, floor, extra[target.plus])
    report.value("supervisor, resident", empty.supervisor_mib(), SUPERVISOR_MIB, "MiB")
    late = [empty.wait_latency_s() * 1000 for _ in range(rounds)]
    report.value("task wait, worst delay", max(late), WAIT_LATENCY_MS, "ms")
    report.value("task wait, of one core", wait_cpu_percent(empty), WAIT_CPU_PERCENT, "%")
    return not report.missed


def wait_cpu_percent(place: Place) -> float:
    """Processor time of waiting alone: a long wait less a short one."""
    task = place.submit("cat")

    def wait(seconds: int) -> Run:
        command = [place.cuekit, "task", "wait", task, "--until", "terminal"]
        return run([*command, "--timeout", f"{seconds}s"], place.environ, place.project)

    short, long = wait(1), wait(1 + LONG_WAIT_S)
    return (long.cpu_s - short.cpu_s) / LONG_WAIT_S * 100


def main(arguments: Sequence[str]) -> int:
    """Command line entry; the exit status."""
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="rounds that count (20)")
    rounds = parser.parse_args(arguments).runs
    # /tmp: the path of a tmux socket may have no more than about 100 bytes.
    folder = Path(tempfile.mkdtemp(prefix="cuekit-bench-", dir="/tmp"))
    empty, many = Place(folder / "few"), Place(folder / "many")
    try:
        many.fill(MANY)
        met = measure(rounds, empty, many)
    finally:
        for place in (empty, many):
            place.close()
        remove_folder(folder)
    print("every target was met" if met else "a target was missed", file=sys.stderr)
    return 0 if met else 1


if __name__ == "__main__":
    if not shutil.which("tmux"):
        sys.exit("benchmarks: tmux is not installed")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"benchmarks: {' '.join(error.cmd)}: {error.stderr}")
