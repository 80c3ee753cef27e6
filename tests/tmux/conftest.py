"""A private tmux server for each test of this folder."""

from tests.support.tmux import tmux_server
from tests.support.workplace import workplace

__all__ = ["tmux_server", "workplace"]
