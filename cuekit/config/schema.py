"""What a configuration file may say: each name with the check of its value.

The checks are plain functions: a file is read by every submit of its project, and importing
pydantic would more than double what that costs (docs/decisions/0016).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cuekit.config.document import Document, Place, invalid
from cuekit.config.effective import Key, Setting
from cuekit.errors import InvalidInput
from cuekit.model.lifecycle_events import EVENTS
from cuekit.model.times import parse_duration

LONGEST_SOCKET_PATH = 103
"""Bytes of a unix socket's path that every supported system takes (macOS: 104 with the end)."""

Check = Callable[[Any], Any]
"""Gives the value as cuekit uses it, or raises ValueError with what was expected."""

Problem = tuple[Place, str]

RULE_FIELDS = ("effect", "agent_kind", "tool", "command", "path", "risk")
_KIND_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}\Z")
_SOCKET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


def _line(value: Any) -> str:
    if not isinstance(value, str):
        raise _expected("text (put it into quotes)", value)
    if not value.strip():
        raise ValueError("must not be empty")
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in value):
        raise ValueError("must be one line without control characters")
    return value


def _one_of(*words: str) -> Check:
    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise _expected(" or ".join(repr(word) for word in words), value)
        return value

    return check


def _some_of(*words: str) -> Check:
    def check(value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(one in words for one in value):
            raise _expected(f"a list of {', '.join(words)}", value)
        return tuple(dict.fromkeys(value))

    return check


def _rules(value: Any) -> tuple[Mapping[str, str], ...]:
    """Always-rules, as `approval rules add` takes them; what they say is judged at a submit."""
    if not isinstance(value, list):
        raise _expected("a list of rules", value)
    for number, rule in enumerate(value, start=1):
        if not isinstance(rule, dict) or rule.get("effect") not in ("allow", "deny"):
            raise ValueError(f"rule {number}: expected effect: allow or deny, and what it fits")
        for name, text in rule.items():
            if name not in RULE_FIELDS:
                raise ValueError(f"rule {number}: {name}: {nearest(name, RULE_FIELDS)}")
            if not isinstance(text, str) or not text.strip():
                raise ValueError(f"rule {number}: {name}: expected text")
    return tuple(value)


def _folders(value: Any) -> tuple[str, ...]:
    folders = [value] if isinstance(value, str) else value
    if not isinstance(folders, list):
        raise _expected("a folder, or a list of folders", value)
    for folder in folders:
        if not _line(folder).startswith(("/", "~/")):
            raise ValueError(f"expected an absolute path or one below ~/, not {folder!r}")
    return tuple(folders)


def _whole(lowest: int, highest: int) -> Check:
    def check(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _expected("a whole number", value)
        if not lowest <= value <= highest:
            raise _expected(f"{lowest} to {highest}", value)
        return value

    return check


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _expected("true or false", value)
    return value


def _duration(value: Any) -> float:
    if not isinstance(value, str):
        raise _expected("a duration with its unit (90s, 30m, 2h)", value)
    try:
        seconds = parse_duration(value)
    except InvalidInput as error:
        raise ValueError(f"{error.message}; write 90s, 30m or 2h") from None
    if seconds <= 0:
        raise ValueError("must be longer than nothing")
    return seconds


def _command(value: Any) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not words:
        raise _expected("the program, or a list of it and its first arguments", value)
    return tuple(_line(word) for word in words)


def _socket_name(value: Any) -> str:
    name = _line(value)
    if not _SOCKET_NAME.match(name):
        raise ValueError("expected letters, digits, '.', '_' and '-' (for a path: socket_path)")
    return name


def _socket_path(value: Any) -> str:
    path = _line(value)
    if not path.startswith("/"):
        raise _expected("an absolute path", value)
    if len(path.encode()) > LONGEST_SOCKET_PATH:
        raise ValueError(f"longer than {LONGEST_SOCKET_PATH} bytes, too long for a socket")
    return path


SUBMIT: Mapping[str, Check] = {
    "agent_kind": _line,
    "agent": _line,  # another name of agent_kind
    "model": _line,
    "mode": _one_of("interactive", "batch", "supervised"),
    "timeout": _duration,
    "keep": _boolean,
    "session": _line,
    "reporting": _boolean,
}
ADAPTER: Mapping[str, Check] = {
    "protocol": _one_of("acp"),  # makes an agent kind of one's own of a command
    "permissions": _one_of("prompt", "bypass"),
    "command": _command,
}
MULTIPLEXER: Mapping[str, Check] = {
    "backend": _one_of("tmux"),
    "socket_name": _socket_name,
    "socket_path": _socket_path,
    "width": _whole(20, 1000),
    "height": _whole(5, 1000),
}
APPROVALS: Mapping[str, Check] = {
    "parents": _one_of("allow", "deny"),
    "handover": _duration,
    "preallow": _some_of("read", "list", "search"),
    "rules": _rules,
}
PROFILES: Mapping[str, Check] = {"folders": _folders}
MCP: Mapping[str, Check] = {"shell": _one_of("allow", "deny")}
LIMITS: Mapping[str, Check] = {"live_tasks": _whole(1, 10_000)}
RETENTION: Mapping[str, Check] = {"keep_for": _duration, "auto": _boolean}
HOOKS: Mapping[str, Check] = {**dict.fromkeys(EVENTS, _command), "time_limit": _duration}
NOTIFICATIONS: Mapping[str, Check] = {
    "desktop": _boolean,
    "terminal": _boolean,
    "events": _some_of(*EVENTS),
}
PLAIN: Mapping[str, Mapping[str, Check]] = {
    "submit": SUBMIT,
    "multiplexer": MULTIPLEXER,
    "limits": LIMITS,
    "retention": RETENTION,
    "hooks": HOOKS,
    "notifications": NOTIFICATIONS,
    "approvals": APPROVALS,
    "profiles": PROFILES,
    "mcp": MCP,
}
SECTIONS = ("submit", "adapters", *list(PLAIN)[1:])
USER_ONLY = frozenset(
    (section, name)
    for section in ("approvals", "mcp", "retention", "profiles")
    for name in PLAIN[section]
)
"""What only the user's own file may say, however much they trust a project's."""
OPTIONS = "options"


def settings_of(document: Document, kinds: Sequence[str]) -> dict[Key, Setting]:
    """The file's settings, checked, each with `FILE:LINE`; a name without a value says nothing.

    Raises InvalidInput (`config_invalid`) that names the first wrong line, and all in its details.
    """
    problems: list[Problem] = []
    settings: dict[Key, Setting] = {}
    for key, value in _walk(document.values, kinds, problems):
        name = "agent_kind" if key == ("submit", "agent") else key[-1]
        settings[(*key[:-1], name)] = Setting(value, f"{document.path}:{document.line(key)}")
    problems += _contradictions(document.values)
    if problems:
        raise _first(document, problems)
    return settings


def _walk(
    values: Mapping[str, Any], kinds: Sequence[str], problems: list[Problem]
) -> Iterator[tuple[Key, Any]]:
    """Every setting of a file by its place; what is wrong goes to the problems."""
    kinds = (*kinds, *_own_kinds(values, kinds, problems))
    for section, part in _names((), values, SECTIONS, problems):
        here = (section,)
        if section == "adapters":
            for kind, adapter in _names(here, part, kinds, problems, "no agent kind"):
                yield from _adapter(kind, adapter, problems)
        else:
            checks = PLAIN[section]
            for key, value in _checked(here, part, checks, checks, problems):
                if key[-1] in ("agent", "agent_kind") and value not in kinds:
                    problems.append((key, f"no agent kind {value!r}; {nearest(value, kinds)}"))
                yield key, value


def _own_kinds(
    values: Mapping[str, Any], kinds: Sequence[str], problems: list[Problem]
) -> Iterator[str]:
    """The agent kinds that a file adds: those with a protocol."""
    part = values.get("adapters")
    for kind, adapter in part.items() if isinstance(part, dict) else ():
        if not isinstance(adapter, dict) or adapter.get("protocol") is None:
            continue
        if kind in kinds:
            text = f"{kind} is built in; its protocol is known"
            problems.append((("adapters", kind, "protocol"), text))
        elif not _KIND_NAME.match(str(kind)):
            problems.append((("adapters", kind), "expected small letters, digits and '-'"))
        elif adapter.get("command") is None:
            problems.append((("adapters", kind), "an agent of one's own needs a command"))
        else:
            yield kind


def _adapter(kind: str, adapter: Any, problems: list[Problem]) -> Iterator[tuple[Key, Any]]:
    here = ("adapters", kind)
    yield from _checked(here, adapter, ADAPTER, (*ADAPTER, OPTIONS), problems)
    options = adapter.get(OPTIONS) if isinstance(adapter, dict) else None
    if options is None:
        return
    if not isinstance(options, dict):
        problems.append(((*here, OPTIONS), str(_expected("names with values", options))))
        return
    problems += _wrong_options(kind, options)
    yield from (((*here, OPTIONS, name), value) for name, value in options.items())


def _wrong_options(kind: str, options: dict[str, Any]) -> Iterator[Problem]:
    """What the agent itself has to say about its options, whatever its version."""
    from cuekit.agents import registry
    from cuekit.model.task import TaskSpec

    if kind not in registry.KINDS:
        return
    spec = TaskSpec(kind, objective="none", adapter_options=options)
    for problem in registry.get(kind).option_problems(spec, None):
        if problem.together:
            continue
        hint = f"; {problem.hint}" if problem.hint else ""
        yield ("adapters", kind, OPTIONS, problem.name), f"{problem.message}{hint}"


def _checked(
    here: Key,
    part: Any,
    checks: Mapping[str, Check],
    known: Sequence[str] | Mapping[str, Check],
    problems: list[Problem],
) -> Iterator[tuple[Key, Any]]:
    """The values of one section that have a check of their own."""
    for name, value in _names(here, part, tuple(known), problems):
        if name in checks:
            try:
                yield (*here, name), checks[name](value)
            except ValueError as error:
                problems.append(((*here, name), str(error)))


def _names(
    here: Key,
    part: Any,
    known: Sequence[str],
    problems: list[Problem],
    otherwise: str = "unknown name",
) -> Iterator[tuple[str, Any]]:
    """The known names in a section that have a value."""
    if not isinstance(part, dict):
        if part is not None:
            problems.append((here, str(_expected("names with values", part))))
        return
    for name, value in part.items():
        if name not in known:
            problems.append(((*here, name), f"{otherwise}; {nearest(name, known)}"))
        elif value is not None:
            yield name, value


def _contradictions(values: Mapping[str, Any]) -> Iterator[Problem]:
    """Pairs of names of which a file may say one."""
    for section, one, other in (
        ("submit", "agent_kind", "agent"),
        ("multiplexer", "socket_name", "socket_path"),
    ):
        part = values.get(section)
        if isinstance(part, dict) and None not in (part.get(one), part.get(other)):
            yield (section, other), f"give {one} or {other}, not both"


def _first(document: Document, problems: Sequence[Problem]) -> InvalidInput:
    placed = sorted((document.line(place), _dotted(place), text) for place, text in problems)
    line, name, text = placed[0]
    more = f" (and {len(placed) - 1} more)" if len(placed) > 1 else ""
    error = invalid(document.path, line, f"{name}: {text}{more}")
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


def _expected(what: str, value: Any) -> ValueError:
    return ValueError(f"expected {what}, not {_shown(value)}")


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "names with values"
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
