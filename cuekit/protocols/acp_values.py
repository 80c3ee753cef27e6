"""Lenient reading of what an ACP agent sends: a wrong type counts as missing. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from cuekit.model.event import AgentEvent, EventKind

Json = dict[str, Any]
NOTHING: Json = {}


def _no_constant(text: str) -> NoReturn:
    raise ValueError(text)  # NaN and its like are no JSON, and nobody could read them back


_READER = json.JSONDecoder(parse_constant=_no_constant)


def read_message(line: bytes) -> Json | None:
    """The JSON object of a line; None for anything else. Broken UTF-8 becomes U+FFFD."""
    try:
        message = _READER.decode(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return message if message.__class__ is dict else None


def raw(native: Any) -> AgentEvent:
    """A native message, whole."""
    return AgentEvent(EventKind.RAW, {"native": native})


def present(**values: Any) -> Json:
    """Only the values that are there."""
    return {name: value for name, value in values.items() if value is not None}


def text_of(values: Mapping[str, Any], *names: str) -> str | None:
    """The first of these members that is a text with something in it."""
    for name in names:
        value = values.get(name)
        if value.__class__ is str and value:
            return str(value)
    return None


def object_of(values: Mapping[str, Any], *path: str) -> Json:
    """The object at a path of members; an empty one when there is none."""
    found: Any = values
    for name in path:
        found = found.get(name) if found.__class__ is dict else None
    return found if found.__class__ is dict else NOTHING


def objects_of(values: Mapping[str, Any], name: str) -> Iterator[Json]:
    """The objects in a list."""
    entries = values.get(name)
    if entries.__class__ is list:
        for entry in entries or ():
            if entry.__class__ is dict:
                yield entry


def whole_number(values: Mapping[str, Any], *names: str) -> int | None:
    """The first of these members that is a whole number."""
    for name in names:
        value = values.get(name)
        if value.__class__ is int:
            return int(value)
    return None


def content_text(block: Mapping[str, Any]) -> str | None:
    """The text of a content block; None when it is none of text."""
    if block.get("type") == "text" and block.get("text").__class__ is str:
        return str(block["text"])
    return None
