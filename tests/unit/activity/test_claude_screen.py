"""Screens of the real claude, recorded from each version (fixtures/claude/VERSION/screens)."""

from pathlib import Path

import pytest

from cuekit.activity import claude_code
from cuekit.activity.base import Composer, Screen

FIXTURES = Path(__file__).parents[2] / "fixtures" / "claude"
VERSIONS = ("2.1.167", "2.1.197", "2.1.332")
EMPTY = Screen(composer=Composer.EMPTY, busy=False)
BUSY = Screen(composer=Composer.EMPTY, busy=True)


def draft(text: str) -> Screen:
    return Screen(composer=Composer.DRAFT, draft=text)


EXPECTED = {
    "trust": Screen(dialog="trust"),
    "api-key": Screen(dialog="api_key"),
    "bypass-warning": Screen(dialog="bypass_warning"),
    "onboarding-theme": Screen(dialog="onboarding"),
    "onboarding-security": Screen(dialog="onboarding"),
    "login": Screen(dialog="login"),
    "settings-error": Screen(dialog="other"),
    "dialog-model": Screen(dialog="other"),
    "dialog-config": Screen(dialog="other"),
    "overlay-transcript": Screen(dialog="other"),
    "question": Screen(dialog="question"),
    "approval-bash": Screen(dialog="approval"),
    "approval-write": Screen(dialog="approval"),
    "approval-edit": Screen(dialog="approval"),
    "approval-fetch": Screen(dialog="approval"),
    "approval-read": Screen(dialog="approval"),
    "approval-plan": Screen(dialog="approval"),
    "composer-fresh": EMPTY,
    "composer-shortcuts": EMPTY,
    "idle": EMPTY,
    "interrupted": EMPTY,
    "failed-500": EMPTY,  # 2.1.332 shows a dim suggestion in the composer then
    "busy": BUSY,
    "busy-queued": BUSY,  # with the dim "Press up to edit queued messages"
    "busy-tool": BUSY,
    "busy-draft": draft("typed while busy"),
    "composer-draft": draft("a half typed draft"),
    "composer-draft-pasted": draft("[Pasted text #1 +3 lines]"),
    "composer-slash-menu": draft("/"),
    "composer-shell-mode": draft("!"),
}

CASES = [
    (version, name, screen)
    for version in VERSIONS
    for name, screen in EXPECTED.items()
    if (version, name) != ("2.1.332", "busy-tool")
]


def recorded(version: str, name: str) -> tuple[str, str]:
    folder = FIXTURES / version / "screens"
    return (
        (folder / f"{name}.txt").read_text(encoding="utf-8"),
        (folder / f"{name}.ansi").read_text(encoding="utf-8"),
    )


@pytest.mark.parametrize(("version", "name", "screen"), CASES)
def test_a_recorded_screen_is_read(version: str, name: str, screen: Screen) -> None:
    assert claude_code.read_screen(*recorded(version, name)) == screen


def test_a_draft_of_many_lines_is_read_whole() -> None:
    rule = "─" * 40
    plain = f"● done\n\n{rule}\n\u276f\xa0one\n  two\n\n  four\n{rule}\n  ? for shortcuts\n"
    assert claude_code.read_screen(plain, plain) == draft("one\ntwo\n\nfour")


def test_a_draft_of_one_sign_is_no_suggestion() -> None:
    rule = "─" * 40
    plain = f"{rule}\n\u276f\xa0@\n{rule}\n"
    styled = f"{rule}\n\u276f\xa0@ \x1b[7m \x1b[0m\n{rule}\n"
    assert claude_code.read_screen(plain, styled) == draft("@")


def test_words_of_a_dialog_above_a_composer_are_no_dialog() -> None:
    rule = "─" * 40
    said = "● It asks: Do you want to proceed?\n  \u276f 1. Yes\n    2. No\n  Esc to cancel\n"
    plain = f"{said}{rule}\n\u276f\xa0\n{rule}\n"
    assert claude_code.read_screen(plain, plain) == EMPTY


@pytest.mark.parametrize("plain", ["", "\n\n", "$ ls\nREADME.md\n", "─" * 20, "\u276f\xa0", "\xa0"])
def test_a_screen_that_is_not_claudes_says_nothing(plain: str) -> None:
    assert claude_code.read_screen(plain, plain) == Screen()
