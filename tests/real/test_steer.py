"""Steering the real agents: what arrives at the model, and what the receipt says of it."""

from __future__ import annotations

import threading
import time
from typing import Any

from cuekit.model.task import tmux_session_name
from tests.support.model_server import HttpError, Say, Shell
from tests.support.real_agents import RealAgent
from tests.support.wait import wait_until

EXACT = [
    "second; 'x' \\ \"q\"",
    "a\nb\n\nc;",
    "- a dash",
    "--verbose is what I meant",
    "@file is a name",
    "# a hash",
    "$HOME at the start",
    "/tmp/x is a path",
    "漢字 👩\u200d👧 שלום ü",
    "ends in a backslash \\",
    "line\n" * 300 + "end",
]
REWRITTEN = {
    "claude-code": {"tab\there": "tab    here", "!ls is loud": " !ls is loud"},
    "codex": {"tab\there": "tab\there"},
}


def start(agent: RealAgent, prompt: str) -> str:
    agent.trust()
    words = ("task", "submit", "--agent-kind", agent.kind, "--trust", prompt)
    return str(agent.cuekit(*words)["task_id"])


def idle(agent: RealAgent, task_id: str) -> None:
    done = agent.cuekit_result("task", "wait", task_id, "--until", "idle", "--timeout", "60s")
    assert done.returncode == 0, done.stderr + screen(agent, task_id)


def screen(agent: RealAgent, task_id: str) -> str:
    return agent.tmux.screen(f"={tmux_session_name(task_id)}:")


def steer(agent: RealAgent, task_id: str, *words: str, text: str | None = None) -> dict[str, Any]:
    """The receipt; a text that has its own dashes or many lines goes in by standard input."""
    told = words if text is None else (*words, "-")
    done: dict[str, Any] = agent.cuekit("task", "steer", task_id, *told, timeout=150, stdin=text)
    assert done["task_id"] == task_id
    return done


def test_messages_to_an_idle_agent_arrive_as_the_receipt_says(any_agent: RealAgent) -> None:
    task_id = start(any_agent, "say hello")
    idle(any_agent, task_id)
    sent = ["say hello"]
    for number, text in enumerate(EXACT, start=2):
        done = steer(any_agent, task_id, "--wait", "--timeout", "60s", text=text)
        assert done["receipt"] == {"state": "submitted", "turn": number, "evidence": "hook"}
        assert (done["answer"], done["warnings"]) == ("done", [])
        sent.append(text)
    for text, taken in REWRITTEN[any_agent.kind].items():
        done = steer(any_agent, task_id, "--wait", "--timeout", "60s", text=text)
        assert bool(done["warnings"]) is (taken != text), done
        sent.append(taken)
    assert any_agent.model.user_messages == sent
    any_agent.cuekit("task", "cancel", task_id)


def test_a_hundred_kibibytes_arrive_as_one_message(any_agent: RealAgent) -> None:
    line = "wörd; 'quoted' \\ 漢字 $HOME " * 4 + "\n"
    text = line * (102_400 // len(line.encode())) + "the end"
    task_id = start(any_agent, "say hello")
    idle(any_agent, task_id)
    steer(any_agent, task_id, "--wait", "--timeout", "100s", text=text)
    assert any_agent.model.user_messages == ["say hello", text]
    any_agent.cuekit("task", "cancel", task_id)


def test_messages_to_a_busy_agent_arrive_each_as_one(any_agent: RealAgent) -> None:
    gate = any_agent.model.gate()
    any_agent.model.when("be slow", Say("working"), gate, Say(" finished slow"))
    any_agent.model.when("what is it", Say("the answer"))
    task_id = start(any_agent, "be slow")
    gate.wait_reached()
    first = steer(any_agent, task_id, "while busy;\nsecond line")
    assert first["receipt"]["state"] in ("submitted", "queued")
    answers: list[dict[str, Any]] = []
    asked = threading.Thread(
        target=lambda: answers.append(
            steer(any_agent, task_id, "--wait", "--timeout", "60s", "what is it")
        )
    )
    asked.start()
    time.sleep(2.0)  # not to synchronise: the agent is to be busy while the message comes
    gate.release()
    asked.join(70)
    assert answers, screen(any_agent, task_id)
    assert answers[0]["answer"] == "the answer", answers
    assert any_agent.model.user_messages == ["be slow", "while busy;\nsecond line", "what is it"]
    any_agent.cuekit("task", "cancel", task_id)


def test_an_interrupted_agent_takes_the_message_next(any_agent: RealAgent) -> None:
    gate = any_agent.model.gate()
    any_agent.model.when("be slow", Say("working"), gate, Say(" finished"))
    task_id = start(any_agent, "be slow")
    gate.wait_reached()
    done = steer(any_agent, task_id, "--interrupt", "do this instead")
    assert done["receipt"]["state"] == "submitted"
    any_agent.model.wait_for_message("do this instead")
    gate.release()
    any_agent.cuekit("task", "cancel", task_id)


def test_when_idle_sends_nothing_before_that(any_agent: RealAgent) -> None:
    gate = any_agent.model.gate()
    any_agent.model.when("be slow", Say("working"), gate, Say(" finished"))
    task_id = start(any_agent, "be slow")
    gate.wait_reached()
    early = any_agent.cuekit_result(
        "task", "steer", task_id, "--when-idle", "--timeout", "1s", "too early"
    )
    assert early.returncode == 5, early.stderr
    gate.release()
    done = steer(any_agent, task_id, "--when-idle", "--timeout", "30s", "now")
    assert done["receipt"] == {"state": "submitted", "turn": 2, "evidence": "hook"}
    any_agent.model.wait_for_message("now")
    assert any_agent.model.user_messages == ["be slow", "now"]
    any_agent.cuekit("task", "cancel", task_id)


def test_a_draft_is_neither_joined_nor_sent(any_agent: RealAgent) -> None:
    task_id = start(any_agent, "say hello")
    idle(any_agent, task_id)
    typed = steer(any_agent, task_id, "--no-submit", "a draft")
    assert typed["receipt"] == {"state": "typed", "turn": None, "evidence": None}
    refused = any_agent.cuekit_result("task", "steer", task_id, "joins it")
    assert (refused.returncode, "draft" in refused.stderr) == (4, True), refused.stderr
    steer(any_agent, task_id, "--key", "C-u")
    steer(any_agent, task_id, "--wait", "--timeout", "30s", "alone")
    assert any_agent.model.user_messages == ["say hello", "alone"]
    any_agent.cuekit("task", "cancel", task_id)


def test_a_failed_turn_is_told_instead_of_an_answer(any_agent: RealAgent) -> None:
    any_agent.model.when("break", HttpError(400, "the model is out of order"))
    task_id = start(any_agent, "say hello")
    idle(any_agent, task_id)
    failed = any_agent.cuekit_result(
        "task", "steer", task_id, "--wait", "--timeout", "30s", "break now"
    )
    assert failed.returncode == 1
    assert "out of order" in failed.stderr
    any_agent.cuekit("task", "cancel", task_id)


def test_a_trust_dialog_is_never_answered(any_agent: RealAgent) -> None:
    made = any_agent.cuekit("task", "submit", "--agent-kind", any_agent.kind, "say hello")
    task_id = str(made["task_id"])

    def waits() -> bool:
        return bool(any_agent.cuekit("task", "status", task_id)["activity"] == "waiting_input")

    wait_until(waits, 30, lambda: screen(any_agent, task_id))
    for words in (("1",), ("--force", "y"), ("--key", "Enter"), ("--no-submit", "x")):
        refused = any_agent.cuekit_result("task", "steer", task_id, *words)
        assert (refused.returncode, "dialog" in refused.stderr) == (4, True), refused.stderr
    assert waits()
    assert any_agent.model.user_messages == []
    any_agent.cuekit("task", "cancel", task_id)


def test_an_approval_is_never_answered(any_agent: RealAgent) -> None:
    escalated = {"sandbox_permissions": "require_escalated", "justification": "to see"}
    command = f"touch {any_agent.project}/made"
    call = Shell(command, extra=escalated) if any_agent.kind == "codex" else Shell(command)
    any_agent.model.queue(call)
    any_agent.trust()
    options = '{"dangerously_skip_permissions": false}'
    task_id = str(
        any_agent.cuekit(
            *("task", "submit", "--agent-kind", any_agent.kind, "--trust"),
            *("--adapter-options", options, "make it"),
        )["task_id"]
    )

    def waits() -> bool:
        return bool(any_agent.cuekit("task", "status", task_id)["activity"] == "waiting_approval")

    wait_until(waits, 30, lambda: screen(any_agent, task_id))
    for words in (("yes",), ("--force", "y"), ("--key", "Enter"), ("--as-command", "p")):
        refused = any_agent.cuekit_result("task", "steer", task_id, *words)
        assert (refused.returncode, "dialog" in refused.stderr) == (4, True), refused.stderr
    assert waits()
    assert not (any_agent.project / "made").exists()
    any_agent.cuekit("task", "cancel", task_id)
