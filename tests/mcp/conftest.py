"""A private tmux server and a place for tasks."""

from tests.support.tmux import tmux_server
from tests.support.workplace import workplace

__all__ = ["tmux_server", "workplace"]
