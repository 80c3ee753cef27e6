"""Reading a long text that a command is given: an argument, a file, standard input, an editor."""

import os
import sys

import click

from cuekit.errors import InvalidInput

STDIN = "-"
LARGEST = 4_000_000
"""Bytes read at most of one text; far beyond what any command takes, so it is refused there."""
EDITOR_NOTE = "\n# Lines that begin with '#' are left out. An empty text breaks off.\n"


def text_from(argument: str, what: str) -> str:
    """The argument itself, or all of standard input for `-`."""
    return _decoded(sys.stdin.buffer.read(LARGEST), what) if argument == STDIN else argument


def text_of_file(path: str, what: str) -> str:
    """A file's whole text. Raises InvalidInput (`no_file`, `invalid_utf8`)."""
    try:
        with open(path, "rb") as file:
            return _decoded(file.read(LARGEST), what)
    except OSError as error:
        raise InvalidInput(
            f"cannot read the {what} from {path}: {(error.strerror or '').lower()}", code="no_file"
        ) from None


def text_from_editor(what: str) -> str:
    """What a person writes in $EDITOR. Raises InvalidInput where there is no terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInput(
            f"no {what}: give it as an argument, with --file, or with - from standard input",
            code="usage",
            hint="cuekit task submit --help",
        )
    try:
        written = click.edit(EDITOR_NOTE, extension=".md", env=dict(os.environ))
    except click.ClickException as error:
        raise InvalidInput(error.format_message(), code="editor_failed") from None
    lines = (written or "").splitlines()
    return "\n".join(line for line in lines if not line.startswith("#")).strip()


def _decoded(data: bytes, what: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"the {what} is not valid UTF-8 at byte {error.start}", code="invalid_utf8"
        ) from None
