"""A failure that nobody foresaw: one line for the user, the traceback in a file."""

import errno
import os
import time
import traceback
from collections.abc import Mapping

from cuekit import __version__, files
from cuekit.errors import CuekitError
from cuekit.paths import home_from

PLAIN_REASONS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE}
)
"""What the machine or its owner refuses; no fault of the program."""


def internal_failure(error: Exception, environ: Mapping[str, str]) -> CuekitError:
    """What the user is told of an exception of any kind; its traceback goes to CUEKIT_HOME/log."""
    if isinstance(error, OSError) and error.errno in PLAIN_REASONS:
        where = f": {error.filename}" if error.filename else ""
        return CuekitError(f"{(error.strerror or 'failed').lower()}{where}", code="system_refused")
    name = type(error).__name__
    place = _write_log(error, environ)
    return CuekitError(
        f"internal error: {name}" + (f"; its traceback is in {place}" if place else ""),
        code="internal_error",
        hint="please report it with that file" if place else None,
        details={"log": place},
    )


def _write_log(error: Exception, environ: Mapping[str, str]) -> str | None:
    """Write the traceback; the path, or None where no file could be written."""
    try:
        folder = os.path.join(home_from(environ).root, "log")
        files.make_private_folder(folder)
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        path = os.path.join(folder, f"crash-{stamp}-{os.getpid()}.txt")
        # The command line is left out: it may hold what an agent was told in confidence.
        words = f"cuekit {__version__}\n" + "".join(traceback.format_exception(error))
        files.replace_file(path, words.encode("utf-8", "backslashreplace"))
    except (OSError, CuekitError):
        return None
    return path
