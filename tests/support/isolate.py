"""Run a command where real agents can do no harm: no route out, no root, a HOME of its own.

    python -m tests.support.isolate [--] COMMAND...

The command sees loopback as its only interface, so that the scripted model (started inside, by
the tests) is all that an agent can reach. Its processes are in a namespace of their own where
the kernel allows it, and all end with it. As root, it becomes an unprivileged user id that need
not exist in /etc/passwd; any other user keeps the own id and uses a user namespace. Where no
namespace can be made, that is said and the command runs without; root is given up in any case.
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import FrameType
from typing import NoReturn, ParamSpec

from tests.support import namespaces

UNPRIVILEGED_ID = 21042
"""User and group id for runs that begin as root; needs no entry in /etc/passwd."""

UNISOLATED = "CUEKIT_TEST_UNISOLATED"
"""Set (to the reason) when no namespace could be made."""

CODEX_MARKS = tuple(Path("/tmp") / name for name in (".git", ".codex", ".agents"))
"""Empty folders that codex's sandbox leaves where it protects such names (0.133 to 0.171)."""

ROOT = Path(__file__).resolve().parents[2]

P = ParamSpec("P")


def why_not_isolated(env: Mapping[str, str] = os.environ) -> str:
    """Empty when real agents may run here, else what to do."""
    if os.getuid() == 0:
        reason = "the tests run as root"
    elif namespaces.interfaces() != ["lo"] and not env.get(UNISOLATED):
        reason = "there is a way out to the network"
    else:
        return ""
    return f"{reason}; use ./dev test, or python -m tests.support.isolate python -m pytest ..."


def needed_paths() -> list[Path]:
    """Folders that a test run must be able to read: Python, the checkout, node, tmux, git."""
    found = {ROOT, Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve()}
    for program in ("node", "tmux", "git"):
        if path := shutil.which(program):
            folder = Path(path).resolve().parent
            found.add(folder.parent if folder.name == "bin" else folder)
    return sorted(found)


def unreadable(paths: Iterable[Path]) -> list[Path]:
    """Those that this process cannot enter and list."""
    return [path for path in paths if not os.access(path, os.R_OK | os.X_OK)]


def environment(work: Path, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of the command: everything that is written goes below `work`."""
    env = {k: v for k, v in base.items() if k not in ("TMUX", "TMUX_PANE", "TMUX_TMPDIR")}
    return env | {
        "HOME": str(work / "home"),
        "TMPDIR": str(work / "tmp"),
        "XDG_CACHE_HOME": str(work / "home/.cache"),
        "USER": "cuekit-test",
        "LOGNAME": "cuekit-test",
        "PYTEST_ADDOPTS": f"{base.get('PYTEST_ADDOPTS', '')} -o cache_dir={work / 'pytest'}",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(work / "hypothesis"),
    }


def _become(command: list[str], paths: list[Path], env: dict[str, str]) -> NoReturn:
    """Give up root and turn into the command; SystemExit with one line when that fails."""
    if os.getuid() == 0:
        here = Path.cwd()
        os.setgroups([])
        os.setresgid(UNPRIVILEGED_ID, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
        os.setresuid(UNPRIVILEGED_ID, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
        try:
            os.chdir(here)  # by its path again: it may be covered by another mount now
        except OSError as error:
            sys.exit(f"isolate: user id {UNPRIVILEGED_ID} cannot enter {here}: {error.strerror}")
    if closed := unreadable(paths):
        sys.exit(
            f"isolate: user id {os.getuid()} cannot read {', '.join(map(str, closed))}; "
            "put the checkout and its Python where every user may read, or run as a normal user"
        )
    # Folders that are closed to this user would turn "not found" into "permission denied".
    folders = env.get("PATH", os.defpath).split(os.pathsep)
    env["PATH"] = os.pathsep.join(folder for folder in folders if os.access(folder, os.X_OK))
    try:
        os.execvpe(command[0], command, env)
    except OSError as error:
        sys.exit(f"isolate: {command[0]}: {error.strerror}")


def _wait_for(child: int) -> int:
    """Pass signals on to `child`, reap whatever ends meanwhile; its shell-style exit status."""

    def pass_on(received: int, _: FrameType | None) -> None:
        os.kill(child, received)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the child as well
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return 128 - code if code < 0 else code


def _forked(action: Callable[P, int], *args: P.args, **kwargs: P.kwargs) -> int:
    """Fork; the child runs `action`, which ends in exec or in an exit status."""
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        status = action(*args, **kwargs)
    except SystemExit as stop:
        print(stop.code, file=sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(status)


def _as_init(report: int, command: list[str], paths: list[Path], env: dict[str, str]) -> int:
    """The first process of the process namespace; when it ends, the kernel ends the others."""
    try:
        namespaces.die_with_parent()
        namespaces.mount_proc()
    except OSError as error:
        os.write(report, str(error).encode())
        return 70
    child = _forked(_become, command, paths, env)
    os.close(report)
    return _wait_for(child)


def _isolated(report: int, work: Path, command: list[str], processes: bool) -> int:
    """In a fork: enter the namespaces, or write the reason why not to `report`."""
    paths, env = needed_paths(), environment(work, os.environ)
    try:
        namespaces.enter(processes=processes)
        namespaces.die_with_parent()
        if os.getuid() == 0:
            namespaces.expose(paths, work)
    except OSError as error:
        os.write(report, str(error).encode())
        return 70
    if not processes:
        _become(command, paths, env)
    child = _forked(_as_init, report, command, paths, env)
    os.close(report)
    return _wait_for(child)


def run(command: list[str]) -> int:
    """Run `command` isolated; its exit status, or 128 + signal. Removes its HOME afterwards."""
    litter = [path for path in CODEX_MARKS if not path.exists()]
    work = Path(tempfile.mkdtemp(prefix="ck-run-", dir="/tmp"))
    for name in ("home", "tmp"):
        (work / name).mkdir()
    if os.getuid() == 0:
        # The unprivileged user cannot leave compiled modules in root's checkout, and each start
        # of cuekit would take three times as long without them.
        compileall.compile_dir(ROOT / "cuekit", quiet=2)
        for path in (work, *work.iterdir()):
            os.chown(path, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
    try:
        for processes in (True, False):
            read_end, report = os.pipe()
            child = _forked(_isolated, report, work, command, processes)
            os.close(report)
            with os.fdopen(read_end) as pipe:
                reason = pipe.read()  # ends when the command has begun, or with a reason
            if not reason:
                return _wait_for(child)
            os.waitpid(child, 0)
        print(f"isolate: no network namespace here ({reason}): running without", file=sys.stderr)
        env = environment(work, os.environ) | {UNISOLATED: reason}
        return _wait_for(_forked(_become, command, needed_paths(), env))
    finally:
        shutil.rmtree(work, ignore_errors=True)
        for path in litter:
            with contextlib.suppress(OSError):
                path.rmdir()


def main() -> None:
    """Command line entry."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.isolate")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    command = parser.parse_args().command
    if command[:1] == ["--"]:
        command = command[1:]
    if not command:
        parser.error("no command given")
    sys.exit(run(command))


if __name__ == "__main__":
    main()
