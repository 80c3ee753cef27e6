"""How Claude Code is given exactly one text through its composer."""

import re
import unicodedata

from cuekit.activity.base import SteerPlan

LAST_WITHOUT_WRAP = (2, 1, 197)
"""Up to this version a long paste reaches the model as it is; 2.1.332 wraps it in a tag."""

PIECE_UNITS = 700
PIECE_BREAKS = 2
"""UTF-16 units and line breaks of one paste that 2.1.332 takes as typed: it wraps more than 800
units, or more than 2 breaks. Measured: 908 pieces, one right after another, came out whole."""

MOST_PIECES = 1500
"""More would take minutes; such a text is given as one paste, which 2.1.332 wraps."""

QUITTING = ("exit", "quit", ":q", ":q!", ":wq", ":wq!")
TRIMMED = (
    "\t\n\x0b\x0c\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""White space as JavaScript's trim() knows it."""

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0001]"
    "|(?<![^\x00-\x7f])[\u200c\u200d\ufe00-\ufe0f\U000e0020-\U000e007f]+(?![^\x00-\x7f])"
)
"""What 2.1.332 drops. Joiners and variation selectors it keeps within emoji and some scripts."""

_COMMAND = re.compile(r"/[^\s/]*(?=\s|\Z)")
"""A first word that can be a command: `/help`, but not `/etc/hosts`."""

_SEPARATOR = re.compile("[\u2028\u2029]")


def steer_plan(text: str, version: str | None) -> SteerPlan:
    """Bracketed pastes, in a form from which claude makes this text, or as near as it can.

    Measured with 2.1.167, 2.1.197 and 2.1.332 at the model's end. Claude makes a TAB four spaces,
    composes characters (NFC), and cuts white space from the end. So a space is put there: behind
    a backslash Enter would break the line, and behind `@` it would choose from a list of names.
    A text that begins with `/word` or `!` would be a command; behind a space it is not, and the
    model gets that space. Only 2.1.332 runs a `/word` that it knows behind a space too.
    """
    kept = text.strip(TRIMMED)
    if not kept:
        return _refused("claude sends no message that is only white space")
    if kept in QUITTING:
        return _refused(f"claude takes the message {kept!r} for the command to quit")
    wraps = _wraps(version)
    command = _COMMAND.match(kept)
    if command and wraps:
        return _refused(f"claude would run {command[0]!r} as a command, behind a space too")
    acts = text[0] == "!" or (command is not None and text[0] == "/")
    literal = (" " + text if acts else text).replace("\t", "    ")
    if wraps:
        literal = _INVISIBLE.sub("", _SEPARATOR.sub("\n", literal))
        if not literal.strip(TRIMMED):
            return _refused("claude drops every character of this message")
    elif _units(literal) > 800 or literal.count("\n") > 2:
        # shown as a placeholder, which is put in place as it is when the message is sent
        return _plan((literal,), literal, text)
    literal = unicodedata.normalize("NFC", literal).rstrip(TRIMMED)
    typed = literal + " "
    pieces = _pieces(typed) if wraps else (typed,)
    if len(pieces) > MOST_PIECES:
        tag = 'pasted_content id="…"'
        return _plan((literal,), f"<{tag}>\n{literal}\n</{tag}>", text)
    return _plan(pieces, literal, text)


def _plan(pieces: tuple[str, ...], taken: str, text: str) -> SteerPlan:
    return SteerPlan(
        pieces=pieces,
        # a long paste is still being read when Enter comes: lost in one of some runs at 0 s
        enter_delay_s=0.25 + min(1.0, sum(map(len, pieces)) / 100_000),
        rewritten=taken if taken != text else None,
    )


def _refused(why: str) -> SteerPlan:
    return SteerPlan(pieces=(), refusal=why)


def _wraps(version: str | None) -> bool:
    """Whether this version wraps long pastes; one that is not known is taken to do so."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version or "")
    return not found or tuple(int(number) for number in found.groups()) > LAST_WITHOUT_WRAP


def _units(text: str) -> int:
    """The length that JavaScript sees: characters beyond U+FFFF count twice."""
    return len(text) + sum(character > "\uffff" for character in text)


def _pieces(text: str) -> tuple[str, ...]:
    """The text in pieces that are each taken as typed, never cut within a visible character."""
    pieces = []
    start = units = breaks = 0
    for index, character in enumerate(text):
        units += 2 if character > "\uffff" else 1
        breaks += character == "\n"
        full = breaks >= PIECE_BREAKS or units >= PIECE_UNITS
        if full and index + 1 < len(text) and _may_cut(character, text[index + 1]):
            pieces.append(text[start : index + 1])
            start, units, breaks = index + 1, 0, 0
    return (*pieces, text[start:])


def _may_cut(before: str, after: str) -> bool:
    """Whether two characters surely stand for themselves, not for one sign together."""
    return before.isascii() or after.isascii() or unicodedata.category(after) in ("Lo", "Lu", "Ll")
