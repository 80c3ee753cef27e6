"""Screens of the real codex, recorded from each version (fixtures/codex/VERSION/screens)."""

from pathlib import Path

import pytest

from cuekit.activity import codex
from cuekit.activity.base import Composer, Screen

FIXTURES = Path(__file__).parents[2] / "fixtures" / "codex"
VERSIONS = ("0.133.0", "0.141.0", "0.171.0")
EMPTY = Screen(composer=Composer.EMPTY)

EXPECTED = {
    "trust": Screen(dialog="trust"),
    "login": Screen(dialog="login"),
    "hooks-review": Screen(dialog="hooks_review"),
    "model-migration": Screen(dialog="model_migration"),
    "approval-command": Screen(dialog="approval"),
    "approval-patch": Screen(dialog="approval"),
    "dialog-model": Screen(dialog="other"),
    "overlay-transcript": Screen(),
    "composer-empty-fresh": EMPTY,
    "idle-after-turn": EMPTY,
    "interrupted": EMPTY,
    "shortcuts": EMPTY,
    "update": EMPTY,  # a mere note above the composer
    "update-dialog": Screen(dialog="update"),
    "composer-draft": Screen(composer=Composer.DRAFT, draft="a draft"),
    "composer-slash-popup": Screen(composer=Composer.DRAFT, draft="/mo"),
    "composer-draft-multiline": Screen(
        composer=Composer.DRAFT, draft="line one\nline two\n\nline four"
    ),
    "composer-draft-pasted": Screen(composer=Composer.DRAFT, draft="[Pasted Content 3001 chars]"),
    "busy-command": Screen(composer=Composer.EMPTY, busy=True),
    "failed-400": Screen(
        composer=Composer.EMPTY,
        failure='{"type": "error", "error": {"type": "api_error", "code": null, '
        '"message": "scripted failure four hundred"}}',
    ),
}

OLD_ONLY = {  # 0.171.0 shows no progress while an answer streams, and takes a steer at once
    "busy-streaming": Screen(composer=Composer.EMPTY, busy=True),
    "busy-steer-pending": Screen(composer=Composer.EMPTY, busy=True),
    "busy-draft": Screen(composer=Composer.DRAFT, draft="half a draft", busy=True),
}

CASES = [
    (version, name, screen)
    for version in VERSIONS
    for name, screen in (EXPECTED | ({} if version == "0.171.0" else OLD_ONLY)).items()
    if name != "model-migration" or version == "0.171.0"
]


def recorded(version: str, name: str) -> tuple[str, str]:
    folder = FIXTURES / version / "screens"
    return (
        (folder / f"{name}.txt").read_text(encoding="utf-8"),
        (folder / f"{name}.ansi").read_text(encoding="utf-8"),
    )


@pytest.mark.parametrize(("version", "name", "screen"), CASES)
def test_a_recorded_screen_is_read(version: str, name: str, screen: Screen) -> None:
    assert codex.read_screen(*recorded(version, name)) == screen


@pytest.mark.parametrize("version", VERSIONS)
def test_the_words_of_a_failure_are_read_from_the_screen(version: str) -> None:
    server = codex.read_screen(*recorded(version, "failed-500")).failure
    assert server is not None
    assert server.replace("\u2019", "'") == (
        "We're currently experiencing high demand, which may cause temporary errors."
    )
    key = codex.read_screen(*recorded(version, "failed-401")).failure
    assert key is not None
    assert key.startswith("unexpected status 401 Unauthorized: scripted failure four-o-one")


def test_a_screen_that_streams_does_not_claim_to_rest() -> None:
    screen = codex.read_screen(*recorded("0.171.0", "busy-streaming"))
    assert (screen.composer, screen.busy) == (Composer.EMPTY, None)


def test_words_of_a_dialog_in_an_answer_are_no_dialog() -> None:
    plain, styled = recorded("0.171.0", "idle-after-turn")
    told = (
        "• first answer\n  Would you like to run the following command?\n  Press enter to confirm"
    )
    screen = codex.read_screen(
        plain.replace("• first answer", told), styled.replace("• first answer", told)
    )
    assert screen.dialog is None


def test_a_draft_that_begins_with_a_blank_line_is_a_draft() -> None:
    plain, styled = recorded("0.133.0", "composer-draft")
    moved = "\n  a draft"
    screen = codex.read_screen(plain.replace(" a draft", moved), styled.replace(" a draft", moved))
    assert screen.composer is Composer.DRAFT


@pytest.mark.parametrize(
    "text", ["", "\n\n", "\x1b[", "\x1b[38;5;m\x1b[;;2m", "\u203a", "\u203a\n\n", "■", "\ud800"]
)
def test_a_strange_screen_is_no_error(text: str) -> None:
    codex.read_screen(text, text)
    codex.read_screen(text, "")
