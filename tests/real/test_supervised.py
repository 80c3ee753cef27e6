"""Supervised tasks with the real agents: the conversation, the approvals, the end."""

from typing import Any

from cuekit.launch import events as event_log
from tests.real.test_main_job import pane_of, show, status, submit, wait
from tests.support.model_server import Say, Shell
from tests.support.real_agents import RealAgent
from tests.support.wait import wait_until


def supervised(agent: RealAgent, *words: str) -> dict[str, Any]:
    return submit(agent, "--trust", "--mode", "supervised", *words)


def kinds(agent: RealAgent, task: dict[str, Any]) -> list[str]:
    return [event["kind"] for event in event_log.read(task["task_dir"])]


def asking(agent: RealAgent, command: str) -> Any:
    """A call of the shell that the agent asks leave for."""
    if agent.kind == "codex":
        extra = {"sandbox_permissions": "require_escalated", "justification": "May I?"}
        return Shell(command, extra=extra)
    return Shell(command)


def pending(agent: RealAgent, task: dict[str, Any]) -> dict[str, Any]:
    def look() -> list[dict[str, Any]]:
        found = agent.cuekit("approval", "list", "--task", task["task_id"])["approvals"]
        return [one for one in found if one["state"] == "pending"]

    wait_until(look, 30, lambda: show(agent, task))
    return look()[0]


def test_a_prompt_is_answered_and_a_second_turn_follows(any_agent: RealAgent) -> None:
    any_agent.model.when("first", Say("one", chunks=1))
    any_agent.model.when("second", Say("two", chunks=1))
    task = supervised(any_agent, "the first question")
    view = wait(any_agent, task, "--until", "idle")
    assert (view["turn"], view["last_turn"], view["summary"], view["activity_source"]) == (
        1,
        "completed",
        "one",
        "protocol",
    ), show(any_agent, task)
    done = any_agent.cuekit("task", "steer", task["task_id"], "the second question", "--wait")
    assert done["receipt"]["state"] == "submitted"
    view = status(any_agent, task)
    assert (view["turn"], view["summary"]) == (2, "two")
    assert any_agent.model.user_messages == ["the first question", "the second question"]
    assert any_agent.cuekit("task", "finish", task["task_id"])["status"] == "completed"


def test_an_approval_is_allowed_from_another_shell(any_agent: RealAgent) -> None:
    any_agent.model.when("make it", asking(any_agent, "touch made.txt"))
    any_agent.model.default("It is made.")
    task = supervised(any_agent, "make it")
    asked = pending(any_agent, task)
    assert status(any_agent, task)["activity"] == "waiting_approval"
    assert not (any_agent.project / "made.txt").exists()
    any_agent.cuekit("approval", "allow", asked["approval_id"])
    view = wait(any_agent, task, "--until", "idle")
    assert view["summary"] == "It is made.", show(any_agent, task)
    assert (any_agent.project / "made.txt").exists()
    any_agent.cuekit("task", "cancel", task["task_id"])


def test_the_pane_shows_the_conversation_and_a_key_decides(any_agent: RealAgent) -> None:
    any_agent.model.when("make it", asking(any_agent, "touch made.txt"))
    any_agent.model.default("It is made.")
    task = supervised(any_agent, "make it")
    pane = pane_of(task)
    pending(any_agent, task)
    wait_until(
        lambda: "y: allow" in any_agent.tmux.screen(pane), 10, lambda: any_agent.tmux.screen(pane)
    )
    screen = any_agent.tmux.screen(pane)
    assert "> make it" in screen
    assert "touch made.txt" in screen
    # Words are a message, not an answer, though the first letter is a key.
    any_agent.tmux.run("send-keys", "-l", "-t", pane, "yes and no")
    wait_until(lambda: "> yes and no" in any_agent.tmux.screen(pane), 5)
    assert not (any_agent.project / "made.txt").exists()
    any_agent.tmux.key(pane, "C-c")
    # Nor does a paste decide anything.
    any_agent.tmux.paste(pane, "y")
    wait_until(lambda: "\n> y\n" in any_agent.tmux.screen(pane) + "\n", 5)
    any_agent.tmux.key(pane, "C-c")
    assert status(any_agent, task)["activity"] == "waiting_approval"
    wait_until(lambda: _presses(any_agent, task, pane, "y"), 10, lambda: show(any_agent, task))
    view = wait(any_agent, task, "--until", "idle")
    assert view["summary"] == "It is made."
    assert (any_agent.project / "made.txt").exists()
    any_agent.tmux.run("send-keys", "-l", "-t", pane, "and now")
    any_agent.tmux.key(pane, "Enter")
    wait_until(lambda: status(any_agent, task)["turn"] == 2, 20, lambda: show(any_agent, task))
    wait(any_agent, task, "--until", "idle", "--after", "1")
    any_agent.tmux.key(pane, "C-d")
    assert wait(any_agent, task, "--until", "terminal")["status"] == "completed"


def _presses(agent: RealAgent, task: dict[str, Any], pane: str, key: str) -> bool:
    agent.tmux.run("send-keys", "-l", "-t", pane, key)
    try:
        wait_until(lambda: status(agent, task)["activity"] != "waiting_approval", 2)
    except AssertionError:
        return False
    return True


def test_an_ended_conversation_goes_on_in_a_new_pane(any_agent: RealAgent) -> None:
    any_agent.model.when("first", Say("one", chunks=1))
    any_agent.model.when("and then", Say("two", chunks=1))
    task = supervised(any_agent, "the first question")
    wait(any_agent, task, "--until", "idle")
    refused = any_agent.cuekit_result("task", "resume", task["task_id"], "and then?")
    assert (refused.returncode, "still runs" in refused.stderr) == (4, True)
    any_agent.cuekit("task", "finish", task["task_id"])
    again = any_agent.cuekit("task", "resume", task["task_id"], "and then?", "--trust")
    view = wait(any_agent, again, "--until", "idle")
    assert (view["summary"], view["turn"]) == ("two", 1)
    body = str(any_agent.model.turns[-1].body)
    assert "the first question" in body
    assert "and then?" in body
    any_agent.cuekit("task", "cancel", again["task_id"])
