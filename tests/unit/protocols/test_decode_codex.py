"""Decoding what real codex wrote: exactly the recorded events, and never an exception."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols import decode_codex, decode_codex_exec, event_models
from tests.support.recorder.files import FIXTURES, decode, read_lines
from tests.support.recorder.plug import Decoder

RECORDED = sorted((FIXTURES / "codex").glob("*/*.ndjson"))
LINES = [line for path in RECORDED[:20] for mark, line in read_lines(path) if mark == "<"]
DECODERS = (decode_codex.Decoder, decode_codex_exec.Decoder)


def new_decoder(path: Path) -> Decoder:
    return decode_codex_exec.Decoder() if "-exec-" in path.name else decode_codex.Decoder()


def one(message: dict[str, Any], decoder: Decoder | None = None) -> list[AgentEvent]:
    line = json.dumps(message).encode()
    return (decoder or decode_codex.Decoder()).decode_line(line)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_recorded_stream_gives_exactly_its_golden_events(path: Path) -> None:
    golden = json.loads(path.with_suffix(".events.json").read_text(encoding="utf-8"))

    events = decode(read_lines(path), lambda: new_decoder(path))

    assert [[str(kind), values] for kind, values in events] == golden
    for event in events:
        event_models.validate(event)


def test_every_version_and_dialect_is_recorded() -> None:
    found = {(path.parent.name, "-exec-" in path.name) for path in RECORDED}

    assert found == {(v, d) for v in ("0.133.0", "0.141.0", "0.171.0") for d in (True, False)}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_nothing_that_real_codex_wrote_is_unknown(path: Path) -> None:
    events = decode(read_lines(path), lambda: new_decoder(path))

    assert [event for event in events if event.kind is EventKind.RAW] == []


@pytest.mark.parametrize("new", DECODERS)
@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"garbage",
        b'{"method":',
        b"[1,2]",
        b"null",
        b'"text"',
        b"\xff\xfe\x00",
        b'{"method": NaN}',
        b"[" * 100_000,
        b'{"type": {}}',
        b'{"method": 3, "params": []}',
    ],
)
def test_a_line_that_is_no_message_is_kept_whole_as_raw(new: Any, line: bytes) -> None:
    (event,) = new().decode_line(line)

    assert event.kind is EventKind.RAW
    native = event.values["native"]
    assert native in (line.decode("utf-8", "replace"), *_parsed(line))


def _parsed(line: bytes) -> list[Any]:
    try:
        return [json.loads(line)]
    except (ValueError, RecursionError):
        return []


@pytest.mark.parametrize(
    "message",
    [
        {"method": "no/such", "params": {"a": 1}},
        {"method": "item/started", "params": {"item": {"type": "noSuchItem", "id": "1"}}},
        {"method": "item/agentMessage/delta", "params": {"itemId": "1", "delta": 5}},
        {"method": "item/agentMessage/delta", "params": None},
        {"method": "item/agentMessage/delta"},
        {"method": "turn/completed", "params": {"turn": {"id": "1"}}},
        {"method": "no/such/request", "id": 0, "params": {}},
        {"id": 4},
        {"some": "thing"},
    ],
)
def test_an_unknown_or_broken_message_is_raw_and_whole(message: dict[str, Any]) -> None:
    assert one(message) == [AgentEvent(EventKind.RAW, {"native": message})]


def test_a_turn_that_ends_in_an_unknown_way_has_ended_and_not_well() -> None:
    params = {"turn": {"id": "t", "status": "paused"}}
    message = {"method": "turn/completed", "params": params}

    assert one(message) == [
        AgentEvent(EventKind.RAW, {"native": message}),
        AgentEvent(
            EventKind.TURN_COMPLETED,
            {"outcome": "failed", "agent_turn_id": "t", "message": "the turn ended as 'paused'"},
        ),
    ]


def test_a_subagents_turn_is_not_ours_and_its_words_are_marked() -> None:
    decoder = decode_codex.Decoder()
    decoder.decode_line(b'{"id":1,"result":{"thread":{"id":"main"}}}')
    turn = {"threadId": "other", "turn": {"id": "t", "status": "completed"}}
    delta = {"threadId": "other", "turnId": "t", "itemId": "i", "delta": "hi"}

    ended = one({"method": "turn/completed", "params": turn}, decoder)
    said = one({"method": "item/agentMessage/delta", "params": delta}, decoder)

    assert [event.kind for event in ended] == [EventKind.STATUS]
    values = {"text": "hi", "partial": True, "item_id": "i", "parent_tool_id": "other"}
    assert said == [AgentEvent(EventKind.ASSISTANT_TEXT, values)]


def test_output_that_only_its_pieces_told_is_the_result() -> None:
    decoder = decode_codex.Decoder()
    for piece in ("a", "b"):
        delta = {"itemId": "c", "delta": piece}
        one({"method": "item/commandExecution/outputDelta", "params": delta}, decoder)
    item = {"type": "commandExecution", "id": "c", "command": "x", "status": "completed"}

    events = one({"method": "item/completed", "params": {"item": item}}, decoder)

    assert [event.kind for event in events] == [
        EventKind.TOOL_CALL_STARTED,
        EventKind.TOOL_RESULT,
    ]
    assert events[1].values["text"] == "ab"


def test_broken_utf8_is_read_leniently() -> None:
    line = b'{"method":"item/agentMessage/delta","params":{"itemId":"1","delta":"a\xffb"}}'

    (event,) = decode_codex.Decoder().decode_line(line)

    assert event.values["text"] == "a\ufffdb"


def test_fifty_megabytes_in_one_line_are_one_event() -> None:
    text = "x" * 50_000_000
    item = {"type": "agentMessage", "id": "1", "text": text}

    (event,) = one({"method": "item/completed", "params": {"item": item}})

    assert event == AgentEvent(
        EventKind.ASSISTANT_TEXT, {"text": text, "partial": False, "item_id": "1"}
    )


def test_the_body_of_a_refused_request_is_told_in_its_own_words() -> None:
    body = json.dumps({"type": "error", "error": {"message": "not acceptable"}})
    message = {"type": "turn.failed", "error": {"message": body}}

    (event,) = one(message, decode_codex_exec.Decoder())

    assert event.values == {"outcome": "failed", "message": "not acceptable"}


@given(data=st.data())
def test_cut_and_garbled_lines_never_raise_and_never_give_a_wrong_event(data: Any) -> None:
    line = bytearray(data.draw(st.sampled_from(LINES)))
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(0, len(line) - 1))
        line[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(line)))

    for new in DECODERS:
        decoder = new()
        for part in (bytes(line), bytes(line[:cut]), bytes(line[cut:])):
            for event in decoder.decode_line(part):
                event_models.validate(event)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(data=st.data())
def test_wrong_values_anywhere_in_a_message_give_raw_or_a_right_event(data: Any) -> None:
    message = json.loads(data.draw(st.sampled_from(LINES)))
    holder, name = data.draw(st.sampled_from(_places(message)))
    holder[name] = data.draw(JSON)

    for new in DECODERS:
        for event in new().decode(message):
            event_models.validate(event)


def _places(value: Any) -> list[tuple[Any, Any]]:
    names = list(value) if isinstance(value, dict) else range(len(value))
    found: list[tuple[Any, Any]] = [(value, name) for name in names]
    for name in names:
        if isinstance(value[name], dict | list):
            found += _places(value[name])
    return found


def test_the_schema_of_the_log_names_every_kind() -> None:
    schema = event_models.json_schema()

    assert set(schema["discriminator"]["mapping"]) == {kind.value for kind in EventKind}
    assert set(event_models.MODELS) == set(EventKind)
