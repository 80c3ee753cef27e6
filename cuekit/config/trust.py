"""What the user trusts: folders, and the exact content of configuration files.

One JSON file under the home folder, changed under a lock and replaced whole. Trust in a folder lets
an agent start there without its own question; trust in a content lets that `.cuekit.yaml` name
programs and widen permissions, until a byte of it changes.
"""

import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from cuekit.config.discover import real_folder
from cuekit.errors import CuekitError, InvalidInput, NotFound
from cuekit.files import is_repository, locked, make_private_folder, replace_json
from cuekit.paths import Home

FORMAT = 1
LOCK_WAIT_S = 10.0


@dataclass(frozen=True)
class TrustedContent:
    """One content of one file, by its SHA-256 in hexadecimal."""

    sha256: str
    given_at: float


@dataclass(frozen=True)
class Trust:
    """Trusted folders with the time that each was given, and trusted contents, by real path."""

    folders: Mapping[str, float] = field(default_factory=dict)
    contents: Mapping[str, TrustedContent] = field(default_factory=dict)


def read(home: Home) -> Trust:
    """The whole record; an empty one when nothing was ever trusted.

    Raises CuekitError: `trust_file_newer` for a later format, `trust_file_broken` for anything that
    this version did not write or that others can write to.
    """
    try:
        with open(home.trust, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read()
    except FileNotFoundError:
        return Trust()
    except OSError as error:
        raise _broken(home, f"cannot be read: {error.strerror}") from None
    if mode & 0o022:
        raise _broken(home, "can be written by others than its owner")
    try:
        return _parse(home, json.loads(data.decode("utf-8", "surrogateescape")))
    except (ValueError, RecursionError):
        raise _broken(home, "is not JSON") from None


def _parse(home: Home, value: Any) -> Trust:
    if not isinstance(value, dict) or not isinstance(value.get("format"), int):
        raise _broken(home, "has no format number")
    if value["format"] > FORMAT:
        raise CuekitError(
            f"{home.trust} was written by a newer cuekit (format {value['format']})",
            code="trust_file_newer",
            hint="upgrade cuekit; the file is left as it is",
        )
    try:
        return Trust(
            {str(path): float(at) for path, at in value["folders"].items()},
            {
                str(path): TrustedContent(str(entry["sha256"]), float(entry["given_at"]))
                for path, entry in value["contents"].items()
            },
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _broken(home, "does not hold what it should") from None


def _broken(home: Home, problem: str) -> CuekitError:
    return CuekitError(
        f"{home.trust} {problem}; nothing is trusted until that is mended",
        code="trust_file_broken",
        hint="look at the file, then move it away and give trust again",
        details={"file": home.trust},
    )


def folder_trusted(home: Home, folder: str) -> bool:
    """Whether the user gave trust to this folder, or to one above it in the same repository.

    Trust does not reach into another repository below, a fresh clone for instance.
    """
    trusted = read(home).folders
    return bool(trusted) and _covering(trusted, folder) is not None


def _covering(trusted: Mapping[str, float], folder: str) -> str | None:
    current = os.path.realpath(folder)
    while current not in trusted:
        parent = os.path.dirname(current)
        if parent == current or is_repository(current):
            return None
        current = parent
    return current


def content_trusted(home: Home, file: str, sha256: str) -> bool:
    """Whether the user gave trust to exactly this content of this file."""
    content = read(home).contents.get(real_file(file))
    return content is not None and content.sha256 == sha256


def content_known(home: Home, file: str) -> bool:
    """Whether some content of this file was trusted once, this one or an earlier."""
    return real_file(file) in read(home).contents


def real_file(file: str) -> str:
    """The file's name in its real folder; a link in the file's own place keeps its name."""
    folder, name = os.path.split(os.path.abspath(file))
    return os.path.join(os.path.realpath(folder), name)


def give(home: Home, folder: str, *contents: tuple[str, str]) -> None:
    """Trust a folder and the content of files: each a file and the SHA-256 of what was read.

    Raises InvalidInput (`no_such_folder`) and CuekitError (`busy`, `cannot_write`, as `read`).
    """
    folder = real_folder(folder)
    with _changing(home) as trust:
        now = time.time()
        trust["folders"][folder] = now
        for file, sha256 in contents:
            trust["contents"][real_file(file)] = {"sha256": sha256, "given_at": now}


def revoke(home: Home, folder: str, file: str | None = None) -> list[str]:
    """Take trust back from a folder and from the files directly in it; what was taken back.

    `file` is the one that counts in the folder, wherever it lies; the folder may be gone.
    Raises NotFound (`not_trusted`), naming a folder above that still covers this one if there is
    such; CuekitError as `give`.
    """
    real = os.path.realpath(folder)
    with _changing(home) as trust:
        taken = [real] if real in trust["folders"] else []
        counting = real_file(file) if taken and file is not None else None
        taken += [
            path
            for path in trust["contents"]
            if os.path.dirname(path) in (real, os.path.join(real, ".cuekit", "agents"))
            or path == counting
        ]
        if not taken:
            above = _covering(trust["folders"], real)
            hint = f"cuekit trust revoke {above}" if above else "cuekit trust show"
            how = f": trust was given to {above}, above it" if above else ""
            raise NotFound(f"{real} is not trusted by itself{how}", code="not_trusted", hint=hint)
        for path in taken:
            trust["folders"].pop(path, None)
            trust["contents"].pop(path, None)
    return taken


@contextmanager
def _changing(home: Home) -> Iterator[dict[str, Any]]:
    """The record as a value to change; written back whole when the block ends well."""
    make_private_folder(home.root)
    try:
        with locked(f"{home.trust}.lock", LOCK_WAIT_S):
            trust = read(home)
            value: dict[str, Any] = {
                "format": FORMAT,
                "folders": dict(trust.folders),
                "contents": {
                    path: {"sha256": entry.sha256, "given_at": entry.given_at}
                    for path, entry in trust.contents.items()
                },
            }
            yield value
            replace_json(home.trust, value)
    except OSError as error:
        raise CuekitError(
            f"cannot write {home.trust}: {error.strerror}", code="cannot_write"
        ) from None


def check_worth(folder: str, user_home: str | None) -> None:
    """Refuse trust in a folder that holds far more than one project.

    Raises InvalidInput (`too_wide`) for the user's home folder and all above it, and for a folder
    in which other users can make folders, /tmp for instance.
    """
    real = os.path.realpath(folder)
    inside = os.path.join(real, "")
    if real == "/" or (
        user_home and os.path.join(os.path.realpath(user_home), "").startswith(inside)
    ):
        problem = "everything below it would be trusted too"
    elif os.path.isdir(real) and os.stat(real).st_mode & stat.S_IWOTH:
        problem = "other users can make folders in it"
    else:
        return
    raise InvalidInput(
        f"{real} is too wide to trust: {problem}",
        code="too_wide",
        hint="name the project's own folder, or give --force",
    )
