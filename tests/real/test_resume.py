"""An ended task's conversation goes on in a new pane, in the agents' own TUIs and in batch."""

import contextlib
import json
import os
import shutil
import signal
from typing import Any

import pytest

from tests.real.test_main_job import show, status, submit, wait
from tests.support.model_server import Say
from tests.support.real_agents import RealAgent
from tests.support.wait import wait_until


@pytest.mark.parametrize("mode", ["interactive", "batch"])
def test_a_conversation_goes_on_in_a_new_task(any_agent: RealAgent, mode: str) -> None:
    any_agent.model.when("first", Say("one", chunks=1))
    any_agent.model.when("and then", Say("two", chunks=1))
    until = ["--until", "idle"] if mode == "interactive" else []
    task = submit(any_agent, "--trust", "--mode", mode, "the first question")
    wait(any_agent, task, *until)
    if mode == "interactive":
        any_agent.cuekit("task", "finish", task["task_id"])
    again = any_agent.cuekit("task", "resume", task["task_id"], "and then?", "--trust")
    view = wait(any_agent, again, *until)
    assert view["summary"] == "two", view
    body = str(any_agent.model.turns[-1].body)
    assert "the first question" in body
    assert "and then?" in body
    any_agent.cuekit("task", "cancel", again["task_id"])


def test_a_fork_leaves_the_old_conversation_as_it_is(any_agent: RealAgent) -> None:
    any_agent.model.when("first", Say("one", chunks=1))
    any_agent.model.when("elsewhere", Say("two", chunks=1))
    any_agent.model.when("back", Say("three", chunks=1))
    task = submit(any_agent, "--trust", "the first question")
    wait(any_agent, task, "--until", "idle")
    fork = any_agent.cuekit("task", "resume", task["task_id"], "elsewhere", "--fork", "--trust")
    view = wait(any_agent, fork, "--until", "idle")
    assert view["summary"] == "two", view
    any_agent.cuekit("task", "steer", task["task_id"], "back", "--wait")
    assert status(any_agent, task)["summary"] == "three"
    body = str(any_agent.model.turns[-1].body)
    assert "the first question" in body
    assert "elsewhere" not in body
    any_agent.cuekit("task", "cancel", task["task_id"], fork["task_id"])


def kill_everything(agent: RealAgent) -> None:
    """What a power cut does: cuekit's processes, the agents and the tmux server, none may tidy."""
    server = int(agent.tmux.run("display-message", "-p", "#{pid}"))
    for pid in [server, *agent.processes()]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: agent.processes() == {}, 20, lambda: str(agent.processes()))
    assert agent.tmux.sessions() == []


@pytest.mark.parametrize("mode", ["interactive", "supervised", "batch"])
def test_after_a_kill_of_everything_the_conversations_go_on(
    any_agent: RealAgent, mode: str
) -> None:
    """Of four tasks three are lost: one is chosen, one resumed by itself, and one stays listed."""
    agent = any_agent
    gate = agent.model.gate()
    batch = mode == "batch"
    agent.model.when("be quick", Say("zero", chunks=1))
    agent.model.when("broken off", Say("three", chunks=1))
    agent.model.when("and then", Say("two", chunks=1))
    # a batch run is alive in the middle of its one turn, the others at rest
    agent.model.when("first", *([Say("one"), gate] if batch else [Say("one", chunks=1)]))
    over = submit(agent, "--trust", "--mode", "batch", "be quick")
    wait(agent, over)
    words = ("--trust", "--mode", mode)
    mine, other, third = (submit(agent, *words, f"the first question, {n}") for n in (1, 2, 3))
    alive = [mine["task_id"], other["task_id"], third["task_id"]]
    for number, task in enumerate((mine, other, third), start=1):
        if batch:
            agent.model.wait_for_message(f"the first question, {number}", 60)
            wait_until(lambda: status(agent, task)["agent_session_id"], 30)  # noqa: B023
        else:
            wait(agent, task, "--until", "idle")

    kill_everything(agent)
    gate.release()

    lost = agent.cuekit("recover")["tasks"]
    assert [one["task_id"] for one in lost] == alive[::-1]
    assert [(one["resumable"], one["problem"]) for one in lost] == [(True, None)] * 3, lost
    assert {one["mode"] for one in lost} == {mode}

    (again,) = agent.cuekit("recover", mine["task_id"], "--trust")["tasks"]
    ended = ["--until", "terminal" if batch else "idle"]
    view = wait(agent, again, *ended)
    assert (view["summary"], view["resumed_from"]) == ("three", mine["task_id"]), view
    body = str(agent.model.turns[-1].body)
    assert "the first question, 1" in body
    assert "the first question, 2" not in body

    twice = agent.cuekit_result("recover", mine["task_id"], "--trust", "--format", "json")
    assert twice.returncode == 4
    assert json.loads(twice.stderr)["error"]["code"] == "already_resumed"
    if not batch:
        busy = agent.cuekit_result("task", "resume", mine["task_id"], "once more", "--trust")
        assert (busy.returncode, again["task_id"] in busy.stderr) == (4, True)

    resumed = agent.cuekit("task", "resume", other["task_id"], "and then?", "--trust")
    assert wait(agent, resumed, *ended)["summary"] == "two"
    body = str(agent.model.turns[-1].body)
    assert "the first question, 2" in body
    assert "the first question, 1" not in body
    (left,) = agent.cuekit("recover")["tasks"]
    assert left["task_id"] == third["task_id"]
    if not batch:
        agent.cuekit("task", "cancel", again["task_id"], resumed["task_id"])


def test_a_lost_task_whose_conversation_or_folder_is_gone_is_named(any_agent: RealAgent) -> None:
    agent = any_agent
    agent.model.default(Say("one", chunks=1))
    place = agent.project.parent / "elsewhere"
    place.mkdir()
    here = submit(agent, "--trust", "the first question")
    there = submit(agent, "--trust", "--cwd", str(place), "the second question")
    for task in (here, there):
        wait(agent, task, "--until", "idle")
    session = status(agent, here)["agent_session_id"]
    kill_everything(agent)
    shutil.rmtree(place)
    for file in agent.home.rglob(f"*{session}*"):
        if file.is_file():
            file.unlink()

    lost = {one["task_id"]: one for one in agent.cuekit("recover")["tasks"]}
    problems = {task_id: one["problem"]["code"] for task_id, one in lost.items()}
    assert problems == {here["task_id"]: "agent_session_gone", there["task_id"]: "folder_gone"}
    assert agent.cuekit("recover", "--all", "--trust") == {"tasks": [], "failed": []}
    for task, code in ((here, "agent_session_gone"), (there, "folder_gone")):
        for words in (("recover",), ("task", "resume")):
            more = ["go on"] if words[0] == "task" else []
            done = agent.cuekit_result(*words, task["task_id"], *more, "--format", "json")
            assert (done.returncode, json.loads(done.stderr)["error"]["code"]) == (4, code)


ANSWERS = ("ANSWER-ZERO", "ANSWER-ONE", "ANSWER-TWO")
ACP_SECONDS = 90  # the first turn of opencode in a new home takes up to half a minute


@pytest.mark.timeout(300)  # three starts of opencode, each of half a minute on a busy machine
@pytest.mark.parametrize("mode", ["interactive", "batch"])
def test_a_conversation_of_the_other_agents_goes_on(acp_agent: RealAgent, mode: str) -> None:
    """Their own programs fill the pane; two tasks of one folder are told apart."""
    agent = acp_agent
    agent.model.when("and then", Say("ANSWER-TWO", chunks=1))
    agent.model.when("another", Say("ANSWER-ZERO", chunks=1))
    agent.model.when("first", Say("ANSWER-ONE", chunks=1))
    words = ("--trust", "--mode", mode)
    task = submit(agent, *words, "the first question")
    agent.model.wait_for_message("the first question", ACP_SECONDS)
    beside = submit(agent, *words, "another question")
    agent.model.wait_for_message("another question", ACP_SECONDS)
    for one in (task, beside):
        _at_rest(agent, one, mode)

    go_on = ["task", "resume", task["task_id"], "and then, what is next?", "--trust"]
    if (agent.name, mode) == ("opencode", "interactive"):  # its TUI drops the prompt
        refused = agent.cuekit_result(*go_on, "--format", "json")
        error = json.loads(refused.stderr)["error"]
        assert (refused.returncode, error["code"]) == (4, "resume_unsupported")
        assert error["hint"].endswith("--mode supervised")
        go_on += ["--mode", "batch"]
        mode = "batch"
    again = agent.cuekit(*go_on)
    agent.model.wait_for_message("and then, what is next?", ACP_SECONDS)
    body = str(agent.model.turns[-1].body)
    assert "the first question" in body, show(agent, again)
    assert "another question" not in body
    assert again["resumed_from"] == task["task_id"]
    _at_rest(agent, again, mode)


@pytest.mark.timeout(300)
def test_a_fork_of_the_other_agents_leaves_the_conversation(acp_agent: RealAgent) -> None:
    agent = acp_agent
    agent.model.default(Say("one", chunks=1))
    task = submit(agent, "--trust", "--mode", "batch", "the first question")
    wait(agent, task, "--timeout", "90s")
    words = ("task", "resume", task["task_id"], "QUOKKA asks", "--trust", "--fork")
    if agent.name == "gemini":
        refused = agent.cuekit_result(*words, "--format", "json")
        assert json.loads(refused.stderr)["error"]["code"] == "fork_unsupported"
        return
    fork = agent.cuekit(*words)
    wait(agent, fork, "--timeout", "90s")
    assert "the first question" in str(agent.model.turns[-1].body)
    for old, text, without in ((task, "WOMBAT asks", "QUOKKA"), (fork, "NUMBAT asks", "WOMBAT")):
        again = agent.cuekit("task", "resume", old["task_id"], text, "--trust")
        wait(agent, again, "--timeout", "90s")
        body = str(agent.model.turns[-1].body)
        assert text in body, show(agent, again)
        assert "the first question" in body
        assert without not in body


def _at_rest(agent: RealAgent, task: dict[str, Any], mode: str) -> None:
    if mode == "batch":
        wait(agent, task, "--timeout", "90s")
        assert status(agent, task)["status"] == "completed", show(agent, task)
    else:

        def answered() -> bool:
            return any(words in show(agent, task) for words in ANSWERS)

        wait_until(answered, 30, lambda: show(agent, task))
        agent.cuekit("task", "cancel", task["task_id"])  # opencode never tells that it is idle


def test_a_worktree_is_gone_on_with_and_trusted_like_its_origin(any_agent: RealAgent) -> None:
    any_agent.model.when("first", Say("one", chunks=1))
    any_agent.model.when("and then", Say("two", chunks=1))
    task = submit(any_agent, "--trust", "the first question", "--worktree")
    assert wait(any_agent, task, "--until", "idle")["summary"] == "one"
    any_agent.cuekit("task", "finish", task["task_id"])
    again = any_agent.cuekit("task", "resume", task["task_id"], "and then?", "--trust")
    assert (again["worktree"], again["cwd"]) == (task["worktree"], task["worktree"]["path"])
    assert wait(any_agent, again, "--until", "idle")["summary"] == "two"
    assert "the first question" in str(any_agent.model.turns[-1].body)
    any_agent.cuekit("task", "cancel", again["task_id"])
    assert any_agent.cuekit("task", "result", again["task_id"])["files_changed"] == []
    done = any_agent.cuekit("task", "delete", task["task_id"], again["task_id"])
    assert done == {"removed": [task["task_id"], again["task_id"]], "kept": []}
