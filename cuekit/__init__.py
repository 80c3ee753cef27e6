"""cuekit: hand a task to a coding agent in a tmux pane, and stay in command of it."""

__version__ = "0.1.0"
