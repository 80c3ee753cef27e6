"""An ended task's conversation goes on in a new pane, in the agents' own TUIs and in batch."""

import contextlib
import os
import signal

import pytest

from tests.real.test_main_job import status, submit, wait
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


def test_what_a_crash_broke_off_is_listed_and_goes_on(any_agent: RealAgent) -> None:
    any_agent.model.when("first", Say("one", chunks=1))
    any_agent.model.when("and then", Say("two", chunks=1))
    any_agent.model.when("broken off", Say("three", chunks=1))
    mine, other = (submit(any_agent, "--trust", f"the first question, {n}") for n in (1, 2))
    for task in (mine, other):
        wait(any_agent, task, "--until", "idle")
    server = int(any_agent.tmux.run("display-message", "-p", "#{pid}"))
    for pid in [*any_agent.processes(), server]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: any_agent.tmux.sessions() == [], 10)
    lost = any_agent.cuekit("recover")["tasks"]
    assert sorted(one["task_id"] for one in lost) == sorted([mine["task_id"], other["task_id"]])
    assert all(one["resumable"] for one in lost)
    (again,) = any_agent.cuekit("recover", mine["task_id"], "--trust")["tasks"]
    assert wait(any_agent, again, "--until", "idle")["summary"] == "three"
    assert "the first question, 1" in str(any_agent.model.turns[-1].body)
    resumed = any_agent.cuekit("task", "resume", other["task_id"], "and then?", "--trust")
    assert wait(any_agent, resumed, "--until", "idle")["summary"] == "two"
    assert any_agent.cuekit("recover")["tasks"] == []
    any_agent.cuekit("task", "cancel", again["task_id"], resumed["task_id"])


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
