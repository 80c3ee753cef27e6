"""What two recordings of the same scenario say differently: types, fields and events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.recorder.files import read_lines
from tests.support.recorder.plug import Plug


def _fields(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield f"{path}.{name}"
            yield from _fields(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from _fields(inner, f"{path}[]")


def shape(native: Path, plug: Plug) -> set[str]:
    """The message types of a recording, and every field of each: `< turn/started .turn.id`."""
    found: set[str] = set()
    for mark, line in read_lines(native):
        if mark not in "<>":
            continue
        try:
            message = json.loads(line)
        except ValueError:
            found.add(f"{mark} (no JSON)")
            continue
        name = f"{mark} {plug.message_type(message)}"
        found.add(name)
        found.update(f"{name} {field}" for field in _fields(message, ""))
    return found


def event_shape(events: Path) -> set[str]:
    """The kinds of events in a recording, with the names of their values."""
    rows = json.loads(events.read_text(encoding="utf-8"))
    return {f"event {kind} ({', '.join(sorted(values))})" for kind, values in rows}


def report(old: Path, new: Path, plug: Plug) -> list[str]:
    """Lines `+ ...` for what is new and `- ...` for what is gone, by scenario."""
    lines: list[str] = []
    names = {path.name for folder in (old, new) for path in folder.glob("*.ndjson")}
    for name in sorted(names):
        if not (old / name).exists() or not (new / name).exists():
            lines.append(f"{'+' if (new / name).exists() else '-'} scenario {name}")
            continue
        before, after = shape(old / name, plug), shape(new / name, plug)
        events = name.replace(".ndjson", ".events.json")
        before |= event_shape(old / events)
        after |= event_shape(new / events)
        lines += [f"+ {name}: {entry}" for entry in sorted(after - before)]
        lines += [f"- {name}: {entry}" for entry in sorted(before - after)]
    for schema in sorted({p.name for f in (old, new) for p in f.glob("schema*.json")}):
        lines += _schema_lines(schema, old / schema, new / schema)
    return lines


def _schema_lines(name: str, old: Path, new: Path) -> list[str]:
    def entries(path: Path) -> set[str]:
        if not path.exists():
            return set()
        return set(_fields(json.loads(path.read_text(encoding="utf-8")), ""))

    before, after = entries(old), entries(new)
    gone = [f"- {name}: {entry}" for entry in sorted(before - after)]
    return [f"+ {name}: {entry}" for entry in sorted(after - before)] + gone
