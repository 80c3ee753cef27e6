"""What codex's screen shows: a dialog, the composer and its draft, the words of a failure."""

import re

from cuekit.activity.base import Composer, Screen
from cuekit.activity.screens import bright_text, last_filled

PROMPT = "\u203a"
FAILURE = "■"
INTERRUPTED = "Conversation interrupted"
BUSY_LINES = 14
"""How far from the bottom the line of progress may stand, above queued messages."""

_BUSY = re.compile(r"[•◦] .{0,80}\(\d.{0,20} • esc to interrupt")
_KEY_HINT = re.compile(
    r"\b(enter|esc) (to )?(confirm|continue|select|submit|cancel|skip|go back|back)\b",
    re.IGNORECASE,
)
_PAGER = re.compile(r"\s*q (to quit|close)\b")
_DIALOGS = (
    ("Do you trust the contents of this directory?", "trust"),
    ("Trust this folder?", "trust"),
    ("Sign in with ChatGPT", "login"),
    ("Provide your own API key", "login"),
    ("Hooks need review", "hooks_review"),
    ("Skip until next version", "update"),
    ("Try new model", "model_migration"),
    ("Use existing model", "model_migration"),
    ("Would you like to run the following command?", "approval"),
    ("Would you like to make the following edits?", "approval"),
    ("Would you like to grant these permissions?", "approval"),
    ("Would you like to send input to", "approval"),
    ("needs your approval.", "approval"),
    ("Allow Codex to run", "approval"),
    ("Allow Codex to apply proposed code changes?", "approval"),
)


def read_screen(plain: str, styled: str) -> Screen:
    """What the pane shows (0.133.0, 0.141.0, 0.171.0).

    Dialogs and the pager take the composer's place, so they are looked for only where the last
    line is their hint of keys: what the agent wrote above cannot be mistaken for one. While
    0.171.0 streams an answer its screen shows no progress, so that `busy` is never False.
    """
    lines = plain.split("\n")
    lines = lines[: last_filled(lines) + 1]
    if not lines or _PAGER.match(lines[-1]):
        return Screen()
    if _KEY_HINT.search(lines[-1]):
        return Screen(dialog=_dialog_name("\n".join(lines)))
    busy = True if any(_BUSY.match(line) for line in lines[-BUSY_LINES:]) else None
    prompt = max((i for i, line in enumerate(lines) if line.startswith(PROMPT)), default=None)
    if prompt is None:
        return Screen(busy=busy, failure=_failure(lines))
    failure = _failure(lines[:prompt])
    if _is_suggestion(lines[prompt], bright_text(styled)[prompt : prompt + 1]):
        return Screen(composer=Composer.EMPTY, busy=busy, failure=failure)
    return Screen(composer=Composer.DRAFT, draft=_draft(lines[prompt:]), busy=busy, failure=failure)


def _is_suggestion(line: str, bright: list[str]) -> bool:
    """Whether the composer shows its dim suggestion, which stands there only while it is empty.

    Nothing at all behind the prompt is a draft whose first line is blank.
    """
    return bool(line[1:].strip()) and bright != [] and not bright[0][1:].strip()


def _dialog_name(text: str) -> str:
    """The dialog whose words stand lowest; `other` for one that has none of them."""
    found = [(text.rfind(words), name) for words, name in _DIALOGS if words in text]
    return max(found)[1] if found else "other"


def _draft(lines: list[str]) -> str:
    """What was typed: from the prompt to the blank line above the footer."""
    body = [lines[0][1:].removeprefix(" "), *(line.removeprefix("  ") for line in lines[1:])]
    blank = max((i for i, line in enumerate(body) if not line.strip()), default=len(body))
    return "\n".join(line.rstrip() for line in body[:blank]).rstrip()


def _failure(lines: list[str]) -> str | None:
    """The newest block that begins with a square, if no prompt stands below it."""
    for index in range(len(lines) - 1, -1, -1):
        if lines[index].startswith(PROMPT):
            return None
        if lines[index].startswith(FAILURE):
            words = _block(lines[index:]).removeprefix(FAILURE).strip()
            return None if words.startswith(INTERRUPTED) else words
    return None


def _block(lines: list[str]) -> str:
    end = next((i for i, line in enumerate(lines) if not line.strip()), len(lines))
    return " ".join(line.strip() for line in lines[:end])
