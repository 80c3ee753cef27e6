"""POSIX shell quoting, and what one argument can carry."""

import re
from collections.abc import Iterable

LARGEST_ARGUMENT = 131_071
"""Bytes of text in one argument: Linux allows 131,072 with the final NUL (MAX_ARG_STRLEN)."""

_BARE_COMMAND = re.compile(r"[A-Za-z0-9_./-]+\Z")


class UserText(str):
    """A word of an argument vector that came from outside: its shell form is always quoted."""

    __slots__ = ()


def single_quoted(text: str) -> str:
    """The text as one POSIX shell word, in single quotes whatever it holds."""
    return "'" + text.replace("'", "'\\''") + "'"


def command_word(binary: str) -> str:
    """The program's name in a command line: bare where no shell could read it otherwise."""
    return binary if _BARE_COMMAND.match(binary) else single_quoted(binary)


def shell_form(words: Iterable[str]) -> str:
    """A command line from an argument vector: flags and fixed values bare, UserText quoted."""
    command, *rest = words
    return " ".join(
        [
            command_word(command),
            *(single_quoted(word) if isinstance(word, UserText) else word for word in rest),
        ]
    )


def fits_argument(text: str) -> bool:
    """Whether the text can be one argument of a program."""
    if len(text) * 4 <= LARGEST_ARGUMENT:
        return True
    return len(text.encode("utf-8", "surrogateescape")) <= LARGEST_ARGUMENT
