"""How long ended tasks are kept, as the user's own configuration says."""

import sqlite3
from collections.abc import Mapping

from cuekit.config import load
from cuekit.config.effective import RetentionSettings
from cuekit.errors import CuekitError
from cuekit.paths import Home, home_from
from cuekit.store.listing import Filter

MOST_AT_ONCE = 20
"""Tasks that one submit removes by itself: it must not take long."""


def keep_for(environ: Mapping[str, str]) -> float:
    """Seconds that an ended task is kept by default; 0 where nothing is configured."""
    home = home_from(environ)
    return load.effective("/", home, environ).retention.keep_for_s or 0.0


def after_submit(
    home: Home,
    db: sqlite3.Connection,
    settings: RetentionSettings,
    environ: Mapping[str, str],
) -> None:
    """Remove what is older than the user keeps tasks, where they want that done by itself."""
    if not settings.auto or not settings.keep_for_s:
        return
    import contextlib

    from cuekit.service import cleanup

    with contextlib.suppress(CuekitError, sqlite3.Error):  # the new task runs all the same
        cleanup.remove_some(home, db, Filter(), settings.keep_for_s, environ, most=MOST_AT_ONCE)
