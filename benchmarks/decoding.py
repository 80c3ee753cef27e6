"""How fast recorded streams become events, beside bare `json.loads` on the same lines.

    python -m benchmarks.decoding [FOLDER...]

Takes every recording below the folders (tests/fixtures when none is given), one row for each
agent, version and dialect, and ends with status 1 when a ratio is below the target.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.recorder.files import FIXTURES, read_lines
from tests.support.recorder.plug import plugs

TARGET = 0.35
ROUNDS = 15
LINES_A_ROUND = 5_000


@dataclass
class Row:
    """The lines of one dialect of one version."""

    new_decoder: Callable[[], Any]
    lines: list[bytes] = field(default_factory=list)


def rows(folders: list[Path]) -> dict[str, Row]:
    """Recordings by agent, version and channel."""
    found: dict[str, Row] = {}
    for plug in plugs().values():
        for scenario in plug.scenarios:
            for native in sorted((FIXTURES / plug.agent).glob(f"*/{scenario.name}.ndjson")):
                if not any(folder.resolve() in native.resolve().parents for folder in folders):
                    continue
                name = f"{plug.agent} {native.parent.name} {scenario.channel}".strip()
                row = found.setdefault(name, Row(partial(plug.decoder, scenario)))
                row.lines += [line for mark, line in read_lines(native) if mark == "<"]
    return found


def timed(work: Callable[[], None]) -> float:
    """Seconds of processor time: the machine may do other things meanwhile."""
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(row: Row) -> tuple[float, float]:
    """Lines a second: bare, and decoded."""
    repeats = max(1, LINES_A_ROUND // len(row.lines))

    def bare() -> None:
        for _ in range(repeats):
            for line in row.lines:
                json.loads(line)

    def decoded() -> None:
        for _ in range(repeats):
            decoder = row.new_decoder()
            for line in row.lines:
                decoder.decode_line(line)

    # In turns, so that what slows the machine down for a while slows both.
    rounds = [(timed(bare), timed(decoded)) for _ in range(ROUNDS)]
    count = repeats * len(row.lines)
    return count / min(pair[0] for pair in rounds), count / min(pair[1] for pair in rounds)


def main() -> None:
    """Command line entry."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decoding")
    parser.add_argument("folder", nargs="*", type=Path, default=[FIXTURES])
    found = rows(parser.parse_args().folder)
    missed = 0
    print(f"{'recordings':28} {'lines':>6} {'json.loads/s':>13} {'decoded/s':>10} {'ratio':>6}")
    for name, row in sorted(found.items()):
        bare, decoded = measure(row)
        ratio = decoded / bare
        missed += ratio < TARGET
        print(f"{name:28} {len(row.lines):6} {bare:13,.0f} {decoded:10,.0f} {ratio:6.2f}")
    print(f"target: at least {TARGET}; missed: {missed}")
    sys.exit(1 if missed or not found else 0)


if __name__ == "__main__":
    main()
