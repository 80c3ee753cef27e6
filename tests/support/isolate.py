"""Run a command where real agents can do no harm: no route out, no root, a HOME of its own.

    python -m tests.support.isolate [--] COMMAND...

As root: a network and a mount namespace, then an unprivileged user id that need not exist in
/etc/passwd. Otherwise: a user and a network namespace that keep the user's own id. In both the
only interface is loopback, so that the scripted model (started inside, by the tests) is all
that an agent can reach. Where the kernel allows no namespace, that is said and the command runs
without one; root is given up in any case.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import os
import shutil
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 4096, 8192, 16384, 1 << 18
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1

UNPRIVILEGED_ID = 21042
"""User and group id for runs that begin as root; needs no entry in /etc/passwd."""

UNISOLATED = "CUEKIT_TEST_UNISOLATED"
"""Set (to the reason) when no namespace could be made."""

ROOT = Path(__file__).resolve().parents[2]


def _libc_call(name: str, *args: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*args) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    def text(value: str | None) -> bytes | None:
        return None if value is None else os.fsencode(value)

    _libc_call("mount", text(source), text(target), text(kind), flags, data.encode() or None)


def interfaces() -> list[str]:
    """Names of the network interfaces of this process's namespace."""
    return sorted(name for _, name in socket.if_nameindex())


def why_not_isolated() -> str:
    """Empty when real agents may run here, else what to do."""
    if os.getuid() == 0:
        reason = "the tests run as root"
    elif interfaces() != ["lo"] and not os.environ.get(UNISOLATED):
        reason = "there is a way out to the network"
    else:
        return ""
    return f"{reason}; use ./dev test, or python -m tests.support.isolate python -m pytest ..."


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack_from("h", fcntl.ioctl(sock, SIOCGIFFLAGS, request), 16)
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def _closed_ancestor(path: Path) -> Path | None:
    """The topmost folder above `path` that a stranger may not enter."""
    for folder in [*reversed(path.parents), path]:
        if not folder.stat().st_mode & 0o001:
            return folder
    return None


def needed_paths() -> list[Path]:
    """What a test run must be able to read: Python, the checkout, node and tmux."""
    found = {ROOT, Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve()}
    for program in ("node", "tmux", "git"):
        if path := shutil.which(program):
            found.add(Path(path).resolve().parent)
            if program == "node":
                found.add(Path(path).resolve().parent.parent)
    return sorted(found)


def _expose(paths: Iterable[Path], work: Path) -> None:
    """Make `paths` reachable for a stranger, in this mount namespace only.

    A folder that is closed to strangers (root's home, as a rule) is covered by an empty one in
    which the needed paths alone are mounted; so the rest of it is out of the agents' sight too.
    """
    closed: dict[Path, list[Path]] = {}
    for path in paths:
        if folder := _closed_ancestor(path):
            closed.setdefault(folder, []).append(path)
    for number, (folder, inside) in enumerate(closed.items()):
        cover = work / f"cover{number}"
        cover.mkdir()
        _mount("tmpfs", str(cover), "tmpfs", 0, "mode=755")
        for path in inside:
            place = cover / path.relative_to(folder)
            if place != cover and not any(
                place.is_relative_to(cover / p.relative_to(folder))
                for p in inside
                if p != path and p in path.parents
            ):
                place.mkdir(parents=True, exist_ok=True)
                _mount(str(path), str(place), None, MS_BIND | MS_REC)
        _mount(str(cover), str(folder), None, MS_MOVE)


def _enter_as_root(work: Path) -> str:
    """Namespaces and user id for a run that begins as root; the reason if no namespace."""
    reason = ""
    try:
        _libc_call("unshare", CLONE_NEWNET | CLONE_NEWNS)
        _mount(None, "/", None, MS_REC | MS_PRIVATE)
        _expose(needed_paths(), work)
        _loopback_up()
    except OSError as error:
        reason = str(error)
    here = Path.cwd()
    os.setgroups([])
    os.setresgid(UNPRIVILEGED_ID, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
    os.setresuid(UNPRIVILEGED_ID, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
    os.chdir(here)  # through the covers, if any
    return reason


def _enter_as_user() -> str:
    """A user and a network namespace that keep the id; the reason if the kernel refuses."""
    uid, gid = os.getuid(), os.getgid()
    try:
        _libc_call("unshare", CLONE_NEWUSER | CLONE_NEWNET)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
        _loopback_up()
    except (OSError, AttributeError) as error:
        return str(error)
    return ""


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
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_ADDOPTS": f"{base.get('PYTEST_ADDOPTS', '')} -o cache_dir={work / 'pytest'}",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(work / "hypothesis"),
    }


def _child(work: Path, command: list[str]) -> None:
    """In the forked child: isolate, then become the command."""
    paths = needed_paths()
    reason = _enter_as_root(work) if os.getuid() == 0 else _enter_as_user()
    env = environment(work, os.environ)
    if reason:
        env[UNISOLATED] = reason
        print(f"isolate: no network namespace here ({reason}); running without", file=sys.stderr)
    if closed := unreadable(paths):
        names = ", ".join(map(str, closed))
        sys.exit(
            f"isolate: user id {os.getuid()} cannot read {names}; "
            "put the checkout and its Python where every user may read, or run as a normal user"
        )
    try:
        os.execvpe(command[0], command, env)
    except OSError as error:
        sys.exit(f"isolate: {command[0]}: {error.strerror}")


def run(command: list[str]) -> int:
    """Run `command` isolated; its exit status, or 128 + signal. Removes its HOME afterwards."""
    work = Path(tempfile.mkdtemp(prefix="ck-run-", dir="/tmp"))
    for name in ("home", "tmp"):
        (work / name).mkdir()
    if os.getuid() == 0:
        for path in (work, *work.iterdir()):
            os.chown(path, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
    child = os.fork()
    if child == 0:
        try:
            _child(work, command)
        except SystemExit as stop:
            print(stop.code, file=sys.stderr)
        os._exit(70)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: os.kill(child, received))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the child as well
    try:
        _, status = os.waitpid(child, 0)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


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
