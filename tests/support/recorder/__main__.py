"""Command line: record an agent's scenarios, or compare a fresh recording with the kept one.

Outside of an isolated run it starts one, takes the recordings from its output, and writes them:
the user that runs agents there can write nowhere in the checkout.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.support.agent_versions import ROOT
from tests.support.isolate import why_not_isolated
from tests.support.recorder import drift
from tests.support.recorder.files import FIXTURES, decode, events_text, read_lines, recorded
from tests.support.recorder.plug import Place, Plug, Scenario, plugs
from tests.support.recorder.stage import Stage

SCENARIO_SECONDS = 240.0


async def play(plug: Plug, place: Place, scenario: Scenario) -> dict[str, str]:
    """Run one scenario; its files. Raises what its script raises."""
    stage = Stage(plug, place, scenario)
    try:
        async with asyncio.timeout(SCENARIO_SECONDS):
            await scenario.script(stage)
    finally:
        await stage.close()
    return recorded(stage, plug, scenario)


def record(plug: Plug, version: str, only: str) -> int:
    """Run the scenarios of one version; files as JSON lines on standard output; how many failed."""
    failed = 0
    for scenario in plug.scenarios:
        if only not in scenario.name or (scenario.versions and version not in scenario.versions):
            continue
        with tempfile.TemporaryDirectory() as folder, plug.place(version, Path(folder)) as place:
            try:
                files = asyncio.run(play(plug, place, scenario))
            except Exception as error:
                failed += 1
                print(f"{version} {scenario.name}: {error!r}", file=sys.stderr, flush=True)
                continue
        print(f"{version} {scenario.name}: recorded", file=sys.stderr, flush=True)
        _send(version, files)
    if not only:
        with tempfile.TemporaryDirectory() as folder, plug.place(version, Path(folder)) as place:
            _send(version, dict(plug.schemas(version, place)))
    return failed


def _send(version: str, files: dict[str, str]) -> None:
    for name, text in files.items():
        print(json.dumps({"version": version, "name": name, "text": text}), flush=True)


def _isolated(arguments: list[str], target: Path) -> int:
    """Run this program where agents can do no harm, and write what it records below `target`."""
    command = [sys.executable, "-m", "tests.support.recorder", *arguments]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.isolate", "--", *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            entry = json.loads(line)
            folder = target / entry["version"]
            folder.mkdir(parents=True, exist_ok=True)
            (folder / entry["name"]).write_text(entry["text"], encoding="utf-8")
        return run.wait()


def decode_again(plug: Plug, version: str) -> None:
    """Make the golden events anew from the kept streams, after a decoder was changed on purpose."""
    scenarios = {scenario.name: scenario for scenario in plug.scenarios}
    for native in sorted((FIXTURES / plug.agent / version).glob("*.ndjson")):
        scenario = scenarios[native.stem]
        events = decode(read_lines(native), partial(plug.decoder, scenario))
        native.with_suffix(".events.json").write_text(events_text(events), encoding="utf-8")


def main() -> None:
    """Command line entry; exit status 1 when a scenario failed or, with --check, on any drift."""
    known = plugs()
    parser = argparse.ArgumentParser(prog="python -m tests.support.recorder")
    parser.add_argument("agent", choices=sorted(known))
    parser.add_argument("--version", help="only this one")
    parser.add_argument("--only", default="", help="only scenarios with this in their name")
    parser.add_argument("--decode", action="store_true", help="only make the golden events anew")
    parser.add_argument("--check", action="store_true", help="compare, and change nothing")
    options = parser.parse_args()
    plug = known[options.agent]
    versions = [options.version] if options.version else list(plug.versions())
    if options.decode:
        for version in versions:
            decode_again(plug, version)
        return
    if not why_not_isolated() and "CUEKIT_RECORDING" in os.environ:
        sys.exit(min(1, sum(record(plug, version, options.only) for version in versions)))
    os.environ["CUEKIT_RECORDING"] = "1"
    arguments = [word for word in sys.argv[1:] if word != "--check"]
    if not options.check:
        sys.exit(_isolated(arguments, FIXTURES / plug.agent))
    with tempfile.TemporaryDirectory() as folder:
        status = _isolated(arguments, Path(folder))
        lines = [
            f"{version}: {line}"
            for version in versions
            for line in drift.report(FIXTURES / plug.agent / version, Path(folder) / version, plug)
        ]
    print("\n".join(lines) or "no drift: message types, fields and events as recorded")
    sys.exit(1 if lines else status)


if __name__ == "__main__":
    main()
