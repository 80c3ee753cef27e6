"""What a configuration file may say. Pydantic is loaded with this module: import it lazily."""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from cuekit.config.document import Document, Place, invalid
from cuekit.config.effective import Key, Setting
from cuekit.errors import CuekitError, InvalidInput
from cuekit.model.times import parse_duration

LONGEST_SOCKET_PATH = 103
"""Bytes of a unix socket's path that every supported system takes (macOS: 104 with the end)."""

_SOCKET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


def _one_line(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in text):
        raise ValueError("must be one line without control characters")
    return text


def _duration(text: Any) -> float:
    if not isinstance(text, str):
        raise ValueError("expected a duration with its unit: 90s, 30m, 2h")  # noqa: TRY004 - pydantic reports ValueError alone
    try:
        seconds = parse_duration(text)
    except CuekitError as error:
        raise ValueError(f"{error.message}; write 90s, 30m or 2h") from None
    if seconds <= 0:
        raise ValueError("must be longer than nothing")
    return seconds


def _command(value: Any) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not words:
        raise ValueError("expected the program, or a list of the program and its first arguments")
    if not all(isinstance(word, str) and word for word in words):
        raise ValueError("expected texts that are not empty")
    return tuple(_one_line(word) for word in words)


def _socket_name(name: str) -> str:
    if not _SOCKET_NAME.match(name):
        raise ValueError("expected letters, digits, '.', '_' and '-' (for a path: socket_path)")
    return name


def _socket_path(path: str) -> str:
    _one_line(path)
    if not path.startswith("/"):
        raise ValueError("expected an absolute path")
    if len(path.encode()) > LONGEST_SOCKET_PATH:
        raise ValueError(f"longer than {LONGEST_SOCKET_PATH} bytes, too long for a socket")
    return path


Line = Annotated[str, AfterValidator(_one_line)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class SubmitSection(_Section):
    agent_kind: Line | None = None
    agent: Line | None = None
    model: Line | None = None
    mode: Literal["interactive", "batch"] | None = None
    timeout: Annotated[float | None, BeforeValidator(_duration)] = None
    keep: bool | None = None
    session: Line | None = None


class AdapterSection(_Section):
    permissions: Literal["prompt", "bypass"] | None = None
    command: Annotated[tuple[str, ...] | None, BeforeValidator(_command)] = None
    options: dict[str, Any] | None = None


class MultiplexerSection(_Section):
    backend: Literal["tmux"] | None = None
    socket_name: Annotated[str, AfterValidator(_socket_name)] | None = None
    socket_path: Annotated[str, AfterValidator(_socket_path)] | None = None
    width: Annotated[int, Field(ge=20, le=1000)] | None = None
    height: Annotated[int, Field(ge=5, le=1000)] | None = None


class ConfigFile(_Section):
    submit: SubmitSection | None = None
    adapters: dict[str, AdapterSection] | None = None
    multiplexer: MultiplexerSection | None = None


SECTIONS: dict[Key, type[_Section]] = {
    (): ConfigFile,
    ("submit",): SubmitSection,
    ("multiplexer",): MultiplexerSection,
}


def settings_of(document: Document, kinds: Sequence[str]) -> dict[Key, Setting]:
    """The file's settings, checked, each with `FILE:LINE`; a name without a value says nothing.

    Raises InvalidInput (`config_invalid`) that names the first wrong line, and all in its details.
    """
    values = _without_nothing(document.values)
    try:
        checked = ConfigFile.model_validate(values)
    except ValidationError as error:
        raise _first(
            document, [_problem(document, dict(item)) for item in error.errors()]
        ) from None
    problems: list[tuple[Place, str]] = [
        *_wrong_kinds(checked, kinds),
        *_wrong_options(checked, kinds),
    ]
    if checked.submit and checked.submit.agent and checked.submit.agent_kind:
        problems.append((("submit", "agent"), "is another name of agent_kind; give one of the two"))
    both = checked.multiplexer
    if both and both.socket_name and both.socket_path:
        problems.append((("multiplexer", "socket_path"), "give socket_name or socket_path"))
    if problems:
        raise _first(document, problems)
    return {
        key: Setting(value, f"{document.path}:{document.line(place)}")
        for key, place, value in _flat(checked)
    }


def _without_nothing(values: dict[str, Any]) -> dict[str, Any]:
    """Names without a value dropped, but for those inside an agent's options."""
    kept = {}
    for name, value in values.items():
        if isinstance(value, dict):
            value = value if name == "options" else _without_nothing(value)
        if value is not None:
            kept[name] = value
    return kept


def _flat(checked: ConfigFile) -> Iterator[tuple[Key, Place, Any]]:
    for section in ("submit", "multiplexer"):
        part = getattr(checked, section)
        for name, value in _given(part):
            key = "agent_kind" if (section, name) == ("submit", "agent") else name
            yield (section, key), (section, name), value
    for kind, adapter in (checked.adapters or {}).items():
        for name, value in _given(adapter):
            here = ("adapters", kind, name)
            if name != "options":
                yield here, here, value
                continue
            for option, setting in value.items():
                yield (*here, option), (*here, option), setting


def _given(section: BaseModel | None) -> Iterator[tuple[str, Any]]:
    for name in type(section).model_fields if section else ():
        if (value := getattr(section, name)) is not None:
            yield name, value


def _wrong_kinds(checked: ConfigFile, kinds: Sequence[str]) -> Iterator[tuple[Key, str]]:
    for kind in checked.adapters or {}:
        if kind not in kinds:
            yield ("adapters", kind), f"no agent kind {kind!r}; {nearest(kind, kinds)}"
    if checked.submit:
        for name in ("agent_kind", "agent"):
            kind = getattr(checked.submit, name)
            if kind is not None and kind not in kinds:
                yield ("submit", name), f"no agent kind {kind!r}; {nearest(kind, kinds)}"


def _wrong_options(checked: ConfigFile, kinds: Sequence[str]) -> Iterator[tuple[Place, str]]:
    """What the agents themselves have to say about their options, whatever their version."""
    from cuekit.agents import registry
    from cuekit.model.task import TaskSpec

    for kind, adapter in (checked.adapters or {}).items():
        if not adapter.options or kind not in kinds:
            continue
        spec = TaskSpec(kind, objective="none", adapter_options=adapter.options)
        for problem in registry.get(kind).option_problems(spec, None):
            hint = f"; {problem.hint}" if problem.hint else ""
            yield ("adapters", kind, "options", problem.name), f"{problem.message}{hint}"


def _first(document: Document, problems: Sequence[tuple[Place, str]]) -> InvalidInput:
    placed = sorted((document.line(place), _dotted(place), text) for place, text in problems)
    line, name, text = placed[0]
    more = f" (and {len(placed) - 1} more)" if len(placed) > 1 else ""
    error = invalid(document.path, line, f"{name}: {text}{more}" if name else f"{text}{more}")
    error.details["problems"] = [
        {"line": line, "name": name, "problem": text} for line, name, text in placed
    ]
    return error


def _dotted(place: Place) -> str:
    return ".".join(_name(str(part)) for part in place)


def _name(part: str) -> str:
    """A name from the file as it can stand in one line of a message."""
    shown = part if part.isprintable() else repr(part)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _problem(document: Document, error: dict[str, Any]) -> tuple[Place, str]:
    """The place and the words for one error of pydantic's."""
    place: Place = error["loc"]
    while place and place not in document.lines:  # pydantic adds the names of its own types
        place = place[:-1]
    context = error.get("ctx", {})
    match error["type"]:
        case "extra_forbidden":
            return place, f"unknown name; {nearest(str(place[-1]), _names_beside(place))}"
        case "literal_error":
            return place, f"expected {context['expected']}, not {_shown(error['input'])}"
        case "value_error":
            return place, str(context["error"])
        case "greater_than_equal" | "less_than_equal":
            limit = context.get("ge", context.get("le"))
            word = "at least" if "ge" in context else "at most"
            return place, f"expected {word} {limit}, not {_shown(error['input'])}"
        case kind:
            return place, f"expected {_EXPECTED.get(kind, kind)}, not {_shown(error['input'])}"


_EXPECTED = {
    "string_type": "text (put it into quotes)",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "dict_type": "names with values",
    "model_type": "names with values",
    "model_attributes_type": "names with values",
}


def _names_beside(place: Place) -> list[str]:
    parent = tuple(str(part) for part in place[:-1])
    section = AdapterSection if parent[:1] == ("adapters",) else SECTIONS[parent]
    return list(section.model_fields)


def nearest(word: str, words: Sequence[str]) -> str:
    """What was probably meant, or all that there is."""
    import difflib

    forms = {_plain(other): other for other in words}
    swapped = [form for form in forms if sorted(form) == sorted(_plain(word))]
    close = swapped or difflib.get_close_matches(_plain(word), forms, n=1)
    if close:
        return f"did you mean {forms[close[0]]!r}?"
    return f"there is {', '.join(words)}"


def _plain(word: str) -> str:
    return word.lower().replace("-", "_")


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "names with values"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
