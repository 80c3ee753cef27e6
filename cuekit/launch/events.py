"""A task's events.jsonl: a JSON object a line, numbered from 1, appended under the file's lock."""

import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from cuekit import files
from cuekit.errors import CuekitError
from cuekit.model.times import rfc3339

FILE_NAME = "events.jsonl"
TAIL_BYTES = 65536
MOST_TAIL_BYTES = 64 * 1024 * 1024  # longer without a whole event: not the log that cuekit wrote
LOCK_SECONDS = 2.0  # the child may hold the lock, and must not hold up its supervisor by it


class EventLog:
    """The file, held open by one of its writers; others may append between its lines."""

    def __init__(self, task_dir: str, task_id: str) -> None:
        """Raises OSError when the file cannot be opened or made."""
        path = os.path.join(task_dir, FILE_NAME)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        self._file = open(descriptor, "r+b", buffering=0)  # noqa: SIM115 closed by close()
        self._task_id = task_id
        self._end = -1
        self._sequence = 0

    def append(
        self, kind: str, values: Mapping[str, Any] | None = None, *, at: float | None = None
    ) -> int:
        """Append an event and give its sequence number. A torn last line is cut off first.

        Raises OSError when the file cannot be written, or somebody keeps it locked.
        """
        self._lock()
        try:
            if os.fstat(self._file.fileno()).st_size != self._end:  # somebody else wrote, or a tear
                self._end, self._sequence = _end_of_log(self._file.fileno())
                self._file.truncate(self._end)
            record = {
                "seq": self._sequence + 1,
                "time": rfc3339(time.time() if at is None else at),
                "task_id": self._task_id,
                "kind": kind,
                **(values or {}),
            }
            line = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
            self._file.seek(self._end)
            written = self._file.write(line)
            if written != len(line):
                raise OSError(errno.ENOSPC, "the event log is not written whole")
            self._end += len(line)
            self._sequence += 1
        except BaseException:
            self._end = -1
            raise
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        return self._sequence

    def mend(self) -> None:
        """Cut off a torn last line. Raises OSError as `append`."""
        self._lock()
        try:
            self._end, self._sequence = _end_of_log(self._file.fileno())
            self._file.truncate(self._end)
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _lock(self) -> None:
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                return fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise
            time.sleep(0.002)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def append(
    task_dir: str,
    task_id: str,
    kind: str,
    values: Mapping[str, Any] | None = None,
    *,
    at: float | None = None,
) -> int:
    """Append one event; as `EventLog.append`."""
    log = EventLog(task_dir, task_id)
    try:
        return log.append(kind, values, at=at)
    finally:
        log.close()


def read(task_dir: str, since: int = 0) -> Iterator[dict[str, Any]]:
    """The events after a sequence number, oldest first; a torn last line is passed over.

    Raises CuekitError (`no_event_log`) when something else lies in the place of the log.
    """
    file = _opened(task_dir)
    if file is None:
        return
    with file:
        for line in file:
            event = _parsed(line)
            if event is not None and event["seq"] > since:
                yield event


def last_sequence(task_dir: str) -> int:
    """The number of the last whole event; 0 when there is none."""
    file = _opened(task_dir)
    if file is None:
        return 0
    with file:
        return _end_of_log(file.fileno())[1]


def torn_bytes(task_dir: str) -> int:
    """How many bytes stand behind the last whole event; 0 without a log.

    Raises OSError for a log that cannot be read.
    """
    try:
        file = files.open_regular(os.path.join(task_dir, FILE_NAME))
    except FileNotFoundError:
        return 0
    with file:
        size = os.fstat(file.fileno()).st_size
        return max(0, size - _end_of_log(file.fileno())[0])


def mend(task_dir: str, task_id: str) -> None:
    """Cut off a torn last line. Raises OSError as `EventLog.append`."""
    log = EventLog(task_dir, task_id)
    try:
        log.mend()
    finally:
        log.close()


def _opened(task_dir: str) -> BinaryIO | None:
    path = os.path.join(task_dir, FILE_NAME)
    try:
        return files.open_regular(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CuekitError(
            f"the event log {path} cannot be read: {error.strerror}",
            code="no_event_log",
            hint="it is the task's own file; see what lies there now",
        ) from None


def _end_of_log(descriptor: int) -> tuple[int, int]:
    """Where the last whole event ends, and its sequence number."""
    size = os.fstat(descriptor).st_size
    reach = TAIL_BYTES
    while True:
        start = max(0, size - reach)
        lines = os.pread(descriptor, size - start, start).splitlines(keepends=True)
        end = size
        for number in range(len(lines) - 1, -1, -1):
            line = lines[number]
            whole = number > 0 or start == 0
            event = _parsed(line) if whole else None
            if event is not None and line.endswith(b"\n"):
                return end, event["seq"]
            if whole:
                end -= len(line)
        if start == 0:
            return 0, 0
        if reach >= MOST_TAIL_BYTES:
            raise OSError(errno.EFBIG, "the end of the event log is no event")
        reach *= 4


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    if not isinstance(event, dict) or not isinstance(event.get("seq"), int):
        return None
    return event
