"""Text that passes through tmux and a shell as it is, because it does not look like text.

tmux expands `#()`, `#{}` and `%` in many of its arguments and takes a `;` at the end of any of
them as the end of its command. So no path reaches it as text: it gets a shell word that is made
of octal digits, and the shell makes the path.
"""

from cuekit.errors import InvalidInput

SPECIAL = ("#", "%", "\n", "\r", "\0")


def shell_path(path: str) -> str:
    """A POSIX shell word that yields the path, and that tmux passes on untouched.

    It holds only octal digits, `printf` and the characters `"$( )'\\`. Raises InvalidInput for a
    path that no command substitution can yield (empty, NUL, a line break at the end).
    """
    if not path or "\0" in path or path.endswith("\n"):
        raise InvalidInput(f"a path that cannot be used: {path!r}", code="bad_path")
    digits = "".join(f"\\{byte:03o}" for byte in path.encode("utf-8", "surrogateescape"))
    return f"\"$(printf '{digits}')\""


def tmux_string(text: str) -> str:
    """A command's argument as one word of tmux's own command language (as inside `set-hook`)."""
    return "'" + text.replace("'", "'\\''") + "'"


def shell_hook(command: str) -> str:
    """The value of a tmux hook that runs a shell command without waiting for it.

    The command must hold no `#` and no `%`: make its paths with `shell_path`.
    """
    return f"run-shell -b {tmux_string(command)}"


def passes_untouched(text: str) -> bool:
    """Whether tmux hands on this argument as it is, in every place that it might expand."""
    return not text.endswith(";") and not any(character in text for character in SPECIAL)
