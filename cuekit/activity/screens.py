"""Reading a captured pane: its lines, and which of their characters are dim."""

import re

_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
_OTHER = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()].|.)")


def bright_text(styled: str) -> list[str]:
    """The lines of a styled capture with every dim character replaced by a space.

    Agents draw suggestions dim (SGR 2) where a draft would stand. The style is carried from
    line to line, as tmux writes it.
    """
    dim = False
    out: list[str] = []
    position = 0
    for match in _SGR.finditer(styled):
        out.append(_shown(styled[position : match.start()], dim))
        dim = _dim_after(match.group(1), dim)
        position = match.end()
    out.append(_shown(styled[position:], dim))
    return "".join(out).split("\n")


def last_filled(lines: list[str]) -> int:
    """The index of the last line with something on it; -1 if there is none."""
    for index in range(len(lines) - 1, -1, -1):
        if lines[index].strip():
            return index
    return -1


def _shown(text: str, dim: bool) -> str:
    text = _OTHER.sub("", text)
    return re.sub(r"[^\n]", " ", text) if dim else text


def _dim_after(parameters: str, dim: bool) -> bool:
    codes = iter(re.split(r"[;:]", parameters))
    for code in codes:
        if code in ("", "0", "22"):
            dim = False
        elif code == "2":
            dim = True
        elif code in ("38", "48", "58"):  # a colour: 5;N or 2;R;G;B, in which a 2 is no style
            skip = {"5": 1, "2": 3}.get(next(codes, ""), 0)
            for _ in range(skip):
                next(codes, None)
    return dim
