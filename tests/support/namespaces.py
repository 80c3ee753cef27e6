"""Linux namespaces by system call: network, mounts, processes, users. Standard library only."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct
from collections.abc import Iterable
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 4096, 8192, 16384, 1 << 18
PR_SET_PDEATHSIG = 1
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def _call(name: str, *args: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        function = getattr(libc, name)
    except AttributeError:
        raise OSError(f"this system has no {name}") from None
    if function(*args) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    _call("mount", *texts, ctypes.c_ulong(flags), data.encode() or None)


def interfaces() -> list[str]:
    """Names of the network interfaces that this process can see."""
    return sorted(name for _, name in socket.if_nameindex())


def enter(*, processes: bool) -> None:
    """Leave the network behind, and with `processes` also the sight of others' processes.

    The calling process keeps its user id; one that is not root needs a kernel that lets it make
    user namespaces. Children of the caller, not the caller, live in the process namespace.
    Raises OSError with the reason.
    """
    uid, gid = os.getuid(), os.getgid()
    flags = CLONE_NEWNET | CLONE_NEWNS | (CLONE_NEWPID if processes else 0)
    _call("unshare", flags | (0 if uid == 0 else CLONE_NEWUSER))
    if uid != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    _mount(None, "/", None, MS_REC | MS_PRIVATE)
    _loopback_up()


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack_from("h", fcntl.ioctl(sock, SIOCGIFFLAGS, request), 16)
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def mount_proc() -> None:
    """Show this process namespace in /proc. Raises OSError, e.g. inside some containers."""
    _mount("proc", "/proc", "proc", 0)


def die_with_parent() -> None:
    """SIGKILL for this process when its parent ends, whatever ended it."""
    _call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL)


def closed_ancestor(path: Path) -> Path | None:
    """The topmost folder on the way to `path` that a stranger may not enter."""
    for folder in [*reversed(path.parents), path]:
        if not folder.stat().st_mode & 0o001:
            return folder
    return None


def expose(paths: Iterable[Path], work: Path) -> None:
    """Make `paths` reachable for a stranger, in this mount namespace only.

    A folder that is closed to strangers (root's home, as a rule) is covered by an empty one in
    which the needed paths alone are mounted; so the rest of it is out of the agents' sight too.
    """
    closed: dict[Path, list[Path]] = {}
    for path in sorted(paths):
        folder = closed_ancestor(path)
        if folder is None or folder == path:
            continue  # open already, or closed on purpose: the caller finds it unreadable
        inside = closed.setdefault(folder, [])
        if not any(path.is_relative_to(other) for other in inside):
            inside.append(path)
    for number, (folder, inside) in enumerate(closed.items()):
        cover = work / f"cover{number}"
        cover.mkdir()
        _mount("tmpfs", str(cover), "tmpfs", 0, "mode=755")
        for path in inside:
            place = cover / path.relative_to(folder)
            place.mkdir(parents=True)
            _mount(str(path), str(place), None, MS_BIND | MS_REC)
        _mount(str(cover), str(folder), None, MS_MOVE)
