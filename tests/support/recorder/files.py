"""A recording as text: neutral, and its golden events and replies beside it."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cuekit.model.event import AgentEvent
from tests.support.agent_versions import ROOT
from tests.support.recorder.plug import Decoder, Place, Plug, Scenario
from tests.support.recorder.stage import START, Stage

FIXTURES = ROOT / "tests" / "fixtures"
Line = tuple[str, bytes]


def neutral_lines(lines: Sequence[Line], place: Place) -> list[Line]:
    """Without the folders, the port and the host name of this run."""
    changes = [
        (str(place.project), "/home/dev/project"),
        (re.sub("[^A-Za-z0-9]", "-", str(place.project)), "-home-dev-project"),  # claude's folders
        (str(place.home), "/home/dev"),
        (str(place.run_dir), "/run/cuekit"),
        (str(place.binary.resolve().parent), "/opt/agent"),
        (str(place.binary.parent), "/opt/agent"),
        (str(place.home.parent), "/home"),
        (place.model.url, "http://127.0.0.1:8080"),
        (f'"{socket.gethostname()}"', '"devbox"'),  # quoted: it may be a word of any text
    ]
    pairs = [(old.encode(), new.encode()) for old, new in changes]
    result = []
    for mark, line in lines:
        for old, new in pairs:
            line = line.replace(old, new)
        result.append((mark, line))
    return result


def native_text(lines: Iterable[Line]) -> str:
    """The `.ndjson` file: `> ` to the agent, `< ` from it, `! ` its errors, `# ` notes."""
    text = "\n".join(f"{mark} {line.decode('utf-8', 'backslashreplace')}" for mark, line in lines)
    return text + "\n"


def read_lines(path: Path) -> list[Line]:
    """The lines of an `.ndjson` file, with their marks."""
    rows = path.read_bytes().split(b"\n")
    return [(row[:1].decode(), row[2:]) for row in rows if row]


def decode(lines: Iterable[Line], new_decoder: Any) -> list[AgentEvent]:
    """Every event of a recording, with a new decoder for each process."""
    decoder: Decoder = new_decoder()
    events: list[AgentEvent] = []
    for mark, line in lines:
        if mark == "#" and f"# {line.decode()}" == START:
            decoder = new_decoder()
        elif mark == "<":
            events += decoder.decode_line(line)
    return events


def events_text(events: Iterable[AgentEvent]) -> str:
    """The `.events.json` file: a list of [kind, values], one on each line."""
    rows = (json.dumps([str(e.kind), e.values], ensure_ascii=False) for e in events)
    return "[\n" + ",\n".join(rows) + "\n]\n"


def replies_text(lines: Iterable[Line], plug: Plug) -> str:
    """The `.replies.json` file: our answers to approvals, exactly as they went out."""
    replies = []
    for mark, line in lines:
        if mark != ">":
            continue
        try:
            message = json.loads(line)
        except ValueError:
            continue  # a prompt on standard input
        if plug.is_reply(message):
            replies.append(message)
    return json.dumps(replies, indent=1, ensure_ascii=False) + "\n"


def recorded(stage: Stage, plug: Plug, scenario: Scenario) -> dict[str, str]:
    """The files of one scenario, name to text."""
    lines = neutral_lines(stage.lines, stage.place)
    events = decode(lines, lambda: plug.decoder(scenario))
    return {
        f"{scenario.name}.ndjson": native_text(lines),
        f"{scenario.name}.events.json": events_text(events),
        f"{scenario.name}.replies.json": replies_text(lines, plug),
    }
