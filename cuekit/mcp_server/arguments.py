"""Checking a tool's arguments against its schema: the few words of JSON schema that those use."""

from collections.abc import Mapping
from typing import Any

from cuekit.errors import InvalidInput

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "array": (list,),
    "object": (dict,),
    "boolean": (bool,),
    "integer": (int,),
}
_WORDS = {
    "string": "text",
    "array": "a list",
    "object": "an object",
    "boolean": "true or false",
    "integer": "a whole number",
}


def check(schema: Mapping[str, Any], value: Any, place: str = "") -> None:
    """Raises InvalidInput (`invalid_arguments`), which names the first wrong value."""
    kind = schema.get("type")
    if kind is not None and not _is(value, kind):
        raise _wrong(place, f"expected {_WORDS[kind]}, not {_shown(value)}")
    if "enum" in schema and value not in schema["enum"]:
        raise _wrong(place, f"{value!r} is none of {', '.join(schema['enum'])}")
    if isinstance(value, int) and not schema.get("minimum", value) <= value <= schema.get(
        "maximum", value
    ):
        raise _wrong(place, f"{value} is too small or too large")
    if isinstance(value, list):
        most = schema.get("maxItems", len(value))
        if not schema.get("minItems", 0) <= len(value) <= most:
            raise _wrong(place, "the list is empty or too long")
        for number, entry in enumerate(value):
            check(schema.get("items", {}), entry, f"{place}[{number}]")
    if isinstance(value, dict) and "properties" in schema:
        _check_names(schema, value, place)


def given(arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments without those that are null: some clients send every name."""
    return {name: value for name, value in (arguments or {}).items() if value is not None}


def _check_names(schema: Mapping[str, Any], value: dict[str, Any], place: str) -> None:
    known = schema["properties"]
    for name, entry in value.items():
        if name not in known:
            raise _wrong(_below(place, name), f"unknown name{_near(name, known)}")
        check(known[name], entry, _below(place, name))
    for name in schema.get("required", ()):
        if name not in value:
            raise _wrong(_below(place, name), "is missing")


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])


def _near(name: str, known: Mapping[str, Any]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; there is {', '.join(known)}"


def _below(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _wrong(place: str, what: str) -> InvalidInput:
    return InvalidInput(
        f"{place or 'the arguments'}: {what}", code="invalid_arguments", details={"name": place}
    )
