"""Resources: the readable transcript and the events of the tasks of this connection."""

import re
from typing import Any, NamedTuple

from cuekit.errors import NotFound
from cuekit.mcp_server.tools import Parent

TEMPLATES = (
    ("cuekit://tasks/{task_id}/transcript", "transcript", "text/plain"),
    ("cuekit://tasks/{task_id}/events", "events", "application/x-ndjson"),
)
MOST_TASKS = 100
TRANSCRIPT_LINES = 2000
MOST_EVENTS = 5000
_URI = re.compile(r"cuekit://tasks/(t_[a-z0-9]{2,8})/(transcript|events)\Z")


class Resource(NamedTuple):
    """One thing that can be read."""

    uri: str
    name: str
    mime_type: str


def listed(parent: Parent) -> list[Resource]:
    """The resources of the tasks that this connection submitted, the newest first."""
    from cuekit.service.listing import list_tasks, wanted_tasks

    wanted = wanted_tasks(session_id=parent.session_id)
    rows = list_tasks(parent.environ, wanted, limit=MOST_TASKS).rows
    return [
        Resource(uri.format(task_id=row.task_id), f"{name} of {row.task_id}", mime_type)
        for row in rows
        for uri, name, mime_type in TEMPLATES
    ]


def read(parent: Parent, uri: str) -> tuple[str, str]:
    """The text of a resource and its type: the last lines of a transcript, or the events.

    Raises NotFound (`no_resource`, `task_not_found`, `no_transcript`).
    """
    found = _URI.match(uri)
    if found is None:
        raise NotFound(f"there is no resource {uri!r}", code="no_resource")
    if found[2] == "transcript":
        from cuekit.service.transcript import readable

        lines = readable(found[1], parent.environ, tail=TRANSCRIPT_LINES)
        return "\n".join(lines), TEMPLATES[0][2]
    return "\n".join(_events(parent, found[1])), TEMPLATES[1][2]


def _events(parent: Parent, task_id: str) -> list[str]:
    import json
    from collections import deque

    from cuekit.service.event_log import task_events

    events: deque[Any] = deque(task_events(task_id, parent.environ), maxlen=MOST_EVENTS)
    return [json.dumps(event) for event in events]
