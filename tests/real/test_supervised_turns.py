"""The turns of a supervised task: streamed, steered, interrupted, ended; and batch with events."""

import json
from typing import Any

import pytest

from cuekit.launch import events as event_log
from tests.real.test_main_job import pane_of, show, status, submit, wait
from tests.real.test_supervised import supervised
from tests.real.test_supervised_approvals import end, left, told
from tests.support.model_server import Call, HttpError, Say, Shell
from tests.support.real_agents import RealAgent
from tests.support.wait import wait_until


def steer(agent: RealAgent, task: dict[str, Any], *words: str) -> dict[str, Any]:
    return dict(agent.cuekit("task", "steer", task["task_id"], *words))


def test_text_streams_into_the_events_and_onto_the_pane(any_agent: RealAgent) -> None:
    text = "a first line\nand a second line, word by word, until the end of it"
    any_agent.model.when("tell me", Say(text, chunks=12, gap=0.3))
    task = supervised(any_agent, "tell me")

    def screen() -> str:
        return any_agent.tmux.screen(pane_of(task))

    wait_until(lambda: "a first line" in screen(), 30, screen)
    assert told(task, "assistant_text")
    assert all(event["partial"] for event in told(task, "assistant_text"))
    wait(any_agent, task, "--until", "idle")
    whole = [event["text"] for event in told(task, "assistant_text") if not event["partial"]]
    assert whole == [text]
    assert screen().count("a first line") == 1
    assert "until the end of it" in screen()
    prompts = [event["text"] for event in told(task, "prompt_accepted")]
    assert prompts == ["tell me"]  # once, though agents tell of it as well
    numbers = [event["seq"] for event in event_log.read(task["task_dir"])]
    assert numbers == list(range(1, len(numbers) + 1))
    end(any_agent, task)


def test_a_message_to_a_busy_agent_arrives_whole(any_agent: RealAgent) -> None:
    gate = any_agent.model.gate()
    any_agent.model.when("be slow", Say("working"), gate, Say(" on it"))
    any_agent.model.when("by the way", "Both are done.")
    task = supervised(any_agent, "be slow")
    gate.wait_reached()
    receipt = steer(any_agent, task, "by the way\n\n  'twice' $x")["receipt"]
    assert receipt["state"] in ("submitted", "queued", "held")
    gate.release()
    wait_until(
        lambda: status(any_agent, task)["summary"] == "Both are done.",
        30,
        lambda: show(any_agent, task),
    )
    assert any_agent.model.user_messages == ["be slow", "by the way\n\n  'twice' $x"]
    end(any_agent, task)


def test_an_interrupting_message_ends_the_turn_first(any_agent: RealAgent) -> None:
    any_agent.model.when("be slow", Shell("tail -f README.md"))
    any_agent.model.when("do this instead", "It is done instead.")
    options = {"sandbox": "danger-full-access"} if any_agent.kind == "codex" else {}
    any_agent.cuekit(
        "approval", "rules", "add", "allow", "--tool", "shell", "--command", "tail -f README.md"
    )
    task = supervised(any_agent, "--adapter-options", json.dumps(options), "be slow")
    wait_until(lambda: sleeps(any_agent), 30, lambda: show(any_agent, task))
    steer(any_agent, task, "--interrupt", "do this instead", "--wait")
    assert status(any_agent, task)["summary"] == "It is done instead."
    outcomes = [event["outcome"] for event in told(task, "turn_completed")]
    assert outcomes == ["interrupted", "completed"], show(any_agent, task)
    assert not sleeps(any_agent)
    end(any_agent, task)


def sleeps(agent: RealAgent) -> list[int]:
    return [pid for pid, line in agent.processes().items() if line.startswith("tail -f README.md")]


def test_control_c_interrupts_and_twice_ends_the_run(any_agent: RealAgent) -> None:
    gate = any_agent.model.gate()
    any_agent.model.when("be slow", Say("working"), gate)
    task = supervised(any_agent, "be slow")
    gate.wait_reached()
    pane = pane_of(task)
    wait_until(lambda: "working" in any_agent.tmux.screen(pane), 10)
    any_agent.tmux.key(pane, "C-c")
    wait(any_agent, task, "--until", "idle")
    assert status(any_agent, task)["last_turn"] == "interrupted"
    gate.release()
    any_agent.model.when("and now", "Here I am.")
    steer(any_agent, task, "and now", "--wait")
    any_agent.tmux.key(pane, "C-c", "C-c")
    assert wait(any_agent, task, "--until", "terminal")["status"] == "completed"
    wait_until(lambda: not left(any_agent, task), 20, lambda: str(left(any_agent, task)))


def test_a_failed_turn_keeps_the_agents_own_words(any_agent: RealAgent) -> None:
    any_agent.model.default(HttpError(400, "the model is out of order"))
    task = supervised(any_agent, "hello")
    view = wait(any_agent, task, "--until", "idle")
    assert (view["status"], view["last_turn"]) == ("running", "failed"), show(any_agent, task)
    (turn,) = told(task, "turn_completed")
    assert "out of order" in str(turn["message"])
    any_agent.tmux.key(pane_of(task), "C-d")
    view = wait(any_agent, task, "--until", "terminal")
    assert view["status"] == "failed"
    assert "out of order" in view["error"]["message"]


def test_a_pasted_text_of_many_lines_is_one_message(any_agent: RealAgent) -> None:
    task = supervised(any_agent, "hello")
    wait(any_agent, task, "--until", "idle")
    pane = pane_of(task)
    any_agent.tmux.paste(pane, "first\nsecond\n  third y n c")
    wait_until(lambda: "third y n c" in any_agent.tmux.screen(pane), 10)
    any_agent.tmux.key(pane, "Enter")
    wait_until(lambda: status(any_agent, task)["turn"] == 2, 20, lambda: show(any_agent, task))
    assert any_agent.model.user_messages == ["hello", "first\nsecond\n  third y n c"]
    end(any_agent, task)


@pytest.mark.parametrize("fails", [False, True])
def test_batch_with_a_stream_tells_its_events(any_agent: RealAgent, fails: bool) -> None:
    write = Call("Write", {"file_path": str(any_agent.project / "a.md"), "content": "a\n"})
    any_agent.model.when("write it", write if any_agent.kind == "claude-code" else Say("x"))
    any_agent.model.default(HttpError(400, "out of order") if fails else "The answer is 42.")
    options = json.dumps({"stream": True})
    prompt = "tell me" if fails else "what is it? write it"
    if not fails and any_agent.kind == "codex":
        any_agent.model.when("write it", "The answer is 42.")
    task = submit(any_agent, "--trust", "--mode", "batch", "--adapter-options", options, prompt)
    view = wait(any_agent, task)
    kinds = [event["kind"] for event in event_log.read(task["task_dir"])]
    assert kinds.count("turn_started") == kinds.count("turn_completed") == 1, show(any_agent, task)
    if fails:
        assert view["status"] == "failed"
        assert "out of order" in view["error"]["message"], view
        assert view["exit_code"] == 1
        return
    assert (view["status"], view["summary"], view["exit_code"]) == (
        "completed",
        "The answer is 42.",
        0,
    ), view
    assert "error" not in kinds
    changed = any_agent.cuekit("task", "result", task["task_id"])["files_changed"]
    assert len(changed) == (1 if any_agent.kind == "claude-code" else 0)


def test_a_fork_and_the_old_conversation_go_different_ways(any_agent: RealAgent) -> None:
    any_agent.model.when("first", Say("one", chunks=1))
    any_agent.model.when("elsewhere", Say("two", chunks=1))
    task = supervised(any_agent, "the first question")
    wait(any_agent, task, "--until", "idle")
    fork = any_agent.cuekit("task", "resume", task["task_id"], "elsewhere", "--fork", "--trust")
    view = wait(any_agent, fork, "--until", "idle")
    assert view["summary"] == "two", show(any_agent, fork)
    any_agent.model.when("and back", Say("three", chunks=1))
    steer(any_agent, task, "and back", "--wait")
    body = str(any_agent.model.turns[-1].body)
    assert ("the first question" in body, "elsewhere" in body) == (True, False)
    end(any_agent, fork)
    end(any_agent, task)
