"""What claude's dialects share: strict reading of values, raw events, lines for standard input."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from cuekit.model.event import AgentEvent, EventKind

Json = dict[str, Any]


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


def encode_line(message: Json) -> bytes:
    """One line for claude. Raises ValueError, TypeError for what is no JSON.

    All ASCII: a raw U+2028 would end the line for some readers, and one broken line ends claude.
    """
    text = json.dumps(message, allow_nan=False, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def raw(native: Any) -> AgentEvent:
    """A native message, whole."""
    return AgentEvent(EventKind.RAW, {"native": native})


def raw_line(line: bytes) -> AgentEvent:
    """A line that is no JSON object, whole."""
    return raw(line.decode("utf-8", "replace"))


def text(values: Mapping[str, Any], name: str) -> str:
    """A text that must be there. Raises KeyError, TypeError."""
    value = values[name]
    if value.__class__ is not str:
        raise TypeError(name)
    return value


def optional_text(values: Mapping[str, Any], name: str) -> str | None:
    """A text that may be missing or null. Raises TypeError for another value."""
    value = values.get(name)
    if value is not None and value.__class__ is not str:
        raise TypeError(name)
    return value


def texts(value: Any) -> list[str]:
    """A list of texts; without what is no text."""
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def whole(values: Mapping[str, Any], name: str) -> int:
    """A whole number; 0 when it is missing or null. Raises TypeError."""
    value = values.get(name)
    if value is None:
        return 0
    if value.__class__ is not int:
        raise TypeError(name)
    return value


def present(**values: Any) -> Json:
    """Only the values that are there: an event has no nulls but where null says something."""
    return {name: value for name, value in values.items() if value is not None}
