"""The shells that cuekit completes in: their scripts, and the file that each one goes to."""

import os
from collections.abc import Mapping
from typing import NamedTuple

import click

from cuekit.errors import CuekitError, InvalidInput

SHELLS = ("bash", "zsh", "fish")
MARK = "# Written by `cuekit completion install`; it may be removed."


class Place(NamedTuple):
    """Where a shell's script goes, and what the user adds to which file, if anything."""

    path: str
    line: str | None
    rc_file: str | None


def found_shell() -> str:
    """The shell that the command was typed in. Raises InvalidInput (`unknown_shell`)."""
    import shellingham

    try:
        name: str = shellingham.detect_shell()[0]
    except (shellingham.ShellDetectionFailure, OSError):
        name = ""
    if name not in SHELLS:
        what = (
            f"the shell {name!r} is not one that cuekit completes in" if name else "no shell found"
        )
        raise InvalidInput(
            what, code="unknown_shell", hint="cuekit completion install --shell bash|zsh|fish"
        )
    return name


def script(root: click.Command, shell: str) -> str:
    """The completion script of a shell, by click."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    if found is None:
        raise InvalidInput(f"click has no completion for {shell!r}", code="unknown_shell")
    complete = found(root, {}, "cuekit", "_CUEKIT_COMPLETE")
    return f"{MARK}\n{complete.source_template % complete.source_vars()}"


def place(shell: str, environ: Mapping[str, str]) -> Place:
    """The file for a shell's script, below the user's own folders.

    bash-completion and fish load theirs by themselves; zsh needs a line in the user's .zshrc, as
    does a bash without bash-completion. cuekit writes no rc file.
    """
    home = environ.get("HOME") or ""
    if not os.path.isabs(home):
        raise InvalidInput("HOME is not set", code="no_home")
    data = _base(environ, "XDG_DATA_HOME", home, ".local/share")
    if shell == "fish":
        config = _base(environ, "XDG_CONFIG_HOME", home, ".config")
        return Place(os.path.join(config, "fish", "completions", "cuekit.fish"), None, None)
    if shell == "bash":
        path = os.path.join(data, "bash-completion", "completions", "cuekit")
        return Place(path, f". {_quoted(path)}", os.path.join(home, ".bashrc"))
    path = os.path.join(data, "cuekit", "completion.zsh")
    folder = environ.get("ZDOTDIR") or home
    return Place(path, f". {_quoted(path)}", os.path.join(folder, ".zshrc"))


def write_script(path: str, text: str) -> None:
    """Write the script. Raises CuekitError where another's file is, or none can be written."""
    from cuekit import files

    try:
        if os.path.lexists(path) and not _is_ours(path):
            raise CuekitError(
                f"{path} is there already, and not from cuekit",
                code="file_exists",
                hint="remove it, or `cuekit completion show` prints the script",
            )
        os.makedirs(os.path.dirname(path), exist_ok=True)
        files.replace_file(path, text.encode(), 0o644)
    except OSError as error:
        raise CuekitError(
            f"cannot write {path}: {(error.strerror or 'failed').lower()}", code="cannot_write"
        ) from None


def _is_ours(path: str) -> bool:
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(MARK)) == MARK.encode()


def _base(environ: Mapping[str, str], name: str, home: str, default: str) -> str:
    named = environ.get(name, "")
    return named if os.path.isabs(named) else os.path.join(home, default)


def _quoted(path: str) -> str:
    import shlex

    return shlex.quote(path)
