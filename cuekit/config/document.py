"""One configuration file as plain values with the line of each of them.

Only what JSON can say is taken: no tags, no anchors, no dates. PyYAML is imported when a file has
been found, never before.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cuekit.errors import InvalidInput

if TYPE_CHECKING:
    import yaml

LARGEST_FILE = 64 * 1024
"""Bytes of a configuration; PyYAML in Python reads as many in well under a second."""
MOST_NODES = 10_000
DEEPEST = 40

Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Document:
    """A file that was read whole: `values` and, for each place in them, the line (from 1)."""

    path: str
    sha256: str
    values: dict[str, Any]
    lines: Mapping[Place, int]

    def line(self, place: Place) -> int:
        """The line of a place, or of the nearest one around it."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)


def invalid(path: str, line: int | None, problem: str, hint: str | None = None) -> InvalidInput:
    """The error `config_invalid` for a place in a file, as `FILE:LINE: PROBLEM`."""
    where = path if line is None else f"{path}:{line}"
    details = {"file": path, "line": line}
    return InvalidInput(f"{where}: {problem}", code="config_invalid", hint=hint, details=details)


def read_document(path: str) -> Document | None:
    """The file's content, or None when there is no such file.

    Raises InvalidInput (`config_invalid`) when it is not a readable regular file of at most 64 KiB,
    not UTF-8, not YAML, or says what JSON could not.
    """
    data = read_bytes(path)
    if data is None:
        return None
    values, lines = parsed(path, data)
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise invalid(path, lines[()], "expected names with values, `name: value`")
    return Document(path, content_digest(data), values, lines)


def content_digest(data: bytes) -> str:
    """The hash by which a content is trusted: SHA-256, in hexadecimal."""
    import hashlib

    return hashlib.sha256(data).hexdigest()


def read_bytes(path: str) -> bytes | None:
    """The content of a regular file of at most 64 KiB, or None when there is no such file.

    Raises InvalidInput (`config_invalid`).
    """
    try:
        # Not blocking: a named pipe in the file's place would hold every command for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(path):
            raise invalid(path, None, "is a symbolic link to nothing") from None
        return None
    except OSError as error:
        raise invalid(path, None, f"cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise invalid(path, None, "is not a regular file")
    with open(descriptor, "rb") as file:
        try:
            data = file.read(LARGEST_FILE + 1)
        except OSError as error:
            raise invalid(path, None, f"cannot be read: {error.strerror}") from None
    if len(data) > LARGEST_FILE:
        raise invalid(path, None, f"is larger than {LARGEST_FILE} bytes")
    return data


def _text(path: str, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise invalid(path, line, "is not UTF-8 text") from None
    return text


def parsed(path: str, data: bytes) -> tuple[Any, dict[Place, int]]:
    """The value that a text in YAML (or JSON) stands for, and the line of each place in it.

    Raises InvalidInput (`config_invalid`).
    """
    import yaml

    text = _text(path, data)
    try:
        _check_shape(path, text)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise invalid(path, line, "holds a character that YAML does not allow") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise invalid(path, line, f"is not YAML: {error.problem or error.context}") from None
    lines: dict[Place, int] = {}
    if root is None:
        return None, {(): 1}
    return _Reader(path, lines).value(root, ()), lines


def _check_shape(path: str, text: str) -> None:
    """Refuse, before anything is built, what could grow beyond the file that it stands in."""
    import yaml

    depth = nodes = documents = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = _line_of(event)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise invalid(path, line, "anchors (&) and aliases (*) are not taken here")
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise invalid(path, line, "holds more than one document (`---`)")
        elif isinstance(event, yaml.NodeEvent):
            nodes += 1
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise invalid(path, line, f"is nested deeper than {DEEPEST} levels")
        if nodes > MOST_NODES:
            raise invalid(path, line, f"holds more than {MOST_NODES} values")


def _line_of(place: "yaml.Event | yaml.Node") -> int:
    return place.start_mark.line + 1 if place.start_mark else 1


class _Reader:
    """Turns YAML nodes into plain values, and remembers the line of each."""

    def __init__(self, path: str, lines: dict[Place, int]) -> None:
        self.path = path
        self.lines = lines

    def value(self, node: "yaml.Node", place: Place) -> Any:
        import yaml

        self.lines.setdefault(place, _line_of(node))
        if isinstance(node, yaml.MappingNode) and node.tag == "tag:yaml.org,2002:map":
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
            return [self.value(item, (*place, at)) for at, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        raise self._invalid(node, f"the tag {_short(node.tag)} is not taken here")

    def _mapping(self, node: "yaml.MappingNode", place: Place) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            name = key_node.value
            if key_node.tag != "tag:yaml.org,2002:str" or not isinstance(name, str):
                raise self._invalid(key_node, "a name must be plain text; put it into quotes")
            here = (*place, name)
            if name in values:
                first = self.lines[here]
                raise self._invalid(key_node, f"{name!r} was already given in line {first}")
            self.lines[here] = _line_of(key_node)
            values[name] = self.value(value_node, here)
        return values

    def _scalar(self, node: "yaml.ScalarNode") -> Any:
        text = node.value
        match node.tag.removeprefix("tag:yaml.org,2002:"):
            case "str":
                return text
            case "null":
                return None
            case "bool":
                return text.lower() in ("yes", "true", "on")
            case "int" if text.lstrip("+-").isdigit() and len(text) < 19:
                return int(text)
            case "float" if _is_plain_decimal(text):
                return float(text)
            case "int" | "float":
                raise self._invalid(node, f"not a plain decimal number: {text[:40]!r}; quote it")
            case "timestamp":
                raise self._invalid(node, f"a date is not taken here: {text[:40]!r}; quote it")
            case _:
                raise self._invalid(node, f"the tag {_short(node.tag)} is not taken here")

    def _invalid(self, node: "yaml.Node", problem: str) -> InvalidInput:
        return invalid(self.path, _line_of(node), problem)


def _is_plain_decimal(text: str) -> bool:
    return text.lstrip("+-").replace(".", "", 1).isdigit() and len(text) < 40


def _short(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!")[:60]
