"""Decoding what real agents wrote over ACP: exactly the recorded events, and no exception."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols import acp_agents, event_models
from cuekit.protocols.acp_diff import hunk
from cuekit.protocols.decode_acp import Decoder
from tests.support.recorder.files import FIXTURES, decode, read_lines

AGENTS = ("gemini", "grok", "opencode")
RECORDED = sorted(path for agent in AGENTS for path in (FIXTURES / agent).glob("*/*.ndjson"))
LINES = [line for path in RECORDED for mark, line in read_lines(path) if mark == "<"]


def name(path: Path) -> str:
    return f"{path.parent.parent.name}-{path.stem}"


def events_of(path: Path) -> list[AgentEvent]:
    agent = acp_agents.known(path.parent.parent.name)
    return decode(read_lines(path), lambda: Decoder(title_is_command=agent.title_is_command))


def result(**values: Any) -> list[AgentEvent]:
    return Decoder().decode({"id": 1, "result": {"stopReason": "end_turn", **values}})


@pytest.mark.parametrize("path", RECORDED, ids=name)
def test_a_recorded_stream_gives_exactly_its_golden_events(path: Path) -> None:
    golden = json.loads(path.with_suffix(".events.json").read_text(encoding="utf-8"))
    events = events_of(path)
    assert [[str(kind), values] for kind, values in events] == golden
    for event in events:
        event_models.validate(event)


def test_each_agent_is_recorded() -> None:
    assert {path.parent.parent.name for path in RECORDED} == set(AGENTS)


@pytest.mark.parametrize("path", RECORDED, ids=name)
def test_nothing_that_a_real_agent_wrote_is_unknown(path: Path) -> None:
    assert [event for event in events_of(path) if event.kind is EventKind.RAW] == []


@pytest.mark.parametrize(
    "line",
    [b"", b"garbage", b'{"method":', b"[1,2]", b"null", b"\xff\xfe", b'{"a": NaN}', b"[" * 100_000],
)
def test_a_line_that_is_no_message_is_kept_whole_as_raw(line: bytes) -> None:
    (event,) = Decoder().decode_line(line)
    assert event == (EventKind.RAW, {"native": line.decode("utf-8", "replace")})


@given(st.data())
def test_no_broken_message_stops_the_decoder(data: st.DataObject) -> None:
    line = data.draw(st.sampled_from(LINES))
    message = json.loads(line)
    places = [message]
    while isinstance(places[-1], dict) and places[-1]:
        key = data.draw(st.sampled_from(sorted(places[-1])))
        if data.draw(st.booleans()):
            places[-1][key] = data.draw(st.sampled_from([None, 3, "x", [], {}, [None], [[]]]))
            break
        places.append(places[-1][key])
    decoder = Decoder()
    for event in [*decoder.decode_line(json.dumps(message).encode()), *decoder.close()]:
        event_models.validate(event)


@pytest.mark.parametrize(
    ("told", "tokens"),
    [
        ({"usage": {"inputTokens": 5, "outputTokens": 7, "cachedReadTokens": 2}}, (5, 7)),
        ({"_meta": {"quota": {"token_count": {"input_tokens": 5, "output_tokens": 7}}}}, (5, 7)),
        ({"_meta": {"usage": {"inputTokens": 5, "outputTokens": 7}}}, (5, 7)),
        ({}, None),
    ],
)
def test_usage_is_read_from_every_place_that_has_it(
    told: dict[str, Any], tokens: tuple[int, int] | None
) -> None:
    found = [e.values for e in result(**told) if e.kind is EventKind.USAGE]
    assert [(v["input_tokens"], v["output_tokens"]) for v in found] == ([tokens] if tokens else [])


def test_the_cost_of_an_update_stands_with_the_tokens_of_the_result() -> None:
    decoder = Decoder()
    cost = {"amount": 0.25, "currency": "USD"}
    update = {"sessionUpdate": "usage_update", "used": 9, "size": 100, "cost": cost}
    decoder.decode({"method": "session/update", "params": {"sessionId": "S", "update": update}})
    usage = {"inputTokens": 5, "outputTokens": 7}
    events = decoder.decode({"id": 1, "result": {"stopReason": "end_turn", "usage": usage}})
    assert events[0].values["cost_usd"] == 0.25


def test_a_diff_is_one_hunk_with_what_stands_around_it() -> None:
    old = "".join(f"{n}\n" for n in range(1, 10))
    assert hunk(old, old.replace("5\n", "five\n")) == (
        "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    )
    assert hunk("", "a\nb\n") == "@@ -0,0 +1,2 @@\n+a\n+b\n"
    assert hunk("a\n", "a\n") == ""


def test_a_command_that_only_stands_in_a_title_is_no_shell_command_for_a_rule() -> None:
    call = {"toolCallId": "c", "kind": "execute", "title": "ls"}
    for trusts, tool in ((False, "other"), (True, "shell")):
        decoder = Decoder(title_is_command=trusts)
        item, _ = decoder.asked({"toolCall": call})
        assert decoder.items.tool_of(item).value == tool


def test_a_call_of_several_files_names_them_all() -> None:
    diffs = [{"type": "diff", "path": f"/p/{name}", "newText": ""} for name in "ab"]
    call = {"toolCallId": "c", "kind": "edit", "content": diffs, "locations": [{"path": "/p/c"}]}
    decoder = Decoder()
    item, _ = decoder.asked({"toolCall": call})
    assert decoder.items.input_of(item)["paths"] == ["/p/a", "/p/b", "/p/c"]
