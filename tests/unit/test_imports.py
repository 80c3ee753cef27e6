"""What real commands load, what may import what, and what no file may say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {
    "asyncio",
    "importlib.metadata",
    "libtmux",
    "mcp",
    "prompt_toolkit",
    "pydantic",
    "pyte",
    "rich",
    "shellingham",
    "textual",
    "yaml",
}
"""Each costs 15 to 900 ms; a command that does not need one must not pay for it."""

REPORT = """
import json, sys
from cuekit.cli.main import run
status = run(sys.argv[1:])
sys.stdout.flush()
print(json.dumps([status, sorted(sys.modules)]), file=sys.stderr)
"""


def loaded(home: Path, *arguments: str) -> tuple[int, set[str]]:
    """The exit status of a command and the modules that it loaded."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CUEKIT_TMUX_SOCKET": str(home / "tmux"),
    }
    done = subprocess.run(
        [sys.executable, "-c", REPORT, *arguments],
        cwd=home,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    status, modules = json.loads(done.stderr.splitlines()[-1])
    return status, set(modules)


@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("task", "--help"), ("task", "submit", "--help")]
)
def test_help_and_version_load_nothing_heavy(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    status, modules = loaded(tmp_path, *arguments)
    assert (status, modules & (HEAVY | {"sqlite3", "subprocess"})) == (0, set())


def test_the_first_help_loads_no_command(tmp_path: Path) -> None:
    _, modules = loaded(tmp_path, "--help")
    own = {name for name in modules if name.startswith("cuekit.")}
    assert own <= {
        "cuekit.cli",
        "cuekit.cli.main",
        "cuekit.cli.groups",
        "cuekit.cli.options",
        "cuekit.cli.render",
        "cuekit.errors",
        "cuekit.model",
        "cuekit.model.times",
    }


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("task", "list"), 0),
        (("task", "list", "--format", "json"), 0),
        (("task", "status", "t_nonesuch"), 3),
        (("task", "wait", "t_nonesuch"), 3),
        (("task", "cancel", "t_nonesuch"), 3),
        (("task", "steer", "t_nonesuch", "text"), 3),
    ],
)
def test_everyday_commands_load_nothing_heavy(
    tmp_path: Path, arguments: tuple[str, ...], expected: int
) -> None:
    status, modules = loaded(tmp_path, *arguments)
    assert (status, modules & HEAVY) == (expected, set())


def test_the_layers_import_only_downwards() -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout


FORBIDDEN = re.compile(
    "|".join(
        re.escape(first + rest)
        for first, rest in (  # in two parts, so that this file does not hold them
            ("/wo", "rk/"),
            ("/ro", "ot/"),
            ("pypi", ".org"),
            ("python", "hosted.org"),
            ("npm", "js.org"),
            ("npm", "js.com"),
            ("deb.", "debian.org"),
        )
    )
)
OF_OTHERS = {".git", ".venv", ".agents", ".cuekit", ".hypothesis", "__pycache__", "build", "dist"}


def project_files() -> Iterator[Path]:
    """Every file that belongs to the project, not what tools leave in the checkout."""
    for folder, below, names in os.walk(ROOT):
        below[:] = [n for n in below if n not in OF_OTHERS and not n.endswith(("_cache", "-info"))]
        yield from (Path(folder, name) for name in names)


def test_no_file_names_a_place_of_one_machine_or_a_registry() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in project_files()
        if (match := FORBIDDEN.search(path.read_text(encoding="utf-8", errors="replace")))
    ]
    assert found == []


def test_no_module_is_longer_than_can_be_read_at_once() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {lines}"
        for path in project_files()
        if path.suffix == ".py" and path.is_relative_to(ROOT / "cuekit")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 400
    ]
    assert long == []
