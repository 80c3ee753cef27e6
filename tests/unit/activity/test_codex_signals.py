"""Hook calls and rollout lines of the real codex (fixtures/codex/VERSION), and its titles."""

import json
from pathlib import Path
from typing import Any

import pytest

from cuekit.activity import codex
from cuekit.model.activity import Activity, Progress, Signal, SignalKind, Source, reduce

FIXTURES = Path(__file__).parents[2] / "fixtures" / "codex"
VERSIONS = ("0.133.0", "0.141.0", "0.171.0")
WORDS = "We\u2019re currently experiencing high demand, which may cause temporary errors."


def hook_calls(version: str) -> list[tuple[str, dict[str, Any]]]:
    lines = (FIXTURES / version / "hooks.jsonl").read_text(encoding="utf-8").splitlines()
    calls = [json.loads(line) for line in lines]
    return [(call["event"], call["payload"]) for call in calls]


def told(signals: list[Signal]) -> list[tuple[SignalKind, str | None]]:
    return [(signal.kind, signal.text or signal.tool) for signal in signals]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_hooks_of_a_session_tell_its_course(version: str) -> None:
    signals = [
        signal
        for event, payload in hook_calls(version)
        for signal in codex.hook_signals(event, payload, 5.0)
    ]
    newest = version == "0.171.0"
    assert told(signals) == [
        (SignalKind.SESSION_STARTED, None),
        (SignalKind.PROMPT_ACCEPTED, "hello one"),
        (SignalKind.TURN_COMPLETED, "first answer"),
        (SignalKind.PROMPT_ACCEPTED, "do a tool"),
        (SignalKind.WORKING, "Bash"),
        (SignalKind.APPROVAL_REQUESTED, "Bash"),
        (SignalKind.WORKING, "Bash"),
        (SignalKind.TURN_COMPLETED, "ran it"),
        (SignalKind.PROMPT_ACCEPTED, "be slow"),
        *([(SignalKind.TURN_INTERRUPTED, None)] if newest else []),
        (SignalKind.PROMPT_ACCEPTED, "fail"),
        (SignalKind.PROMPT_ACCEPTED, "empty"),
        (SignalKind.TURN_COMPLETED, None),
        *([(SignalKind.SESSION_ENDED, None)] if newest else []),
    ]
    first = signals[0]
    assert first.session_id
    assert first.log_path
    assert first.log_path.endswith(f"{first.session_id}.jsonl")
    assert {(s.session_id, s.source, s.at) for s in signals} == {
        (first.session_id, Source.HOOK, 5.0)
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_the_rollout_tells_how_each_turn_ended(version: str) -> None:
    lines = (FIXTURES / version / "rollout.jsonl").read_bytes().splitlines()
    signals = [signal for line in lines for signal in codex.log_signals(line, 6.0)]
    assert told(signals) == [
        (SignalKind.TURN_COMPLETED, "first answer"),
        (SignalKind.TURN_COMPLETED, "ran it"),
        (SignalKind.TURN_INTERRUPTED, None),
        (SignalKind.TURN_FAILED, WORDS if version == "0.171.0" else None),
        (SignalKind.TURN_FAILED, None),  # the empty answer; its Stop hook came before
    ]
    assert {(s.source, s.at) for s in signals} == {(Source.SESSION_LOG, 6.0)}


def test_an_empty_answer_is_a_completed_turn_when_hook_and_rollout_are_joined() -> None:
    progress = Progress()
    lines = (FIXTURES / "0.133.0" / "rollout.jsonl").read_bytes().splitlines()
    for signal in (
        *codex.hook_signals("UserPromptSubmit", {"prompt": "empty"}, 1.0),
        *codex.hook_signals("Stop", {"last_assistant_message": None}, 2.0),
        *codex.log_signals(lines[-1], 2.1),
    ):
        progress = reduce(progress, signal)
    assert (progress.activity, progress.last_turn) == (Activity.IDLE, "completed")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"task_complete",
        b'"task_complete"',
        b'["turn_aborted"]',
        b'{"type":"event_msg","payload":"task_complete"}',
        b'{"type":"response_item","payload":{"type":"task_complete"}}',
        b'{"type":"event_msg","payload":{"type":["turn_aborted"]}}',
        b"[" * 100_000 + b"task_complete",
        b"\xff\xfe task_complete",
    ],
)
def test_a_strange_line_says_nothing(line: bytes) -> None:
    assert codex.log_signals(line, 1.0) == []


@pytest.mark.parametrize(
    ("event", "payload"),
    [("", {}), ("Notification", {}), ("stop", {}), ("PreCompact", {"session_id": "x"})],
)
def test_an_unknown_hook_says_nothing(event: str, payload: dict[str, Any]) -> None:
    assert codex.hook_signals(event, payload, 1.0) == []


def test_a_hook_with_values_of_the_wrong_kind_still_tells_its_event() -> None:
    odd = {"session_id": 7, "transcript_path": None, "prompt": ["x"]}
    assert codex.hook_signals("UserPromptSubmit", odd, 1.0) == [
        Signal(SignalKind.PROMPT_ACCEPTED, Source.HOOK, 1.0)
    ]


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("\u2839 project", SignalKind.WORKING),
        ("\u2819 Scripted title | project", SignalKind.WORKING),
        ("[ ! ] Action Required | project", SignalKind.APPROVAL_REQUESTED),
        ("[ . ] Action Required | Scripted title | project", SignalKind.APPROVAL_REQUESTED),
        ("project", SignalKind.IDLE),
        ("Scripted title | project", SignalKind.IDLE),
        ("", None),
        (" ", None),
    ],
)
def test_the_title_tells_the_state(title: str, kind: SignalKind | None) -> None:
    expected = None if kind is None else Signal(kind, Source.TITLE, 1.0)
    assert codex.title_signal(title, 1.0) == expected


MAIN, SUB = "01a22ff4-2616-7612-a47d-73a545cffb0e", "01a22ff4-2b0c-7af0-b173-9074c730cf57"


@pytest.mark.parametrize("named", [{}, {"agent_id": SUB, "agent_type": "default"}])
def test_a_sub_agent_tells_nothing_but_its_questions(named: dict[str, str]) -> None:
    payload = {
        "session_id": MAIN,
        "transcript_path": f"/home/user/.codex/sessions/2026/12/01/rollout-2026-12-01-{SUB}.jsonl",
        "prompt": "a part of the task",
        "tool_name": "Bash",
        **named,
    }
    for event in ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "Interrupt"):
        assert codex.hook_signals(event, payload, 1.0) == []
    assert codex.hook_signals("PermissionRequest", payload, 1.0) == [
        Signal(SignalKind.APPROVAL_REQUESTED, Source.HOOK, 1.0, session_id=MAIN, tool="Bash")
    ]
