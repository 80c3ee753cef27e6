"""Times and durations as people and programs write them. Inside, all are seconds as float."""

import re
import time

from cuekit.errors import InvalidInput

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
LONGEST_S = 366 * 86400.0


def parse_duration(text: str) -> float:
    """Seconds of a duration such as `90s`, `30m`, `2h`, `1h30m`, `250ms`.

    Raises InvalidInput (`bad_duration`): no unit, nothing at all, or more than a year.
    """
    position, seconds = 0, 0.0
    while position < len(text) and (part := _PART.match(text, position)):
        seconds += float(part[1]) * UNITS[part[2]]
        position = part.end()
    if not text or position < len(text):
        raise InvalidInput(
            f"not a duration: {text!r}", code="bad_duration", hint="write 90s, 30m, 2h or 1h30m"
        )
    if seconds > LONGEST_S:
        raise InvalidInput(f"longer than a year: {text!r}", code="bad_duration")
    return seconds


def rfc3339(seconds: float) -> str:
    """A Unix time as RFC 3339 in UTC, to the millisecond."""
    milliseconds = round(seconds * 1000)
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(milliseconds // 1000))
    return f"{whole}.{milliseconds % 1000:03d}Z"


def short_duration(seconds: float) -> str:
    """A duration for people, in at most two units: `3s`, `4m10s`, `2h05m`, `3d04h`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"


def seconds_of(text: str) -> float:
    """The Unix time of an RFC 3339 text that `rfc3339` made."""
    from datetime import datetime

    return datetime.fromisoformat(text).timestamp()
