"""What a supervised agent asks, and every way in which it is answered from another shell."""

import json
from collections.abc import Callable
from typing import Any

from cuekit.launch import events as event_log
from tests.real.test_main_job import show, status, wait
from tests.real.test_supervised import asking, pending, supervised
from tests.support.model_server import Call
from tests.support.real_agents import RealAgent
from tests.support.wait import wait_until

PATCH = "*** Begin Patch\n*** Add File: notes.md\n+first line\n+second line\n*** End Patch\n"
COLOURS: dict[str, Any] = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [
        {"label": "Red", "description": "warm"},
        {"label": "Blue", "description": "cold"},
    ],
}


def told(task: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event for event in event_log.read(task["task_dir"]) if event["kind"] == kind]


def end(agent: RealAgent, task: dict[str, Any]) -> None:
    agent.cuekit("task", "cancel", task["task_id"])
    wait_until(lambda: not left(agent, task), 20, lambda: str(left(agent, task)))


def left(agent: RealAgent, task: dict[str, Any]) -> dict[int, str]:
    """What still runs of the agent: everything but tmux and cuekit's own."""
    return {
        pid: line
        for pid, line in agent.processes().items()
        if "tmux" not in line and "cuekit" not in line
    }


def test_a_denial_reaches_the_model_with_its_reason(any_agent: RealAgent) -> None:
    any_agent.model.when("make it", asking(any_agent, "touch made.txt"))
    any_agent.model.default("I leave it.")
    task = supervised(any_agent, "make it")
    asked = pending(any_agent, task)
    done = any_agent.cuekit("approval", "deny", asked["approval_id"], "--message", "use branch b7")
    assert (done["state"], done["decision"]["message"]) == ("decided", "use branch b7")
    view = wait(any_agent, task, "--until", "idle")
    assert (view["last_turn"], view["summary"]) == ("completed", "I leave it."), show(
        any_agent, task
    )
    assert not (any_agent.project / "made.txt").exists()
    heard = [str(turn.body) for turn in any_agent.model.turns]
    assert any("use branch b7" in body for body in heard)
    (resolved,) = told(task, "approval_resolved")
    assert (resolved["decision"], resolved["decided_by"], resolved["how"]) == (
        "deny",
        done["decided_by"],
        "shell",
    )
    late = any_agent.cuekit_result("approval", "allow", asked["approval_id"])
    assert (late.returncode, "was denied by" in late.stderr) == (4, True)
    end(any_agent, task)


def test_always_is_not_asked_again_in_this_task_nor_in_the_next(any_agent: RealAgent) -> None:
    any_agent.model.when("make it", asking(any_agent, "touch made.txt"))
    any_agent.model.default("It is made.")
    task = supervised(any_agent, "make it")
    asked = pending(any_agent, task)
    any_agent.cuekit("approval", "allow", asked["approval_id"], "--always", "project")
    wait(any_agent, task, "--until", "idle")
    rules = any_agent.cuekit("approval", "rules", "list")["rules"]
    assert [rule["from_approval"] for rule in rules] == [asked["approval_id"]]
    (any_agent.project / "made.txt").unlink()
    any_agent.cuekit("task", "steer", task["task_id"], "make it again", "--wait")
    assert (any_agent.project / "made.txt").exists()
    resolved = told(task, "approval_resolved")
    assert [one["decided_by"].partition(":")[0] for one in resolved] == [
        resolved[0]["decided_by"],
        "rule",
    ]
    end(any_agent, task)
    (any_agent.project / "made.txt").unlink()
    other = supervised(any_agent, "make it in another task")
    assert wait(any_agent, other, "--until", "idle")["summary"] == "It is made."
    assert (any_agent.project / "made.txt").exists()
    end(any_agent, other)


def test_a_changed_input_is_what_claude_runs(claude: RealAgent) -> None:
    claude.model.when("make it", asking(claude, "touch made.txt"))
    claude.model.default("It is made.")
    task = supervised(claude, "make it")
    asked = pending(claude, task)
    changed = json.dumps({"command": "touch other.txt"})
    claude.cuekit("approval", "allow", asked["approval_id"], "--edit", changed)
    wait(claude, task, "--until", "idle")
    made = {name: (claude.project / name).exists() for name in ("made.txt", "other.txt")}
    assert made == {"made.txt": False, "other.txt": True}
    end(claude, task)


def test_codex_takes_no_changed_input_and_it_is_said(
    codex: RealAgent, record_property: Callable[[str, object], None]
) -> None:
    record_property("cannot", "run a command as the person who allows it has changed it")
    codex.model.when("make it", asking(codex, "touch made.txt"))
    task = supervised(codex, "make it")
    asked = pending(codex, task)
    changed = json.dumps({"command": "touch other.txt"})
    done = codex.cuekit_result("approval", "allow", asked["approval_id"], "--edit", changed)
    assert (done.returncode, "codex cannot change" in done.stderr) == (4, True)
    assert status(codex, task)["activity"] == "waiting_approval"
    end(codex, task)
    assert not (codex.project / "made.txt").exists()


def question(agent: RealAgent) -> tuple[Call, list[str], str]:
    """A question's call, the options of submit, the key of its answer."""
    if agent.kind == "codex":
        options = json.dumps({"features": "default_mode_request_user_input"})
        asked = {"questions": [{"id": "q1", **COLOURS}]}
        return Call("request_user_input", asked), ["--adapter-options", options], "q1"
    asked = {"questions": [{**COLOURS, "multiSelect": False}]}
    return Call("AskUserQuestion", asked), [], "Which colour?"


def test_a_question_is_answered(any_agent: RealAgent) -> None:
    call, options, key = question(any_agent)
    any_agent.model.when("ask me", call)
    any_agent.model.default("Thank you.")
    task = supervised(any_agent, *options, "ask me")
    asked = pending(any_agent, task)
    assert asked["tool"] == "question"
    wrong = any_agent.cuekit_result("approval", "answer", asked["approval_id"], f"{key}=Green")
    assert (wrong.returncode, "Red, Blue" in wrong.stderr) == (4, True), wrong.stderr
    any_agent.cuekit("approval", "answer", asked["approval_id"], f"{key}=blue")
    assert wait(any_agent, task, "--until", "idle")["summary"] == "Thank you."
    assert "Blue" in "".join(any_agent.model.turns[-1].tool_results)
    end(any_agent, task)


def test_cancel_run_ends_the_turn_and_nothing_ran(any_agent: RealAgent) -> None:
    any_agent.model.when("make it", asking(any_agent, "touch made.txt"))
    task = supervised(any_agent, "make it")
    asked = pending(any_agent, task)
    any_agent.cuekit("approval", "cancel-run", asked["approval_id"])
    view = wait(any_agent, task, "--until", "idle")
    assert view["last_turn"] == "interrupted", show(any_agent, task)
    assert not (any_agent.project / "made.txt").exists()
    any_agent.model.when("go on", "Here I am.")
    any_agent.cuekit("task", "steer", task["task_id"], "go on", "--wait")
    assert status(any_agent, task)["summary"] == "Here I am."
    end(any_agent, task)


def test_a_file_change_is_told_with_path_and_diff(any_agent: RealAgent) -> None:
    path = any_agent.project / "notes.md"
    text = "first line\nsecond line\n"
    write = Call("Write", {"file_path": str(path), "content": text})
    if any_agent.kind == "codex":
        write = Call("apply_patch", {"input": PATCH})
    any_agent.model.when("write it", write)
    any_agent.model.default("It is written.")
    # In a sandbox for reading codex asks for the change; claude asks anyway.
    options = json.dumps({"sandbox": "read-only"} if any_agent.kind == "codex" else {})
    task = supervised(any_agent, "--adapter-options", options, "write it")
    asked = pending(any_agent, task)
    assert str(path) in json.dumps(asked["input"])
    any_agent.cuekit("approval", "allow", asked["approval_id"])
    assert wait(any_agent, task, "--until", "idle")["summary"] == "It is written."
    assert path.read_text() == text
    (change,) = told(task, "file_change")
    assert (change["path"], change["change"]) == (str(path), "add")
    assert "first line" in change["diff"]
    result = any_agent.cuekit("task", "result", task["task_id"])
    assert result["files_changed"] == [{"path": str(path), "kind": "add"}]
    end(any_agent, task)


def test_wait_returns_when_an_approval_waits(any_agent: RealAgent) -> None:
    any_agent.model.when("make it", asking(any_agent, "touch made.txt"))
    task = supervised(any_agent, "make it")
    view = wait(any_agent, task, "--until", "approval")
    waiting = [one["tool"] for one in view["pending_approvals"]]
    assert (view["activity"], waiting) == ("waiting_approval", ["shell"]), view
    end(any_agent, task)
    (over,) = any_agent.cuekit("approval", "list", "--task", task["task_id"], "--all")["approvals"]
    assert over["state"] == "abandoned"
    late = any_agent.cuekit_result("approval", "allow", over["approval_id"])
    assert (late.returncode, "was abandoned" in late.stderr) == (4, True), late.stderr
    assert not (any_agent.project / "made.txt").exists()
