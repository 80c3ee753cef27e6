"""The doctor's looks at cuekit's own files: the store and its folder."""

import os
import sqlite3
import stat
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from shlex import quote

from cuekit.paths import Home, home_from
from cuekit.service.doctor_check import Check, Situation, failure, ok, some, warning

NETWORK_FILE_SYSTEMS = """
    nfs nfs4 cifs smb smb2 smb3 smbfs afpfs webdav davfs 9p afs ceph glusterfs lustre beegfs
    virtiofs vboxsf fuse.sshfs fuse.s3fs fuse.rclone fuse.glusterfs fuse.ceph-fuse fuse.davfs2
    fuse.gcsfuse
"""
"""Between machines SQLite's write-ahead log corrupts, and locks may hold nobody off."""

LEAST_FREE_BYTES = 200 * 1024 * 1024

MOST_ENTRIES = 20_000
"""Files and folders whose permissions are looked at in one go."""


def store(situation: Situation) -> Iterator[Check]:
    """Readable, whole, of a known schema, and writable; never made by the doctor itself."""
    from cuekit.store.db import open_store

    home = home_from(situation.environ)
    if not os.path.exists(home.database):
        yield ok("store", f"none yet; the first task makes {home.database}")
        return
    with closing(open_store(home)) as db:
        try:
            problems = [str(row[0]) for row in db.execute("PRAGMA quick_check(3)")]
            version = db.execute("PRAGMA user_version").fetchone()[0]
            count = db.execute("SELECT count(*) FROM task").fetchone()[0]
        except sqlite3.Error as error:
            problems = [str(error)]
        if problems != ["ok"]:
            said = f"{home.database} is damaged: {'; '.join(problems)}"
            yield failure("store", said, f"move it away (mv {home.database} /elsewhere)")
            return
        yield ok("store", f"{home.database}, schema {version}, {count} tasks")
        try:
            db.execute("BEGIN IMMEDIATE")
            db.execute("ROLLBACK")
        except sqlite3.OperationalError as error:
            said = f"{home.database} cannot be written: {error}"
            yield failure("store_writable", said, f"see who owns {home.root}, and its free space")
        else:
            yield ok("store_writable", "a write transaction was opened")


def files(situation: Situation) -> Iterator[Check]:
    """The folder's file system, its free space, and that it is private to the user."""
    home = home_from(situation.environ)
    place = _existing(home.root)
    kind = file_system_of(place)
    if kind in NETWORK_FILE_SYSTEMS.split():
        said = (
            f"{home.root} is on a file system of the network ({kind}); the store is not safe there"
        )
        yield failure("file_system", said, "export CUEKIT_HOME=/a/folder/on/a/local/disk")
    else:
        yield ok("file_system", f"{home.root} is on {kind or 'a file system of unknown kind'}")
    yield _free_space(place)
    yield _private(home)


def _free_space(place: str) -> Check:
    numbers = os.statvfs(place)
    free = numbers.f_bavail * numbers.f_frsize
    text = f"{free // (1024 * 1024)} MiB are free at {place}"
    if free < LEAST_FREE_BYTES:
        return warning("disk", f"{text}; a transcript may not fit", "cuekit task cleanup")
    return ok("disk", text)


def _private(home: Home) -> Check:
    if not os.path.isdir(home.root):
        return ok("privacy", f"{home.root} is not made yet")
    owner = os.stat(home.root).st_uid
    if owner != os.getuid():
        said = f"{home.root} belongs to user id {owner}, not to you ({os.getuid()})"
        return failure("privacy", said, f"chown -R $(id -u) {home.root}, as root")
    if not os.access(home.root, os.R_OK | os.W_OK | os.X_OK):
        return failure("privacy", f"{home.root} cannot be written", f"chmod 700 {home.root}")
    open_to_others, of_others = _looked_through(home)
    if of_others:
        said = f"not yours, so cuekit may not be able to use them: {some(of_others)}"
        return failure("privacy", said, f"sudo chown -R $(id -u) {quote(home.root)}")

    def close() -> str:
        for path in open_to_others:
            with suppress(FileNotFoundError):
                _close_to_others(path)
        return f"only you can read {some(open_to_others)} now"

    if open_to_others:
        said = f"others can read {some(open_to_others)}"
        return Check("privacy", "warning", said, "cuekit doctor --fix", close)
    return ok("privacy", f"{home.root} is closed to others")


def _looked_through(home: Home) -> tuple[list[str], list[str]]:
    """Below the folder: what others may read or write, and what belongs to another user.

    Links are not followed. What the user writes there by hand may be read, it holds no secrets.
    """
    by_hand = (home.config, os.path.join(home.root, "agents"))
    others_work = os.path.join(home.root, "worktrees")  # git decides the modes in there
    open_to_others, of_others = [], []
    left = [home.root]
    for _ in range(MOST_ENTRIES):
        if not left:
            break
        path = left.pop()
        try:
            status = os.lstat(path)
            is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
            if is_own and path != others_work:
                left += sorted((entry.path for entry in os.scandir(path)), reverse=True)
        except OSError:
            continue  # gone in between, or closed to its owner as well
        if stat.S_ISLNK(status.st_mode):
            continue
        hand = any(path == own or path.startswith(own + "/") for own in by_hand)
        if status.st_uid != os.getuid():
            of_others.append(path)
        elif stat.S_IMODE(status.st_mode) & (0o022 if hand else 0o077):
            open_to_others.append(path)
    return open_to_others, of_others


def _close_to_others(path: str) -> None:
    """By a descriptor, so that a link put in the file's place in between is not followed."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        os.fchmod(descriptor, stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o700)
    finally:
        os.close(descriptor)


def file_system_of(path: str) -> str:
    """The kind of file system that a path is on, such as `ext4`; empty when it cannot be told."""
    mounts = _linux_mounts() if sys.platform == "linux" else _other_mounts()
    real = os.path.realpath(path)
    best = max((m for m in mounts if _below(real, m[0])), key=lambda m: len(m[0]), default=("", ""))
    return best[1]


def _linux_mounts() -> list[tuple[str, str]]:
    """Mount points with their kinds, later mounts over earlier ones last."""
    mounts = []
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                before, _, after = line.partition(" - ")
                point = before.split()[4].replace("\\040", " ")
                mounts.append((point, after.split()[0]))
    except (OSError, IndexError):
        return []
    return list(dict(mounts).items())


def _other_mounts() -> list[tuple[str, str]]:
    """What `mount` says on macOS: `/dev/disk1 on /Volumes/x (apfs, local)`."""
    import re
    import subprocess

    try:
        done = subprocess.run(
            ["/sbin/mount"],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
            errors="replace",
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return re.findall(r"^.* on (/.*) \((\w+)", done.stdout, re.MULTILINE)


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _existing(path: str) -> str:
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return path
