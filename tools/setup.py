"""Making a checkout ready: system packages, virtual environment, dependencies.

Standard library only, since it runs before anything is installed. Every step looks first
whether its work is done, so a second run costs milliseconds.
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "cuekit-stamp"


class SetupFailed(Exception):
    """Set-up cannot go on; the text says why and what to do."""


def say(text: str) -> None:
    """A line about the set-up, beside the output of the command itself."""
    print(f"dev: {text}", file=sys.stderr, flush=True)


def prepare(programs: Sequence[str] = ()) -> Path:
    """Make the virtual environment and install the system programs named; its Python.

    Raises SetupFailed.
    """
    with _one_at_a_time():
        wanted = [name for name in programs if shutil.which(name) is None]
        if _is_current() and not wanted:
            return PYTHON
        if not _environment_works() and importlib.util.find_spec("ensurepip") is None:
            wanted.append(f"python{sys.version_info.major}.{sys.version_info.minor}-venv")
        if wanted:
            install_system_packages(wanted)
        _make_environment()
    return PYTHON


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Two runs in one checkout wait for each other; the lock leaves no file behind."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def install_system_packages(names: Sequence[str]) -> None:
    """Install packages with apt-get or Homebrew. Raises SetupFailed, naming the command."""
    text = " ".join(names)
    if shutil.which("apt-get"):
        by_hand = f"apt-get install {text}"
        rights = _root_prefix()
        if rights is None:
            raise SetupFailed(f"missing: {text}. Root installs it: sudo {by_hand}")
        say(f"installing {text}")
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        logged([*rights, "apt-get", "update"], by_hand, environment)
        install = ["apt-get", "install", "-y", "--no-install-recommends", *names]
        logged([*rights, *install], by_hand, environment)
    elif shutil.which("brew"):
        say(f"installing {text}")
        logged(["brew", "install", *names], f"brew install {text}")
    else:
        raise SetupFailed(f"missing: {text}. Install it with the system's package manager")


def _root_prefix() -> list[str] | None:
    """How a command is run as root without a question; None when it cannot be."""
    if os.getuid() == 0:
        return []
    if shutil.which("sudo"):
        done = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
        if done.returncode == 0:
            return ["sudo", "-n"]
    return None


def _environment_works() -> bool:
    """Whether the virtual environment is there, runs, and was made in this very folder."""
    if not PYTHON.exists():
        return False
    check = "import pip, sys; sys.exit(sys.version_info < (3, 11))"
    done = subprocess.run([PYTHON, "-c", check], capture_output=True, check=False)
    stamp = _read_stamp()
    return done.returncode == 0 and (not stamp or stamp[0] == str(ROOT))


def _stamp() -> list[str]:
    """What the installed dependencies depend on."""
    return [str(ROOT), hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()]


def _is_current() -> bool:
    return PYTHON.exists() and _read_stamp() == _stamp()


def _make_environment() -> None:
    if _is_current():
        return
    if not _environment_works():
        say("making .venv")
        shutil.rmtree(VENV, ignore_errors=True)
        logged([sys.executable, "-m", "venv", str(VENV)], "python3 -m venv .venv")
    say("installing the dependencies into .venv")
    arguments = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    as_root = [] if os.getuid() else ["--root-user-action=ignore"]
    logged(
        [str(PYTHON), *arguments, *as_root, "--editable", f"{ROOT}[dev]"],
        ".venv/bin/python -m pip install --editable '.[dev]'",
    )
    STAMP.write_text("\n".join(_stamp()))


def remove_folder(folder: Path, seconds: float = 5) -> None:
    """Remove a folder in which processes that are ending may still write a last file."""
    deadline = time.monotonic() + seconds
    while folder.exists() and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.05)


def _read_stamp() -> list[str]:
    try:
        return STAMP.read_text().splitlines()
    except OSError:
        return []


def logged(command: Sequence[str], by_hand: str, environment: dict[str, str] | None = None) -> None:
    """Run a step quietly. Raises SetupFailed with the end of its output when it fails."""
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise SetupFailed(f"cannot run {command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        tail = "\n".join(f"  {line}" for line in done.stdout.splitlines()[-15:])
        raise SetupFailed(f"a step of the set-up failed:\n{tail}\n  to try it by hand: {by_hand}")
