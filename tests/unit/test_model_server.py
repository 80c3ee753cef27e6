"""The scripted model, asked over HTTP as an agent would."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent_versions import ROOT
from tests.support.model_server import (
    Call,
    Drop,
    Fail,
    HttpError,
    ModelServer,
    Say,
    Shell,
    Think,
    messages_api,
    responses_api,
)
from tests.support.wait import wait_until

CODEX_TOOLS = [{"type": "function", "name": "exec_command"}]
CLAUDE_TOOLS = [{"name": "Bash"}]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def codex_user(text: str) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text}]
    return {"type": "message", "role": "user", "content": content}


def codex_body(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "input": list(items), "tools": CODEX_TOOLS, "stream": True, **more}


def claude_body(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), "tools": CLAUDE_TOOLS, "stream": True, **more}


def post(port: int, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", path, json.dumps(body), {"Authorization": "Bearer secret"})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def ask_codex(model: ModelServer, *items: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    status, data = post(model.port, "/v1/responses", codex_body(*items, **more))
    assert status == 200
    return events(data)


def ask_claude(model: ModelServer, *messages: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    status, data = post(model.port, "/v1/messages?beta=true", claude_body(*messages, **more))
    assert status == 200
    return events(data)


def events(data: bytes) -> list[dict[str, Any]]:
    lines = data.decode().splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


def codex_text(found: list[dict[str, Any]]) -> str:
    return "".join(e["delta"] for e in found if e["type"] == "response.output_text.delta")


def claude_text(found: list[dict[str, Any]]) -> str:
    deltas = [e["delta"] for e in found if e["type"] == "content_block_delta"]
    return "".join(delta.get("text", "") for delta in deltas)


def test_a_rule_goes_before_the_queue_and_the_queue_before_the_default(model: ModelServer) -> None:
    model.when("special", "by rule", times=1)
    model.queue("by queue")
    model.default("by default")
    texts = ["special", "special", "other"]
    answers = [codex_text(ask_codex(model, codex_user(text))) for text in texts]
    assert answers == ["by rule", "by queue", "by default"]
    assert [turn.answered_by for turn in model.turns] == ["rule:special", "queue", "default"]


def test_text_in_pieces_is_the_same_text_in_both_protocols(model: ModelServer) -> None:
    model.default(Think("hm"), Say("ein Text, geteilt", chunks=4), Say(""))
    found = ask_codex(model, codex_user("x"))
    assert codex_text(found) == "ein Text, geteilt"
    done = [e["item"]["type"] for e in found if e["type"] == "response.output_item.done"]
    assert done == ["reasoning", "message", "message"]
    assert found[-1]["type"] == "response.completed"
    found = ask_claude(model, {"role": "user", "content": "x"})
    assert claude_text(found) == "ein Text, geteilt"
    assert [e["type"] for e in found][-2:] == ["message_delta", "message_stop"]


def test_a_shell_step_is_the_shell_tool_of_each_agent(model: ModelServer) -> None:
    model.default(Shell("ls"), Call("Write", {"file_path": "/x"}))
    found = ask_codex(model, codex_user("x"))
    items = [e["item"] for e in found if e["type"] == "response.output_item.done"]
    assert [(i["name"], json.loads(i["arguments"])) for i in items] == [
        ("exec_command", {"cmd": "ls"}),
        ("Write", {"file_path": "/x"}),
    ]
    found = ask_claude(model, {"role": "user", "content": "x"})
    names = [e["content_block"]["name"] for e in found if e["type"] == "content_block_start"]
    inputs = [e["delta"]["partial_json"] for e in found if e["type"] == "content_block_delta"]
    assert (names, [json.loads(i) for i in inputs]) == (
        ["Bash", "Write"],
        [{"command": "ls"}, {"file_path": "/x"}],
    )
    assert found[-2]["delta"]["stop_reason"] == "tool_use"


def test_what_the_agent_adds_is_left_out_and_what_the_user_wrote_is_exact(
    model: ModelServer,
) -> None:
    text = "  first \t 'x' \"y\" 漢\n\n\nlast  "
    ask_codex(
        model,
        codex_user("<environment_context>\n<cwd>/x</cwd>"),
        codex_user(text),
        {"type": "message", "role": "assistant", "content": []},
        {"type": "function_call_output", "call_id": "c", "output": "from the tool"},
        codex_user("second"),
        prompt_cache_key="one",
    )
    (turn,) = model.turns
    assert turn.user_messages == [text, "second"] == model.user_messages
    assert turn.newest_user_messages == ["second"]
    assert turn.tool_results == ["from the tool"]


@pytest.mark.parametrize(
    ("role", "after"),
    [
        ("system", "IMPORTANT: After completing your current task, you MUST address the message."),
        ("user", "This is how Claude Code surfaces messages the user sends mid-turn."),
    ],
)
def test_a_message_that_claude_hands_over_within_a_turn_counts_as_the_users_own(
    model: ModelServer, role: str, after: str
) -> None:
    framed = f"The user sent a new message while you were working:\nline\n\nend\n\n{after}"
    reminder = {"type": "text", "text": "<system-reminder>\nx</system-reminder>"}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "out"}
    ask_claude(
        model,
        {"role": "user", "content": [reminder, {"type": "text", "text": "first"}]},
        {"role": "system", "content": "not the user's"},
        {"role": "assistant", "content": []},
        {"role": "user", "content": [result]},
        {"role": role, "content": [{"type": "text", "text": framed}]},
    )
    (turn,) = model.turns
    assert turn.user_messages == ["first", "line\n\nend"]
    assert (turn.newest_user_messages, turn.tool_results) == (["line\n\nend"], ["out"])


def test_several_messages_that_claude_hands_over_together_are_told_apart(
    model: ModelServer,
) -> None:
    end = "IMPORTANT: After completing your current task, you MUST address the message."
    start = "The user sent a new message while you were working:"
    both = f"{start}\none\n\n1\n\n{end}\n\n{start}\ntwo\n\n{end}"
    queued = [{"type": "text", "text": text} for text in ("three\n\n", "four\n", "five\n")]
    ask_claude(model, {"role": "system", "content": both}, {"role": "user", "content": queued})
    assert model.user_messages == ["one\n\n1", "two", "three\n", "four", "five\n"]


def test_side_requests_are_answered_but_are_no_turns(model: ModelServer) -> None:
    model.queue("kept for the turn")
    title = {"format": {"type": "json_schema", "schema": {"properties": {"title": {}}}}}
    found = ask_codex(model, codex_user("title please"), text=title)
    assert json.loads(codex_text(found)) == {"title": "Scripted title"}
    ask_claude(model, {"role": "user", "content": "title please"}, tools=[])
    assert (model.turns, model.script.unused) == ([], 1)
    assert [request.kind for request in model.requests] == ["side", "side"]


def test_failures_come_as_scripted_and_are_on_record(model: ModelServer) -> None:
    model.queue(HttpError(429, "slow down", {"retry-after": "7"}))
    model.queue(Drop())
    model.queue(Say("half"), Drop())
    model.queue(Say("half"), Fail("broken inside"))
    status, body = post(model.port, "/v1/messages", claude_body())
    assert (status, json.loads(body)["error"]["message"]) == (429, "slow down")
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        post(model.port, "/v1/responses", codex_body())
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        post(model.port, "/v1/responses", codex_body())
    found = ask_codex(model)
    assert found[-1]["response"]["error"]["message"] == "broken inside"
    assert [turn.outcome for turn in model.turns] == ["429", "dropped", "dropped", "sent"]


def test_the_record_holds_no_key(model: ModelServer) -> None:
    ask_codex(model, codex_user("x"))
    assert "secret" not in repr(model.requests)


def test_a_gate_holds_the_reply_and_a_client_that_leaves_is_noticed(model: ModelServer) -> None:
    gate = model.gate()
    model.default(Say("before"), gate, Say("after"))
    connection = http.client.HTTPConnection("127.0.0.1", model.port, timeout=10)
    connection.request("POST", "/v1/responses", json.dumps(codex_body(codex_user("x"))))
    response = connection.getresponse()
    gate.wait_reached()
    assert model.turns[0].outcome == "open"
    response.close()
    connection.close()
    wait_until(lambda: model.turns[0].outcome == "client closed")
    gate.release()
    assert codex_text(ask_codex(model, codex_user("x"))) == "beforeafter"


def test_as_a_program_it_reads_a_script_tells_its_port_and_opens_gates(tmp_path: Path) -> None:
    script = {
        "rules": [{"contains": "slow", "reply": [{"say": "a"}, {"gate": "g"}, {"say": "b"}]}],
        "queue": [[{"shell": "ls"}], [{"http": 500, "message": "no"}]],
        "default": [{"say": "default", "chunks": 2}],
    }
    (tmp_path / "script.json").write_text(json.dumps(script), encoding="utf-8")
    port_file = tmp_path / "port"
    program = [sys.executable, "-m", "tests.support.model_server"]
    options = ["--script", str(tmp_path / "script.json"), "--port-file", str(port_file)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([*program, *options], env=env, stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(port_file.exists)
            port = int(port_file.read_text(encoding="utf-8"))
            post(port, "/_scripted/release?gate=g", {})
            _, slow = post(port, "/v1/responses", codex_body(codex_user("slow")))
            asked = codex_body(codex_user("x"))
            statuses = [post(port, "/v1/responses", asked)[0] for _ in range(2)]
            _, last = post(port, "/v1/responses", asked)
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert codex_text(events(slow)) == "ab"
    assert (statuses, codex_text(events(last))) == ([200, 500], "default")


def test_requests_without_an_input_are_no_trouble() -> None:
    for protocol in (messages_api, responses_api):
        assert (protocol.user_messages({}), protocol.tool_results({})) == ([], [])
