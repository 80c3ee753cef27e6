"""What the two dialects of codex share: strict reading of values, raw events, codex's own words.

codex 0.133.0, 0.141.0 and 0.171.0, run.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from cuekit.model.event import AgentEvent, EventKind

Json = dict[str, Any]

NOT_SIGNED_IN = "not_signed_in"
LOGIN_HINT = "codex is not signed in; run: codex login"
_NO_CREDENTIALS = ("401 Unauthorized", "Missing environment variable", "Not logged in")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CHANGE_KINDS = frozenset({"add", "update", "delete"})


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


def without_colours(line: str) -> str:
    """A line of codex's standard error, without the escapes that colour it."""
    return _COLOUR.sub("", line)


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
    if value is not None and not isinstance(value, str):
        raise TypeError(name)
    return value


def integer(values: Mapping[str, Any], name: str, default: int = 0) -> int:
    """A whole number; the default when it is missing or null. Raises TypeError."""
    value = values.get(name)
    if value is None:
        return default
    if value.__class__ is not int:
        raise TypeError(name)
    return value


def optional_integer(values: Mapping[str, Any], name: str) -> int | None:
    """A whole number that may be missing or null. Raises TypeError."""
    return None if values.get(name) is None else integer(values, name)


def mapping(values: Mapping[str, Any], name: str) -> Json:
    """An object that must be there. Raises KeyError, TypeError."""
    value = values[name]
    if value.__class__ is not dict:
        raise TypeError(name)
    return value


def objects(values: Mapping[str, Any], name: str) -> list[Json]:
    """A list of objects; empty when it is missing or null. Raises TypeError."""
    value = values.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise TypeError(name)
    return value


def texts(values: Mapping[str, Any], name: str) -> list[str]:
    """A list of texts; empty when it is missing or null. Raises TypeError."""
    value = values.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise TypeError(name)
    return value


def present(**values: Any) -> Json:
    """Only the values that are there: an event has no nulls but where null says something."""
    return {name: value for name, value in values.items() if value is not None}


def error_code(message: str, info: Any = None) -> str | None:
    """The short name of an error: not_signed_in, or codex's own (`codexErrorInfo`)."""
    if info == "unauthorized" or any(words in message for words in _NO_CREDENTIALS):
        return NOT_SIGNED_IN
    if isinstance(info, str):
        return info
    if isinstance(info, dict) and len(info) == 1:
        return str(next(iter(info)))
    return None


def plain_words(message: str) -> str:
    """The words in an error: of a refused request (400) codex gives the whole JSON body."""
    if not message.startswith("{"):
        return message
    body = read_message(message.encode("utf-8", "replace"))
    error = body.get("error") if body else None
    words = error.get("message") if isinstance(error, dict) else None
    return words if isinstance(words, str) and words else message


def failure(message: str, info: Any = None) -> Json:
    """Message and code of a failed turn; with what to do where nobody is signed in."""
    code, words = error_code(message, info), plain_words(message)
    if code == NOT_SIGNED_IN:
        words = f"{LOGIN_HINT} (codex says: {words})"
    return present(message=words, code=code)


def change_kind(change: Mapping[str, Any]) -> str:
    """add, update or delete: a plain text in `exec --json`, an object in app-server."""
    kind = change["kind"]
    name = kind["type"] if isinstance(kind, dict) else kind
    if name not in CHANGE_KINDS:
        raise ValueError(name)
    return str(name)


def file_change(change: Mapping[str, Any], tool_id: str) -> AgentEvent:
    """One changed file. Raises KeyError, TypeError, ValueError."""
    kind = change["kind"]
    moved = optional_text(kind, "move_path") if isinstance(kind, dict) else None
    values = present(
        path=text(change, "path"),
        change=change_kind(change),
        source="native",
        diff=optional_text(change, "diff"),
        moved_to=moved,
        tool_id=tool_id,
    )
    return AgentEvent(EventKind.FILE_CHANGE, values)
