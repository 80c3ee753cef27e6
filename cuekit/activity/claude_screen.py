"""What Claude Code's screen shows: a dialog, the composer and its draft, whether it works."""

import re

from cuekit.activity.base import Composer, Screen
from cuekit.activity.screens import bright_text, last_filled

COMPOSER = ("\u276f\xa0", "!\xa0")
"""First characters of the composer, the second in shell mode. In lists and in messages that were
sent, a plain space follows the mark."""

_RULE = re.compile(r"─{10,}")
_SCROLLED = re.compile(r"─+ ↑ \d+ more ─{10,}")
"""The rule above a draft of which only the end fits on the screen (2.1.332)."""

_BUSY = "esc to interrupt"
_CHOICE = re.compile(r"\s*\u276f \S")
_YES = re.compile(r"\s*(?:\u276f )?1\. Yes\b", re.MULTILINE)
_KEY_HINT = re.compile(
    r"\b(enter|esc|escape) (to )?(confirm|continue|select|submit|save|cancel|go back|close|exit)\b"
    r"|Showing detailed transcript|\(esc\)\s*$",
    re.IGNORECASE,
)
_DIALOGS = (
    ("Accessing workspace:", "trust"),
    ("Yes, I trust this folder", "trust"),
    ("Do you trust the files in this folder?", "trust"),
    ("Do you want to use this API key?", "api_key"),
    ("running in Bypass Permissions mode", "bypass_warning"),
    ("Choose the text style that looks best", "onboarding"),
    ("Security notes:", "onboarding"),
    ("Select login method:", "login"),
    ("Paste code here if prompted", "login"),
    ("Chat about this", "question"),
    ("Do you want to proceed?", "approval"),
    ("Would you like to proceed?", "approval"),
    ("Do you want to allow Claude to", "approval"),
)


def read_screen(plain: str, styled: str) -> Screen:
    """What the pane shows (2.1.167, 2.1.197, 2.1.332).

    Dialogs take the composer's place, so they are looked for only where there is none: nothing
    that the agent wrote above a composer can be mistaken for one.
    """
    lines = plain.split("\n")
    lines = lines[: last_filled(lines) + 1]
    top = _composer(lines)
    if top is None and (end_of_draft := _scrolled(lines)) is not None:
        return Screen(composer=Composer.DRAFT, draft=end_of_draft)
    if top is None:
        return Screen(dialog=_dialog(lines))
    end = next((i for i in range(top + 1, len(lines)) if _RULE.match(lines[i])), len(lines))
    below = lines[end + 1 :]
    # the footer shows the hint only while the composer is empty
    busy = True if any(_BUSY in line for line in below) else None
    if not lines[top].startswith(COMPOSER[0]):
        return Screen(composer=Composer.DRAFT, draft=_draft(lines[top:end]), busy=busy)
    draft = _draft(lines[top:end])[1:].lstrip("\xa0")
    if not draft or _is_suggestion(draft, bright_text(styled)[top:end]):
        return Screen(composer=Composer.EMPTY, busy=bool(busy))
    return Screen(composer=Composer.DRAFT, draft=draft, busy=busy)


def _composer(lines: list[str]) -> int | None:
    """The line on which the composer begins: below a rule, marked with a no-break space."""
    for index in range(len(lines) - 1, 0, -1):
        if lines[index].startswith(COMPOSER) and "──────" in lines[index - 1]:
            return index
        if lines[index] in ("\u276f", "!") and _RULE.match(lines[index - 1]):
            return index
    return None


def _scrolled(lines: list[str]) -> str | None:
    """What is to be seen of a draft whose beginning was scrolled out of sight."""
    top = max((i for i, line in enumerate(lines) if _SCROLLED.match(line)), default=None)
    if top is None:
        return None
    body = []
    for line in lines[top + 1 :]:
        if _RULE.match(line):
            break
        body.append(line.removeprefix("  ").rstrip())
    return "\n".join(body)


def _is_suggestion(draft: str, bright: list[str]) -> bool:
    """Whether all of the draft is dim, but for the first character under the cursor."""
    lit = "".join("".join(bright)[1:].split())
    return len(lit) <= 1 < len("".join(draft.split()))


def _draft(lines: list[str]) -> str:
    """What was typed: without the margin of two columns that every line but the first has."""
    body = [lines[0], *(line.removeprefix("  ") for line in lines[1:])]
    return "\n".join(line.rstrip() for line in body).rstrip()


def _dialog(lines: list[str]) -> str | None:
    """The dialog whose words stand lowest; `other` for one that has none of them."""
    text = "\n".join(lines)
    found = [(text.rfind(words), name) for words, name in _DIALOGS if words in text]
    if found:
        return max(found)[1]
    if _YES.search(text):
        return "approval"
    hinted = any(_KEY_HINT.search(line) for line in lines[-3:])
    chosen = any(_CHOICE.match(line) for line in lines)
    return "other" if hinted or (chosen and bool(lines)) else None
