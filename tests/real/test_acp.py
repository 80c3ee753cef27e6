"""Supervised tasks with real agents that speak ACP: grok, gemini and opencode."""

from __future__ import annotations

import json
import time
from typing import Any

from cuekit.launch import events as event_log
from tests.real.test_main_job import show, status, submit, wait
from tests.support.model_server import Call, Say, Shell
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


def test_a_task_with_approvals_from_another_shell_goes_through(
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


def written(agent: RealAgent, path: str) -> Call:
    """A call of the agent's own tool that writes a file."""
    return {
        "grok": Call("write", {"file_path": path, "content": "one\ntwo\n"}),
        "gemini": Call("write_file", {"file_path": path, "content": "one\ntwo\n"}),
        "opencode": Call("write", {"filePath": path, "content": "one\ntwo\n"}),
    }[agent.name]


RECEIPTS = {"grok": "queued", "gemini": "held", "opencode": "submitted"}


def test_files_a_cancelled_run_a_busy_agent_and_the_next_pane(acp_agent: RealAgent) -> None:
    agent = acp_agent
    gate = agent.model.gate()
    file = agent.project / "made.txt"
    agent.model.when("write it", written(agent, str(file)))
    agent.model.when("tag it", Shell(ASKED))
    agent.model.when("slowly", Say("working"), gate, times=1)
    agent.model.when("afterwards", Say("here again", chunks=1))
    agent.model.default("It is done.")

    task = supervised(agent, "write it")
    agent.cuekit("approval", "allow", pending(agent, task)["approval_id"])
    wait(agent, task, "--until", "idle")
    assert file.read_text() == "one\ntwo\n"
    (change,) = [event for event in events(task) if event["kind"] == "file_change"]
    assert (change["path"], change["change"]) == (str(file), "add")
    assert "+one" in change["diff"]
    result = agent.cuekit("task", "result", task["task_id"])
    assert [one["path"] for one in result["files_changed"]] == [str(file)]

    agent.cuekit("task", "steer", task["task_id"], "tag it")
    asked = pending(agent, task, 2)
    agent.cuekit("approval", "cancel-run", asked["approval_id"])
    wait(agent, task, "--until", "idle", "--after", "1")
    assert [e["outcome"] for e in events(task) if e["kind"] == "turn_completed"][-1] == (
        "interrupted"
    )
    assert not (agent.project / ".git" / "refs" / "tags" / "made-by-agent").exists()

    agent.cuekit("task", "steer", task["task_id"], "now slowly")
    gate.wait_reached(SECONDS)
    sent = agent.cuekit("task", "steer", task["task_id"], "a message meanwhile")
    assert sent["receipt"]["state"] == RECEIPTS[agent.name]
    gate.release()
    agent.model.wait_for_message("a message meanwhile", SECONDS)
    wait_until(lambda: status(agent, task)["activity"] == "idle", SECONDS)
    assert agent.cuekit("task", "finish", task["task_id"])["status"] == "completed"

    if agent.name == "gemini":  # a load in the minute of the session's start would destroy it
        now = time.time()
        wait_until(lambda: time.time() // 60 > now // 60, 61, interval=1)
    again = agent.cuekit("task", "resume", task["task_id"], "and afterwards?", "--trust")
    view = wait(agent, again, "--until", "idle")
    assert view["summary"] == "here again", show(agent, again)
    assert "write it" in str(agent.model.turns[-1].body)
    agent.cuekit("task", "cancel", again["task_id"])


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
