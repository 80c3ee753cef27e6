"""A place with a private tmux server, for the commands that start tasks."""

from tests.support.tmux import tmux_server
from tests.support.workplace import workplace

__all__ = ["tmux_server", "workplace"]
