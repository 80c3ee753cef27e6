"""Decoding what real claude wrote: exactly the recorded events, and never an exception."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols import event_models
from cuekit.protocols.decode_claude import Decoder
from tests.support.recorder.claude_scripts import SCENARIOS
from tests.support.recorder.files import FIXTURES, decode, read_lines
from tests.support.recorder.scenarios_claude import versions

RECORDED = sorted((FIXTURES / "claude").glob("*/[0-9][0-9]-*.ndjson"))
LINES = [line for path in RECORDED[:25] for mark, line in read_lines(path) if mark == "<"]
SESSION = {"type": "system", "subtype": "init", "session_id": "s", "permissionMode": "default"}


def one(message: dict[str, Any], decoder: Decoder | None = None) -> list[AgentEvent]:
    return (decoder or Decoder()).decode_line(json.dumps(message).encode())


def call(name: str, values: dict[str, Any], tool_id: str = "t1") -> dict[str, Any]:
    block = {"type": "tool_use", "id": tool_id, "name": name, "input": values}
    return {"type": "assistant", "message": {"id": "m", "content": [block]}}


def result_of(details: Any, tool_id: str = "t1", **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": tool_id, "content": "ok", **more}
    return {"type": "user", "message": {"content": [block]}, "tool_use_result": details}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_recorded_stream_gives_exactly_its_golden_events(path: Path) -> None:
    golden = json.loads(path.with_suffix(".events.json").read_text(encoding="utf-8"))

    events = decode(read_lines(path), Decoder)

    assert [[str(kind), values] for kind, values in events] == golden
    for event in events:
        event_models.validate(event)


def test_every_scenario_is_recorded_for_every_version() -> None:
    found = {(path.parent.name, path.stem) for path in RECORDED}

    assert found == {(version, s.name) for version in versions() for s in SCENARIOS}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_nothing_that_real_claude_wrote_is_unknown(path: Path) -> None:
    assert [e for e in decode(read_lines(path), Decoder) if e.kind is EventKind.RAW] == []


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_turns_begin_and_end_in_pairs(path: Path) -> None:
    kinds = [event.kind for event in decode(read_lines(path), Decoder)]
    turns = [k for k in kinds if k in (EventKind.TURN_STARTED, EventKind.TURN_COMPLETED)]

    assert turns == [EventKind.TURN_STARTED, EventKind.TURN_COMPLETED] * (len(turns) // 2)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_pieces_of_a_text_are_the_whole_text(path: Path) -> None:
    pieces: dict[str, str] = {}
    for kind, values in decode(read_lines(path), Decoder):
        if kind not in (EventKind.ASSISTANT_TEXT, EventKind.THINKING):
            continue
        if values["partial"]:
            pieces[values["item_id"]] = pieces.get(values["item_id"], "") + values["text"]
        elif values["item_id"] in pieces:
            assert pieces[values["item_id"]] == values["text"]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"garbage",
        b'{"type":',
        b"[1,2]",
        b"null",
        b'"text"',
        b"\xff\xfe\x00",
        b'{"type": NaN}',
        b"[" * 100_000,
        b'{"type": {}}',
        b'{"type": 3}',
    ],
)
def test_a_line_that_is_no_message_is_kept_whole_as_raw(line: bytes) -> None:
    (event,) = Decoder().decode_line(line)

    assert event.kind is EventKind.RAW
    assert event.values["native"] in (line.decode("utf-8", "replace"), *_parsed(line))


def _parsed(line: bytes) -> list[Any]:
    try:
        return [json.loads(line)]
    except (ValueError, RecursionError):
        return []


@pytest.mark.parametrize(
    "message",
    [
        {"type": "no_such_type", "a": 1},
        {"type": "system"},
        {"type": "system", "subtype": "no_such_subtype"},
        {"type": "system", "subtype": "init"},
        {"type": "assistant", "message": {"id": "m", "content": [{"type": "no_such_block"}]}},
        {"type": "assistant", "message": {"id": "m", "content": None}},
        {"type": "assistant", "message": None},
        {"type": "assistant", "message": {"id": 5, "content": []}},
        {"type": "user", "message": {"content": [{"type": "tool_result"}]}},
        {"type": "user", "message": {"content": 5}},
        {"type": "stream_event", "event": {"type": "no_such_event"}},
        {"type": "stream_event", "event": {"type": "content_block_delta", "index": 0}},
        {"type": "stream_event"},
        {"type": "stream_event", "event": {"type": "ping"}, "parent_tool_use_id": 5},
        {"type": "control_request", "request": {"subtype": "no_such_request"}},
        {"type": "control_request"},
        {"some": "thing"},
    ],
)
def test_an_unknown_or_broken_message_is_raw_and_whole(message: dict[str, Any]) -> None:
    assert one(message) == [AgentEvent(EventKind.RAW, {"native": message})]


def test_only_another_id_makes_a_new_session() -> None:
    decoder = Decoder()

    first = [event.kind for event in one(SESSION, decoder)]
    one({"type": "result", "subtype": "success", "is_error": False}, decoder)
    again = [event.kind for event in one(SESSION, decoder)]
    other = [event.kind for event in one({**SESSION, "session_id": "other"}, decoder)]

    assert first == [EventKind.SESSION_STARTED, EventKind.TURN_STARTED]
    assert again == [EventKind.TURN_STARTED]
    assert other == [EventKind.SESSION_STARTED]


def test_an_edit_gives_its_native_patch_as_a_diff() -> None:
    decoder = Decoder()
    one(call("Edit", {"file_path": "/p/a", "old_string": "b", "new_string": "c"}), decoder)
    hunk = {"oldStart": 3, "oldLines": 2, "newStart": 3, "newLines": 2}
    patch = [{**hunk, "lines": [" a", "-b", "+c"]}]
    details = {"filePath": "/p/a", "originalFile": "a\nb\n", "structuredPatch": patch}

    changes = [e for e in one(result_of(details), decoder) if e.kind is EventKind.FILE_CHANGE]

    values = {
        "path": "/p/a",
        "change": "update",
        "source": "native",
        "diff": "@@ -3,2 +3,2 @@\n a\n-b\n+c\n",
        "tool_id": "t1",
    }
    assert changes == [AgentEvent(EventKind.FILE_CHANGE, values)]


@pytest.mark.parametrize(
    ("content", "diff"),
    [
        ("one\ntwo\n", "@@ -0,0 +1,2 @@\n+one\n+two\n"),
        ("one", "@@ -0,0 +1,1 @@\n+one\n\\ No newline at end of file\n"),
        ("", None),
    ],
)
def test_a_new_file_is_a_diff_of_its_lines(content: str, diff: str | None) -> None:
    decoder = Decoder()
    one(call("Write", {"file_path": "/p/a", "content": content}), decoder)
    details = {"type": "create", "filePath": "/p/a", "content": content, "structuredPatch": []}

    (change,) = [e for e in one(result_of(details), decoder) if e.kind is EventKind.FILE_CHANGE]

    assert (change.values["change"], change.values.get("diff")) == ("add", diff)


def test_a_change_that_claude_does_not_tell_of_is_inferred_from_the_call() -> None:
    decoder = Decoder()
    one(call("NotebookEdit", {"notebook_path": "/p/n.ipynb", "new_source": "1"}), decoder)

    (_, change) = one(result_of({"new_source": "1"}), decoder)

    values = {"path": "/p/n.ipynb", "change": "update", "source": "inferred", "tool_id": "t1"}
    assert change == AgentEvent(EventKind.FILE_CHANGE, values)


def test_a_call_that_failed_has_changed_no_file() -> None:
    decoder = Decoder()
    one(call("Edit", {"file_path": "/p/a"}), decoder)

    events = one(result_of("Error: no such file", is_error=True), decoder)

    assert [event.kind for event in events] == [EventKind.TOOL_RESULT]


def test_an_mcp_tool_is_named_by_server_and_tool() -> None:
    (started, _) = one(call("mcp__files__read_all", {"a": 1}))

    assert started.values == {
        "tool_id": "t1",
        "tool": "mcp",
        "native_tool": "mcp__files__read_all",
        "input": {"server": "files", "tool": "read_all", "arguments": {"a": 1}},
    }


def test_a_result_that_is_no_text_is_named() -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "image", "source": {}}]

    (event,) = one(result_of(None, content=blocks))

    assert event.values["text"] == "a\n[image]"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"is_error": False}, {"outcome": "completed"}),
        (
            {"is_error": True, "result": "API Error: 500", "api_error_status": 500},
            {"outcome": "failed", "message": "API Error: 500", "code": "api_error"},
        ),
        (
            {"is_error": True, "subtype": "error_max_turns", "errors": ["Reached it"]},
            {"outcome": "failed", "message": "Reached it", "code": "error_max_turns"},
        ),
        ({"is_error": True, "terminal_reason": "aborted_tools"}, {"outcome": "interrupted"}),
        ({"is_error": True, "terminal_reason": "aborted_streaming"}, {"outcome": "interrupted"}),
    ],
)
def test_a_turn_is_judged_by_is_error(values: dict[str, Any], expected: dict[str, Any]) -> None:
    events = one({"type": "result", "subtype": "success", **values})

    assert events[-1] == AgentEvent(EventKind.TURN_COMPLETED, expected)


@pytest.mark.parametrize("values", [{}, {"is_error": False, "usage": {"input_tokens": "many"}}])
def test_a_result_that_cannot_be_read_ends_the_turn_all_the_same(values: dict[str, Any]) -> None:
    message = {"type": "result", "subtype": "success", "total_cost_usd": "much", **values}
    decoder = Decoder()

    events = [*one(SESSION, decoder), *one(message, decoder)]

    assert [event.kind for event in events[1:]] == [
        EventKind.TURN_STARTED,
        EventKind.RAW,
        EventKind.TURN_COMPLETED,
    ]
    assert events[-1].values["outcome"] == "failed"
    ended = {"type": "result", "subtype": "success", "is_error": False}
    assert one(ended, decoder)[-1].values == {"outcome": "completed"}


def test_the_cost_is_told_by_the_turn() -> None:
    decoder = Decoder()
    costs = []
    for total in (0.1, 0.3):
        tokens = {"input_tokens": 1, "output_tokens": 2}
        result = {"type": "result", "subtype": "success", "is_error": False, "usage": tokens}
        events = one({**result, "total_cost_usd": total}, decoder)
        costs += [e.values["cost_usd"] for e in events if e.kind is EventKind.USAGE]

    assert costs == [0.1, 0.2]


def test_a_first_refused_key_is_no_retry() -> None:
    retry = {"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10}

    (refused,) = one({**retry, "error_status": 401, "error": "authentication_failed"})
    (busy,) = one({**retry, "error_status": 529, "error": "overloaded", "retry_delay_ms": 600})

    assert (refused.values["code"], refused.values["recoverable"]) == ("not_signed_in", False)
    words = "the model's server failed (529 overloaded); try 1 of 10 in 0.6 s"
    assert busy.values == {"message": words, "recoverable": True, "code": "overloaded"}


def test_a_subagents_words_are_marked_with_the_call_that_started_it() -> None:
    said = {"type": "text", "text": "hi"}
    line = {"type": "assistant", "message": {"id": "m", "content": [said]}}

    (event,) = one({**line, "parent_tool_use_id": "t9"})

    assert event.values["parent_tool_id"] == "t9"


@given(data=st.data())
def test_a_cut_or_garbled_stream_is_decoded_without_an_exception(data: st.DataObject) -> None:
    decoder = Decoder()
    for line in data.draw(st.lists(st.sampled_from(LINES), max_size=12)):
        start = data.draw(st.integers(0, len(line)))
        garbage = data.draw(st.binary(max_size=4))
        cut = data.draw(st.sampled_from([line[:start], line[:start] + garbage + line[start:]]))
        for event in decoder.decode_line(cut):
            event_models.validate(event)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(data=st.data())
def test_fields_of_any_type_are_decoded_to_valid_events(data: st.DataObject) -> None:
    message = json.loads(data.draw(st.sampled_from(LINES)))
    holder = message
    for _ in range(data.draw(st.integers(1, 5))):
        if isinstance(holder, dict) and holder:
            name = data.draw(st.sampled_from(sorted(holder)))
        elif isinstance(holder, list) and holder:
            name = data.draw(st.integers(0, len(holder) - 1))
        else:
            break
        parent, holder = holder, holder[name]
    parent[name] = data.draw(JSON)

    for event in Decoder().decode(message):
        event_models.validate(event)
