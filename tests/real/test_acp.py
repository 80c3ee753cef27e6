"""Supervised tasks with real agents that speak ACP: grok, gemini and opencode."""

from __future__ import annotations

import json
from typing import Any

from cuekit.launch import events as event_log
from tests.real.test_main_job import show, status, submit, wait
from tests.support.model_server import Say, Shell
from tests.support.real_agents import RealAgent
from tests.support.wait import wait_until

ASKED = "git tag made-by-agent"
SECONDS = 90  # the first turn of opencode in a new home takes up to half a minute


def events(task: dict[str, Any]) -> list[dict[str, Any]]:
    return list(event_log.read(task["task_dir"]))


def supervised(agent: RealAgent, *words: str) -> dict[str, Any]:
    return submit(agent, "--trust", "--mode", "supervised", *words)


def pending(agent: RealAgent, task: dict[str, Any], count: int = 1) -> dict[str, Any]:
    """The one approval that waits, once `count` were asked for in all."""

    def look() -> list[dict[str, Any]]:
        found = agent.cuekit("approval", "list", "--all", "--task", task["task_id"])["approvals"]
        waits = [one for one in found if one["state"] == "pending"]
        return waits if len(found) >= count else []

    wait_until(look, SECONDS, lambda: show(agent, task))
    return look()[0]


def test_a_task_with_approvals_from_another_shell_goes_through_and_is_resumed(
    acp_agent: RealAgent,
) -> None:
    agent = acp_agent
    gate = agent.model.gate()
    tag = agent.project / ".git" / "refs" / "tags" / "made-by-agent"
    agent.model.when("make it", Say("I make it."), Shell(ASKED))
    agent.model.when("another", Shell("rm -rf /tmp/nothing-of-that-name; echo gone"))
    agent.model.when("slowly", Say("working"), gate, times=1)
    agent.model.default("It is done.")

    task = supervised(agent, "make it")
    asked = pending(agent, task)
    assert (asked["tool"], asked["input"]["command"]) == ("shell", ASKED)
    assert not tag.exists()
    agent.cuekit("approval", "allow", asked["approval_id"], "--always", "project")
    view = wait(agent, task, "--until", "idle")
    assert (view["last_turn"], view["summary"]) == ("completed", "It is done."), show(agent, task)
    assert tag.exists()

    agent.cuekit("task", "steer", task["task_id"], "make it once more", "--wait")
    found = agent.cuekit("approval", "list", "--all", "--task", task["task_id"])["approvals"]
    assert {one["state"] for one in found} == {"decided"}

    agent.cuekit("task", "steer", task["task_id"], "another command")
    refused = pending(agent, task, len(found) + 1)
    agent.cuekit("approval", "deny", refused["approval_id"], "--message", "leave that alone")
    agent.model.wait_for_message("leave that alone", SECONDS)

    def idle() -> bool:
        return bool(status(agent, task)["activity"] == "idle")

    wait_until(idle, SECONDS, lambda: show(agent, task))
    agent.cuekit("task", "steer", task["task_id"], "now slowly")
    gate.wait_reached(SECONDS)
    words = "stop that and say hello"
    agent.cuekit("task", "steer", task["task_id"], "--interrupt", "--wait", words)
    gate.release()
    ends = [event for event in events(task) if event["kind"] == "turn_completed"]
    assert [end["outcome"] for end in ends][-2:] == ["interrupted", "completed"]
    assert agent.model.user_messages[-1] == words
    assert agent.cuekit("task", "finish", task["task_id"])["status"] == "completed"
    wait_until(lambda: not _agents(agent), 20, lambda: str(_agents(agent)))


def _agents(agent: RealAgent) -> list[str]:
    """The command lines of the agent's processes that are left."""
    words = {"grok": "agent --no-leader", "gemini": "--acp", "opencode": " acp"}[agent.name]
    return [line for line in agent.processes().values() if words in line]


def test_a_batch_run_that_refused_something_has_failed_though_it_exits_with_0(
    acp_agent: RealAgent,
) -> None:
    agent = acp_agent
    if agent.name == "grok":
        return  # says nothing of it in plain text: there is a warning at submit in its place
    agent.model.queue(Shell(ASKED))
    asking = json.dumps({"dangerously_skip_permissions": False})
    options = ["--mode", "batch", "--adapter-options", asking]
    task = submit(agent, "--trust", *options, "tag it")
    view = wait(agent, task, "--until", "terminal")
    assert view["status"] == "failed", show(agent, task)
    assert "had nobody to ask and refused" in view["error"]["message"]
