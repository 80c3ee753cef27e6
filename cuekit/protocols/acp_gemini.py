"""gemini's trap: a session that is loaded in the minute in which it began is destroyed (0.61.0).

Its files are named by the minute and the id, so the load begins one of the same name.
"""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path

from cuekit.errors import CuekitError

MINUTE = 60.0


def began_this_minute(home: str, session_id: str, now: float) -> bool | None:
    """Whether a session's file bears the present minute (UTC); None when there is no such file."""
    found = list(Path(home, ".gemini", "tmp").glob(f"*/chats/session-*-{session_id[:8]}*"))
    if not found:
        return None
    minute = time.strftime("%Y-%m-%dT%H-%M", time.gmtime(now))
    return any(f"session-{minute}-" in path.name for path in found)


async def wait_out_the_minute(environment: Mapping[str, str], session_id: str) -> None:
    """Refuse a load that would destroy the session; wait where that cannot be known.

    Raises CuekitError (`resume_too_soon`).
    """
    home = environment.get("GEMINI_CLI_HOME") or environment.get("HOME", "")
    now = time.time()
    left = MINUTE - now % MINUTE
    began = began_this_minute(home, session_id, now)
    if began is None:
        await asyncio.sleep(left)
    elif began:
        raise CuekitError(
            "gemini loses a session that is loaded in the minute in which it began",
            code="resume_too_soon",
            hint=f"try again in {int(left) + 1} s",
            retryable=True,
        )
