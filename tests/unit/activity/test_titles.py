"""Titles and dialogs of gemini 0.61.0 and grok 1.0.41, as the facts about them name them."""

import pytest

from cuekit.activity import registry
from cuekit.activity.base import Composer, Screen
from cuekit.model.activity import Signal, SignalKind, Source


@pytest.mark.parametrize(
    ("kind", "title", "told"),
    [
        ("gemini", "◇  Ready (project)          ", SignalKind.IDLE),
        ("gemini", "✦  Working… (project)", SignalKind.WORKING),
        ("gemini", "✋  Action Required (project)", SignalKind.APPROVAL_REQUESTED),
        ("gemini", "", None),
        ("gemini", "bash", None),
        ("grok", "hello - grok", SignalKind.IDLE),
        ("grok", "\u2839 - Responding - hello - grok", SignalKind.WORKING),
        (
            "grok",
            "⚠ Action Required - \u283c - run it - hello - grok",
            SignalKind.APPROVAL_REQUESTED,
        ),
        ("grok", "grok", None),
    ],
)
def test_a_title_tells_the_state(kind: str, title: str, told: SignalKind | None) -> None:
    agent = registry.get(kind)
    assert agent is not None
    expected = None if told is None else Signal(told, Source.TITLE, 2.0)
    assert agent.title_signal(title, 2.0) == expected


@pytest.mark.parametrize(
    ("kind", "text", "screen"),
    [
        ("gemini", "Allow execution of [Shell]?\n 1. Allow once", Screen(dialog="approval")),
        ("gemini", "Do you trust the files in this folder?", Screen(dialog="trust")),
        (
            "gemini",
            " >   Type your message or @path/to/file",
            Screen(composer=Composer.EMPTY, busy=False),
        ),
        ("gemini", "⠧ Thinking... (esc to cancel, 1s)", Screen(busy=True)),
        (
            "grok",
            "\u276f 1. Yes, proceed\n  3. No, reject (type to add feedback)",
            Screen(dialog="approval"),
        ),
        ("grok", "│ \u276f             │", Screen(composer=Composer.EMPTY, busy=False)),
        (
            "grok",
            "│ \u276f half        │",
            Screen(composer=Composer.DRAFT, draft="half", busy=False),
        ),
    ],
)
def test_a_screen_is_read(kind: str, text: str, screen: Screen) -> None:
    agent = registry.get(kind)
    assert agent is not None
    assert agent.read_screen(text, text) == screen


@pytest.mark.parametrize("kind", ["gemini", "grok"])
def test_what_the_agent_would_act_on_is_refused(kind: str) -> None:
    agent = registry.get(kind)
    assert agent is not None
    assert agent.steer_plan("/x", None).refusal
    assert agent.steer_plan("x", None).pieces == ("x",)


def test_an_agent_without_a_module_has_none() -> None:
    assert registry.get("shell") is None
