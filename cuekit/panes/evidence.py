"""What a task's events tell about a message that was just sent: was it taken, and by what word."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cuekit.launch.events import FILE_NAME


@dataclass(frozen=True)
class Taken:
    """The agent took the message: into which turn, told by what source, in which event."""

    turn: int | None
    evidence: str
    seq: int
    begins_turn: bool = True  # False: taken while another turn ran, which may not be ours


class EventTail:
    """The events that are appended to a task's file from now on."""

    def __init__(self, task_dir: str) -> None:
        self._path = os.path.join(task_dir, FILE_NAME)
        self._rest = b""
        try:
            self._offset = os.stat(self._path).st_size
        except OSError:
            self._offset = 0
        self.seen: list[dict[str, Any]] = []

    def read(self) -> list[dict[str, Any]]:
        """All events since the start, old ones first."""
        try:
            with open(self._path, "rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return self.seen
        self._offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            event = _parsed(line)
            if event is not None:
                self.seen.append(event)
        return self.seen


def taken(events: list[dict[str, Any]], texts: tuple[str, ...]) -> Taken | None:
    """Whether the events tell that one of these texts was taken.

    An accepted prompt of another text is somebody else's (one that was queued, say). A turn that
    only the window title tells of has no text: the pane was ours alone, so it counts.
    """
    for number, event in enumerate(events):
        kind, turn = event.get("kind"), event.get("turn")
        if kind == "prompt_accepted" and _is_one_of(event.get("text"), texts):
            begins = number > 0 and events[number - 1].get("kind") == "turn_started"
            return Taken(turn, "hook", event["seq"], begins)
        if kind == "turn_started" and (source := _source_of_start(events[number + 1 :])):
            return Taken(turn, source, event["seq"])
    return None


def in_order(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events by the time that they tell of; one from an agent's log may be written down late."""
    return sorted(events, key=lambda event: (str(event.get("time", "")), event["seq"]))


def after(events: list[dict[str, Any]], seq: int) -> list[dict[str, Any]]:
    """The events behind the one of that number; all of them where it is not there."""
    place = next((i for i, event in enumerate(events) if event["seq"] == seq), -1)
    return events[place + 1 :]


def last_taken(events: list[dict[str, Any]], texts: tuple[str, ...]) -> Taken | None:
    """The last time that one of the texts was taken: agents tell of a queued message twice."""
    found = None
    rest = events
    while (next_one := taken(rest, texts)) is not None:
        found = next_one
        rest = after(rest, found.seq)
        if found.begins_turn and found.evidence == "hook":
            break
    return found


def _source_of_start(later: list[dict[str, Any]]) -> str | None:
    """What told that a turn began, where that was no accepted prompt."""
    for event in later[:2]:
        if event.get("kind") == "prompt_accepted":
            return None
        if event.get("kind") == "status":
            return str(event.get("source"))
    return None


def _is_one_of(text: object, texts: tuple[str, ...]) -> bool:
    if not isinstance(text, str):
        return True  # the agent does not say which
    return any(sent.strip() == text.strip() or sent.strip() in text for sent in texts)


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("seq"), int) else None
