"""Hook messages and session logs of the real claude, recorded from each version."""

import json
from pathlib import Path

import pytest

from cuekit.activity import claude_code, registry
from cuekit.model.activity import Activity, Progress, Signal, SignalKind, Source, reduce

FIXTURES = Path(__file__).parents[2] / "fixtures" / "claude"
VERSIONS = ("2.1.167", "2.1.197", "2.1.332")
FAILED = "API Error: 500 Internal server error."


def hooks(version: str, event: str, tool: str | None = None) -> list[Signal]:
    """The signals of the first recorded call of this hook."""
    lines = (FIXTURES / version / "hooks.jsonl").read_text(encoding="utf-8").splitlines()
    for call in map(json.loads, lines):
        if call["event"] == event and call["payload"].get("tool_name") == tool:
            return claude_code.hook_signals(event, call["payload"], 5.0)
    raise AssertionError(f"{version} has no recorded {event} {tool}")


def told(version: str) -> list[tuple[SignalKind, str | None]]:
    """What the recorded log tells, line by line."""
    lines = (FIXTURES / version / "session.jsonl").read_bytes().split(b"\n")
    return [(s.kind, s.text) for line in lines for s in claude_code.log_signals(line, 5.0)]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_start_names_the_session_and_its_log(version: str) -> None:
    (start,) = hooks(version, "SessionStart")
    assert (start.kind, start.source) == (SignalKind.SESSION_STARTED, Source.HOOK)
    assert start.session_id is not None
    assert start.log_path == (
        f"/home/dev/.claude/projects/-home-dev-project/{start.session_id}.jsonl"
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_each_hook_tells_its_part_of_a_turn(version: str) -> None:
    events = [
        ("UserPromptSubmit", None),
        ("PreToolUse", "Bash"),
        ("PermissionRequest", "Bash"),
        ("PostToolUse", "Bash"),
        ("PostToolUseFailure", "Bash"),
        ("PermissionRequest", "AskUserQuestion"),
        ("Stop", None),
        ("SessionEnd", None),
    ]
    seen = [(s.kind, s.tool, s.text) for e, t in events for s in hooks(version, e, t)]
    assert seen == [
        (SignalKind.PROMPT_ACCEPTED, None, "do ONE"),
        (SignalKind.WORKING, "Bash", None),
        (SignalKind.APPROVAL_REQUESTED, "Bash", None),
        (SignalKind.WORKING, "Bash", None),
        (SignalKind.WORKING, "Bash", None),
        (SignalKind.DIALOG, None, "question"),
        (SignalKind.TURN_COMPLETED, None, "done"),
        (SignalKind.SESSION_ENDED, None, None),
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_failed_turn_has_claudes_own_words(version: str) -> None:
    (failed,) = hooks(version, "StopFailure")
    assert failed.kind is SignalKind.TURN_FAILED
    assert failed.text is not None
    assert failed.text.startswith(FAILED)


def test_a_turn_that_leaves_subagents_at_work_is_not_the_last_word() -> None:
    task = {"type": "subagent", "status": "running"}
    payload = {"last_assistant_message": "they are at it", "background_tasks": [task]}
    progress = Progress()
    for signal in claude_code.hook_signals("Stop", payload, 5.0):
        progress = reduce(progress, signal)
    assert (progress.activity, progress.summary) == (Activity.WORKING, "they are at it")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_log_tells_of_interruptions_failures_and_queued_messages(version: str) -> None:
    found = told(version)
    # Escape while it answered, at a dialog, by the "No" of a dialog, while a tool ran
    assert [kind for kind, _ in found][:2] == [SignalKind.TURN_INTERRUPTED] * 2
    words = [text for kind, text in found if kind is SignalKind.TURN_FAILED and text]
    assert words[0].startswith(FAILED)
    assert "Invalid API key · Fix external API key" in words
    taken = [text for kind, text in found if kind is SignalKind.PROMPT_ACCEPTED]
    assert taken == ["do QUEUED", "do QUEUED", "MIDTURN message"]


def test_a_message_that_quotes_an_interruption_is_none() -> None:
    quoted = {"type": "user", "message": {"content": "[Request interrupted by user]"}}
    in_subagent = {
        "type": "user",
        "isSidechain": True,
        "message": {"content": [{"type": "text", "text": "[Request interrupted by user]"}]},
    }
    for record in (quoted, in_subagent):
        assert claude_code.log_signals(json.dumps(record).encode(), 5.0) == []


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("\u2802 Claude Code", SignalKind.WORKING),
        ("\u2810 Fix the parser", SignalKind.WORKING),
        ("◑ Claude Code", SignalKind.WORKING),
        ("✳ Claude Code", SignalKind.AT_REST),
        ("vm", None),
        ("", None),
        ("Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA", None),
    ],
)
def test_the_title_tells_work_from_rest(title: str, kind: SignalKind | None) -> None:
    signal = claude_code.title_signal(title, 5.0)
    assert (signal and signal.kind) == kind


def test_a_title_at_rest_ends_a_turn_that_nothing_else_ended() -> None:
    began = reduce(Progress(), Signal(SignalKind.PROMPT_ACCEPTED, Source.HOOK, 1.0))
    rest = Signal(SignalKind.AT_REST, Source.TITLE, 3.0)
    assert reduce(began, rest) == Progress(
        Activity.IDLE, 3.0, Source.TITLE, turn=1, last_turn="interrupted"
    )
    asks = reduce(began, Signal(SignalKind.APPROVAL_REQUESTED, Source.HOOK, 2.0, tool="Bash"))
    assert reduce(asks, rest) == asks


@pytest.mark.parametrize("line", [b"", b"{", b"[1]", b'"queued"', b'{"type":"user","queued":[]}'])
def test_a_broken_line_tells_nothing(line: bytes) -> None:
    assert claude_code.log_signals(line, 5.0) == []


def test_unknown_and_broken_hook_messages_tell_nothing() -> None:
    assert claude_code.hook_signals("PreCompact", {}, 5.0) == []
    broken = claude_code.hook_signals("Stop", {"background_tasks": "x", "session_id": 7}, 5.0)
    assert broken == [Signal(SignalKind.TURN_COMPLETED, Source.HOOK, 5.0)]


def test_the_kind_finds_this_module() -> None:
    assert registry.get("claude-code") is claude_code


STATE = {"pid": 7, "sessionId": "s1", "updatedAt": 1_000_500, "statusUpdatedAt": 1_000_000}


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"status": "busy"}, SignalKind.WORKING),
        ({"status": "idle"}, SignalKind.AT_REST),
        ({"status": "waiting", "waitingFor": "permission prompt"}, SignalKind.APPROVAL_REQUESTED),
        ({"status": "waiting", "waitingFor": "dialog open"}, None),
        ({"status": "busy", "sessionId": "another"}, None),
    ],
)
def test_the_state_file_of_the_process_tells_work_from_rest(
    more: dict[str, str], kind: SignalKind | None
) -> None:
    expected = None if kind is None else Signal(kind, Source.SESSION_LOG, 1000.0)
    assert claude_code.status_signal(json.dumps(STATE | more).encode(), "s1") == expected


def test_the_state_files_are_beside_the_logs() -> None:
    log = "/home/dev/.claude/projects/-home-dev-project/s1.jsonl"
    assert claude_code.status_folder(log) == "/home/dev/.claude/sessions"
    assert claude_code.status_folder("/elsewhere/s1.jsonl") is None
