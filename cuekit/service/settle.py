"""Telling the truth about tasks whose supervisor cannot tell it any more."""

import sqlite3
from collections.abc import Mapping

from cuekit.paths import Home


def reconcile(home: Home, db: sqlite3.Connection, environ: Mapping[str, str]) -> None:
    """Settle every active task whose supervisor has ended without doing so."""
