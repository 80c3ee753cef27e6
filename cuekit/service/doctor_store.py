"""The doctor's looks at cuekit's own files: the store, its folder, the configuration."""

import os
import sqlite3
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing

from cuekit.paths import Home, home_from
from cuekit.service.doctor_check import Check, Situation, failure, ok, warning

NETWORK_FILE_SYSTEMS = """
    nfs nfs4 cifs smb smb2 smb3 smbfs afpfs webdav davfs 9p afs ceph glusterfs lustre beegfs
    virtiofs vboxsf fuse.sshfs fuse.s3fs fuse.rclone fuse.glusterfs fuse.ceph-fuse fuse.davfs2
    fuse.gcsfuse
"""
"""Between machines SQLite's write-ahead log corrupts, and locks may hold nobody off."""

LEAST_FREE_BYTES = 200 * 1024 * 1024
SHOWN = 5
"""How many names of a longer list a line shows."""


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
    private = [home.root, home.runs, home.database, home.trust, home.probes]
    open_to_others = [path for path in private if _mode(path) & 0o077]

    def close() -> str:
        for path in open_to_others:
            os.chmod(path, _mode(path) & 0o700)
        return f"only you can read {_some(open_to_others)} now"

    if open_to_others:
        said = f"others can read {_some(open_to_others)}"
        fix = f"chmod go= {' '.join(open_to_others[:SHOWN])}, or cuekit doctor --fix"
        return Check("privacy", "warning", said, fix, close)
    return ok("privacy", f"{home.root} is closed to others")


def _mode(path: str) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        return 0


def config(situation: Situation) -> Iterator[Check]:
    """The files are valid; what the project's may not say before it is trusted."""
    from cuekit.config import load

    home = home_from(situation.environ)
    effective = load.effective(situation.cwd, home, situation.environ)
    found = [
        path for path in (effective.project_file, home.config) if path and os.path.exists(path)
    ]
    yield ok("config", f"valid: {', '.join(found)}" if found else "no file; built-in values")
    for text in effective.warnings:
        yield warning("config", text)
    if effective.ignored:
        yield warning("config_trust", effective.ignored, "read the file, then: cuekit trust")


def tasks(situation: Situation) -> Iterator[Check]:
    """Leftovers: panes and processes of ended tasks, run folders that belong to none."""
    from cuekit.service import doctor_leftovers, doctor_worktrees
    from cuekit.service.lookup import settled_store

    home = home_from(situation.environ)
    if not os.path.exists(home.database):
        yield ok("tasks", "none yet")
        return
    with settled_store(situation.environ) as (_, db):
        now = time.time()
        yield doctor_leftovers.active_tasks(db)
        yield from doctor_leftovers.panes(db, situation, now)
        yield from doctor_leftovers.strays(db, now)
        yield from doctor_leftovers.run_folders(db, home, now)
        yield from doctor_worktrees.worktrees(db, home, situation)


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


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    rest = len(listed) - SHOWN
    return ", ".join(listed[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
