"""Where a tmux server's socket is. Apart from the backend, which takes longer to load."""

import os
from collections.abc import Mapping

from cuekit.errors import InvalidInput


def default_socket(environ: Mapping[str, str]) -> str:
    """The socket of the user's own tmux server, or the one that CUEKIT_TMUX_SOCKET names."""
    if named := environ.get("CUEKIT_TMUX_SOCKET"):
        return os.path.abspath(named)
    return named_socket("default", environ)


def named_socket(name: str, environ: Mapping[str, str]) -> str:
    """The socket that `tmux -L NAME` uses. Raises InvalidInput for a name that is a path."""
    if not name or "/" in name:
        raise InvalidInput(f"not the name of a tmux socket: {name!r}", code="bad_socket")
    folder = environ.get("TMUX_TMPDIR") or "/tmp"  # noqa: S108 - where tmux itself puts it
    return os.path.join(os.path.realpath(folder), f"tmux-{os.getuid()}", name)
