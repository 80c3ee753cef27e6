"""Install the agents of the manifest with npm into `.agents/` of the checkout.

    python -m tests.support.install_agents [--all | --oldest-newest] [--check] [LABEL...]

What is there already, and answers with its version, is left alone. `--check` installs nothing and
tells what is missing. The exit status is 1 when anything asked for is not there in the end.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.agent_versions import CHOICE, AgentVersion, chosen, on_request

NPM_TIMEOUT = 600
"""Seconds for one version; they are 200 to 400 MB each."""


class InstallError(Exception):
    """One line for people: which version could not be installed, and why."""


def answers(agent: AgentVersion) -> bool:
    """True when the binary is there and says the version it should have."""
    binary = agent.binary
    if binary is None:
        return False
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": home}
        try:
            done = subprocess.run(
                [str(binary), "--version"],
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return done.returncode == 0 and agent.version in done.stdout.split()


def _npm(agent: AgentVersion, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise InstallError(f"{agent.label}: npm is not installed (it comes with Node)")
    command = [npm, "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        done = subprocess.run(
            [*command, "--prefix", str(folder), f"{agent.package}@{agent.version}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=NPM_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InstallError(f"{agent.label}: npm took more than {NPM_TIMEOUT} s") from None
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise InstallError(f"{agent.label}: npm failed: {' / '.join(said[:3]) or 'no message'}")


def install(agent: AgentVersion) -> Path:
    """Install one version unless it is there; its binary. Raises InstallError.

    npm works in a folder beside the final one, which appears whole or not at all.
    """
    if answers(agent):
        assert agent.binary is not None
        return agent.binary
    agent.folder.parent.mkdir(exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{agent.label}-", dir=agent.folder.parent))
    part.chmod(0o755)  # an unprivileged user runs it
    try:
        _npm(agent, part)
        if agent.folder.is_symlink():
            agent.folder.unlink()
        elif agent.folder.exists():
            shutil.rmtree(agent.folder)
        part.rename(agent.folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    if not answers(agent):
        raise InstallError(f"{agent.label}: installed, but it does not answer with its version")
    assert agent.binary is not None
    return agent.binary


def main() -> int:
    """Command line entry; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.install_agents")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_const", const="all", dest="choice")
    which.add_argument(
        "--oldest-newest", action="store_const", const="oldest-newest", dest="choice"
    )
    parser.add_argument("--check", action="store_true", help="only tell what is missing")
    parser.add_argument("labels", nargs="*", help="such as codex-0.133.0")
    args = parser.parse_args()
    choice = ",".join(args.labels) or args.choice or os.environ.get(CHOICE, "oldest-newest")
    try:
        agents = chosen({CHOICE: choice}) + ([] if args.labels else on_request())
    except ValueError as error:
        parser.error(str(error))
    failures = 0
    for agent in agents:
        try:
            if args.check and agent.binary is None:
                raise InstallError(f"{agent.label}: not installed")
            print(f"{agent.label}: {agent.binary if args.check else install(agent)}")
        except InstallError as error:
            failures += 1
            print(error, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
