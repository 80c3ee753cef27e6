"""Colours for the pane; nothing where NO_COLOR is set. Pure."""

from collections.abc import Mapping

CODES = {
    "dim": "2",
    "bold": "1",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
}


class Style:
    """Puts words in colour, or leaves them."""

    def __init__(self, *, coloured: bool) -> None:
        self._coloured = coloured

    def __call__(self, name: str, text: str) -> str:
        """The text in a named colour."""
        if not self._coloured or not text:
            return text
        return f"\x1b[{CODES[name]}m{text}\x1b[0m"


def style_for(environ: Mapping[str, str]) -> Style:
    """The style of a terminal: none for NO_COLOR and for a dumb one."""
    return Style(coloured=not environ.get("NO_COLOR") and environ.get("TERM") != "dumb")
