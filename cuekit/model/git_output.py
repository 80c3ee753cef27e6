"""What git prints for programs, read into values. Pure; names of files stay bytes.

Every form here is one of git's `-z` forms, which quote nothing: a name may hold anything but NUL.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

PROGRAMS = ("clean", "smudge", "process")
_KINDS: Mapping[str, str] = {"A": "add", "C": "add", "D": "delete", "R": "rename"}


class Change(NamedTuple):
    """One changed file: `kind` is add, update, delete or rename; `old` the name before a rename."""

    path: bytes
    kind: str
    old: bytes | None = None


class WorkTree(NamedTuple):
    """What `git status --porcelain=v2 --branch -z` says; `head` is None before a first commit."""

    head: str | None
    paths: list[bytes]


class Stat(NamedTuple):
    """A diff by numbers, lines of binary files not counted."""

    files: int
    insertions: int
    deletions: int


def work_tree(data: bytes) -> WorkTree:
    """The commit and the changed, unmerged and untracked paths of a status."""
    head: str | None = None
    paths: list[bytes] = []
    records = iter(data.split(b"\0"))
    for record in records:
        sort = record[:2]
        if record.startswith(b"# branch.oid "):
            oid = record[13:].decode("ascii", "replace")
            head = None if oid == "(initial)" else oid
        elif sort == b"? ":
            paths.append(record[2:])
        elif sort == b"1 ":
            paths += record.split(b" ", 8)[8:]
        elif sort == b"2 ":
            paths += record.split(b" ", 9)[9:]
            paths += [old for old in (next(records, b""),) if old]
        elif sort == b"u ":
            paths += record.split(b" ", 10)[10:]
    return WorkTree(head, paths)


def name_status(data: bytes) -> list[Change]:
    """The changes of `git diff --name-status -z`."""
    found: list[Change] = []
    fields = iter(data.split(b"\0"))
    for letter in fields:
        kind = _KINDS.get(letter[:1].decode("ascii", "replace"), "update")
        first = next(fields, None)
        if first is None:
            break
        if letter[:1] in (b"R", b"C"):
            new = next(fields, None)
            if new is None:
                break
            found.append(Change(new, kind, first if kind == "rename" else None))
        else:
            found.append(Change(first, kind))
    return found


def numstat(data: bytes) -> Stat:
    """The sum of `git diff --numstat -z`."""
    files = insertions = deletions = 0
    fields = iter(data.split(b"\0"))
    for field in fields:
        numbers = field.split(b"\t", 2)
        if len(numbers) != 3:
            continue
        files += 1
        insertions += int(numbers[0]) if numbers[0].isdigit() else 0
        deletions += int(numbers[1]) if numbers[1].isdigit() else 0
        if not numbers[2]:  # a rename: its two names follow by themselves
            next(fields, None)
            next(fields, None)
    return Stat(files, insertions, deletions)


def config_names(data: bytes) -> Iterator[str]:
    """The names of `git config --list --name-only -z`, each once."""
    names = (name.decode("utf-8", "surrogateescape") for name in data.split(b"\0") if name)
    yield from dict.fromkeys(names)


def without_programs(names: Iterable[str]) -> list[tuple[str, str]]:
    """The settings that keep git from running what its configuration names: filters and hooks.

    An empty command is none; a driver that is required would otherwise fail without its command.
    """
    quiet: dict[str, str] = {}
    for name in names:
        section, _, rest = name.partition(".")
        driver, _, variable = rest.rpartition(".")
        if section == "filter" and driver and variable in PROGRAMS:
            quiet[name] = ""
            quiet[f"filter.{driver}.required"] = "false"
        elif section == "hook" and driver:
            quiet[f"hook.{driver}.enabled"] = "false"
    return list(quiet.items())


def shown(path: bytes) -> str:
    """A file's name as text: bytes that are no UTF-8 become `\\xNN`."""
    return path.decode("utf-8", "backslashreplace")


def some(names: Iterable[bytes], most: int = 3) -> str:
    """A few names for a sentence, and how many more there are."""
    every = [shown(name) for name in names]
    rest = len(every) - most
    return ", ".join(every[:most]) + (f" and {rest} more" if rest > 0 else "")
