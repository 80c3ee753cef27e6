"""The developer's commands; started by ./dev, with the standard library alone.

./dev demo [--agent-kind KIND] [--keep]   the main job, shown in a real tmux pane
./dev test [PYTEST ARGUMENT...]           the tests
./dev check                               lint, format, types, import contracts
./dev matrix                              every version of every agent; writes docs/matrix.md
./dev record AGENT [--check]              an agent's native stream, and what we make of it
./dev bench [ARGUMENT...]                 the benchmarks
./dev agents [--all]                      the real agents that the tests run
./dev setup                               only what the others do first
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.setup import ROOT, VENV, SetupFailed, prepare, say

REQUIRE = "CUEKIT_REQUIRE_AGENTS"
"""Set to 1: what cannot be tested is a failure, not something left out."""

WORKERS = "CUEKIT_TEST_WORKERS"
"""How many tests run side by side when all of them run."""

MOST_WORKERS = 4
NO_TESTS = 5
"""pytest's status when its arguments leave it no test."""

FAILED = 1
"""pytest's status when tests failed, and nothing worse."""

MOST_AGAIN = 5
"""So many failures get a second try; more are no accident of a busy machine."""


def run(command: Sequence[str], environment: Mapping[str, str] = os.environ) -> int:
    """Run a command in the checkout; its exit status."""
    return subprocess.run(command, cwd=ROOT, env=dict(environment), check=False).returncode


def isolated(python: Path, command: Sequence[str]) -> list[str]:
    """The command where a real agent can do no harm: no route out, never as root."""
    return [str(python), "-m", "tests.support.isolate", "--", *command]


def demo(arguments: Sequence[str]) -> int:
    """The main job in a pane, each command printed before it runs."""
    python = prepare(["tmux"])
    path = f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return run([str(python), "-m", "tools.demo", *arguments], os.environ | {"PATH": path})


def test(arguments: Sequence[str]) -> int:
    """pytest with the oldest and the newest of each agent when Node is there."""
    python = prepare(["tmux", "git"])
    left_out = install_agents(python, []) if names_real_tests(arguments) else ""
    required = os.environ.get(REQUIRE) == "1"
    if left_out and required:
        say(f"cannot test with the real agents: {left_out}")
        return 1
    report = ["-rfEX"] if left_out else []  # the skips are told in one line, below
    base = [str(python), "-m", "pytest", *side_by_side(arguments), *report]
    if any(text.startswith("tests") for text in arguments):
        parts = [[*base, *arguments]]
    else:  # an empty /tmp/.git comes and goes while codex 0.171.0 runs (seen), and is found by
        # the tests of folders that are in no repository
        parts = [
            [*base, "--ignore=tests/real", *arguments],
            [*base, "tests/real", *arguments],
        ]
    statuses = [with_second_try(python, part) for part in parts]
    status = max((one for one in statuses if one != NO_TESTS), default=NO_TESTS)
    if left_out:
        say(f"left out: tests with the real agents, since {left_out}")
    return status


def with_second_try(python: Path, command: Sequence[str]) -> int:
    """Run pytest; what failed beside other tests is tried once more alone, and named.

    The agents are other people's programs with clocks of their own, and the machine is busy with
    all of them (docs/decisions/0015). What is broken fails twice.
    """
    if "-n" not in command:
        return run(isolated(python, command))
    with tempfile.TemporaryDirectory(prefix="cuekit-tests-") as folder:
        cache = Path(folder) / "cache"
        cache.mkdir()
        cache.chmod(0o777)  # the tests run as another user than root
        Path(folder).chmod(0o755)
        own_cache = [*command, "-o", f"cache_dir={cache}"]
        status = run(isolated(python, own_cache))
        failed = failures(cache)
        if status != FAILED or not 0 < len(failed) <= MOST_AGAIN:
            return status
        say("a second try, alone, of what failed: " + ", ".join(failed))
        status = run(isolated(python, [*own_cache, "-n", "0", "--last-failed"]))
        if status == 0:
            say("unsteady, passed at the second try: " + ", ".join(failed))
        return status


def failures(cache: Path) -> list[str]:
    """The tests that failed in the run that had this cache."""
    try:
        text = (cache / "v" / "cache" / "lastfailed").read_text(encoding="utf-8")
    except OSError:
        return []
    return sorted(json.loads(text))


def side_by_side(arguments: Sequence[str]) -> list[str]:
    """pytest-xdist's options for a run of everything: most tests wait, for a pane or an agent."""
    if any(text.startswith(("-n", "tests", "--pdb", "-s")) for text in arguments):
        return []
    workers = os.environ.get(WORKERS) or str(min(os.cpu_count() or 1, MOST_WORKERS))
    return ["-n", workers, "--dist", "worksteal"]


def names_real_tests(arguments: Sequence[str]) -> bool:
    """Whether pytest's arguments take in the tests that need a real agent."""
    paths = [text for text in arguments if text.split("::")[0].split("/")[0] == "tests"]
    return not paths or any(
        Path(path.split("::")[0]).parts[1:2] in ((), ("real",)) for path in paths
    )


def install_agents(python: Path, arguments: Sequence[str]) -> str:
    """Install what the manifest names; why it did not come about, or an empty text."""
    module = [str(python), "-m", "tests.support.install_agents", *arguments]
    check = subprocess.run([*module, "--check"], cwd=ROOT, capture_output=True, check=False)
    if check.returncode == 0:
        return ""
    if shutil.which("npm") is None:
        return "npm is not installed (apt-get install nodejs npm, or brew install node)"
    say("installing the real agents into .agents (some hundred megabytes each)")
    return "" if run(module) == 0 else "npm could not install them all; ./dev agents tries again"


def agents(arguments: Sequence[str]) -> int:
    """Install the real agents of the manifest."""
    return run([str(prepare()), "-m", "tests.support.install_agents", *arguments])


def check(arguments: Sequence[str]) -> int:
    """Every static check; all of them run, and any failure counts."""
    python = prepare()
    worst = 0
    for command in (
        [str(python), "-m", "ruff", "check", "."],
        [str(python), "-m", "ruff", "format", "--check", "."],
        [str(python), "-m", "mypy", *arguments],
        [str(VENV / "bin" / "lint-imports")],
    ):
        say(" ".join([Path(command[0]).name, *command[1:]]))
        worst = max(worst, run(command))
    return worst


def matrix(arguments: Sequence[str]) -> int:
    """The real-agent tests with every version; the table goes to docs/matrix.md."""
    python = prepare(["tmux", "git"])
    if problem := install_agents(python, ["--all"]):
        say(problem)
        return 1
    return run([str(python), "-m", "tools.matrix", *arguments])


def record(arguments: Sequence[str]) -> int:
    """Record an agent anew into tests/fixtures; with --check only tell what has drifted."""
    python = prepare(["tmux", "git"])
    if problem := install_agents(python, ["--all"]):
        say(problem)
        return 1
    return run([str(python), "-m", "tests.support.recorder", *arguments])


def bench(arguments: Sequence[str]) -> int:
    """The benchmarks; status 1 when a target is missed."""
    python = prepare(["tmux"])
    return run([str(python), "-m", "benchmarks.run", *arguments])


def only_setup(arguments: Sequence[str]) -> int:
    """What the other commands do first."""
    prepare(["tmux", "git"])
    say("ready: .venv/bin/cuekit")
    return 0


COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "demo": demo,
    "test": test,
    "check": check,
    "matrix": matrix,
    "record": record,
    "bench": bench,
    "agents": agents,
    "setup": only_setup,
}


def main(arguments: Sequence[str]) -> int:
    """Run one command; its exit status."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(__doc__)
        return 0 if arguments else 2
    command = COMMANDS.get(arguments[0])
    if command is None:
        say(f"no command {arguments[0]!r}; there are {', '.join(COMMANDS)}")
        return 2
    try:
        return command(arguments[1:])
    except SetupFailed as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
