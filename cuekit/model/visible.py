"""An agent's text as it really is: nothing in it acts on the terminal or goes unseen. Pure.

For what a person is asked to allow. Every character that moves, hides or reorders text is shown as
an escape, also those that other output leaves alone (joiners, fillers, no-break spaces).
"""

INVISIBLE = frozenset(
    (
        *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
        *range(0x180B, 0x1810),
        *range(0xFE00, 0xFE10),
        *range(0xE0100, 0xE01F0),
    )
)
"""Characters that count as printable and yet show nothing."""


def exact(text: str) -> str:
    """One line of text with everything that is not seen made visible; a line end as well."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(letter if is_seen(letter) else _escape(letter) for letter in text)


def exact_lines(text: str) -> list[str]:
    """The lines of a text, each of them `exact`. Only a line feed ends a line."""
    return [exact(line) for line in text.split("\n")]


def hides_something(text: str) -> bool:
    """Whether a text holds anything, apart from line ends, that is not seen as it is."""
    return any(not is_seen(letter) and letter != "\n" for letter in text)


def is_seen(letter: str) -> bool:
    """Whether a character shows itself, and does nothing else."""
    return letter.isprintable() and ord(letter) not in INVISIBLE


def _escape(letter: str) -> str:
    named = {"\t": "\\t", "\r": "\\r", "\n": "\\n"}.get(letter)
    if named is not None:
        return named
    code = ord(letter)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
