"""The main job with the real agents: submitted, watched, ended, against the scripted model."""

import os
import subprocess
from pathlib import Path
from typing import Any

from cuekit.model.task import tmux_session_name
from tests.support.model_server import HttpError, Say
from tests.support.real_agents import RealAgent
from tests.support.wait import wait_until


def submit(agent: RealAgent, *words: str) -> dict[str, Any]:
    return dict(agent.cuekit("task", "submit", "--agent-kind", agent.kind, *words))


def status(agent: RealAgent, task: dict[str, Any]) -> dict[str, Any]:
    return dict(agent.cuekit("task", "status", task["task_id"]))


def wait(agent: RealAgent, task: dict[str, Any], *words: str) -> dict[str, Any]:
    done = agent.cuekit_result("task", "wait", task["task_id"], "--timeout", "60s", *words)
    assert done.returncode in (0, 6), done.stderr
    return status(agent, task)


def pane_of(task: dict[str, Any]) -> str:
    return f"={tmux_session_name(task['task_id'])}:"


def show(agent: RealAgent, task: dict[str, Any]) -> str:
    screen = agent.tmux.try_run("capture-pane", "-p", "-t", pane_of(task)).stdout
    return f"{status(agent, task)}\n{screen}"


def test_a_batch_task_completes_with_the_answer_as_summary(any_agent: RealAgent) -> None:
    any_agent.model.default("The answer is 42.")
    task = submit(any_agent, "--mode", "batch", "what is the answer?")
    view = wait(any_agent, task)
    assert (view["status"], view["summary"], view["exit_code"], view["error"]) == (
        "completed",
        "The answer is 42.",
        0,
        None,
    ), view
    assert view["supports_steering"] is False
    assert any_agent.model.user_messages == ["what is the answer?"]
    result = any_agent.cuekit("task", "result", task["task_id"])
    assert (result["final"], result["summary"]) == (True, "The answer is 42.")


def test_a_batch_task_whose_server_fails_fails_with_the_agents_own_words(
    any_agent: RealAgent,
) -> None:
    any_agent.model.default(HttpError(400, "the model is out of order"))
    view = wait(any_agent, submit(any_agent, "--mode", "batch", "hello"))
    assert view["status"] == "failed"
    assert "out of order" in view["error"]["message"], view


def test_an_interactive_task_in_a_trusted_folder_starts_without_a_human(
    any_agent: RealAgent,
) -> None:
    any_agent.model.default("Hello from the model.")
    task = submit(any_agent, "--trust", "say hello")
    view = wait(any_agent, task, "--until", "idle")
    assert (view["status"], view["activity"], view["turn"], view["last_turn"], view["summary"]) == (
        "running",
        "idle",
        1,
        "completed",
        "Hello from the model.",
    ), show(any_agent, task)
    assert view["activity_source"] in ("hook", "session_log")
    done = any_agent.cuekit("task", "finish", task["task_id"])
    assert done["status"] == "completed"
    assert any_agent.model.user_messages == ["say hello"]
    wait_until(lambda: any_agent.tmux.sessions() == [], 10, "the session to be closed")


def test_without_trust_the_agents_own_dialog_is_reported(any_agent: RealAgent) -> None:
    task = submit(any_agent, "say hello")
    wait_until(
        lambda: status(any_agent, task)["activity"] == "waiting_input",
        30,
        lambda: show(any_agent, task),
    )
    view = status(any_agent, task)
    assert (view["activity_detail"], view["activity_source"]) == ("trust", "screen")
    assert any_agent.model.user_messages == []
    any_agent.cuekit("task", "cancel", task["task_id"])


def test_a_failed_turn_and_a_persons_escape_end_the_wait(any_agent: RealAgent) -> None:
    gate = any_agent.model.gate()
    any_agent.model.when("be slow", Say("working"), gate, Say(" finished"))
    any_agent.model.when("break", HttpError(400, "the model is out of order"))
    task = submit(any_agent, "--trust", "be slow")
    gate.wait_reached()
    wait_until(lambda: status(any_agent, task)["activity"] == "working", 10)
    any_agent.tmux.key(pane_of(task), "Escape")
    done = any_agent.cuekit_result(
        "task", "wait", task["task_id"], "--until", "idle", "--timeout", "10s"
    )
    assert done.returncode == 0, show(any_agent, task)
    view = status(any_agent, task)
    assert (view["activity"], view["last_turn"]) == ("idle", "interrupted"), view
    any_agent.cuekit("task", "cancel", task["task_id"])


def test_cancel_leaves_no_process_and_no_pane(any_agent: RealAgent) -> None:
    gate = any_agent.model.gate()
    any_agent.model.when("be slow", Say("working"), gate, Say(" finished"))
    task = submit(any_agent, "--trust", "be slow")
    gate.wait_reached()
    view = any_agent.cuekit("task", "cancel", task["task_id"])
    assert view["status"] == "cancelled"
    assert any_agent.tmux.sessions() == []
    mark = f"CUEKIT_TASK_ID={task['task_id']}".encode()
    left = [
        entry.name
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and _has_mark(entry, mark)
    ]
    assert left == []


def _has_mark(entry: Path, mark: bytes) -> bool:
    try:
        return mark in (entry / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def test_the_smoke_list_of_the_design(codex: RealAgent) -> None:
    codex.model.default("Reply from the model.")
    task = submit(
        codex, "--trust", "--adapter-options", '{"sandbox": "workspace-write"}', "look around"
    )
    name = tmux_session_name(task["task_id"])
    assert task["attach_hint"] == f"tmux attach-session -t {name}"
    assert task["transcript_path"] == str(
        codex.project / ".cuekit" / "tasks" / task["task_id"] / "transcript.txt"
    )
    wait_until(
        lambda: "Reply from the model." in codex.tmux.screen(pane_of(task)),
        40,
        lambda: show(codex, task),
    )
    client = subprocess.Popen(
        ["tmux", "-S", str(codex.tmux.socket), "-C", "attach-session", "-t", name],
        env=codex.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    wait_until(lambda: codex.tmux.run("list-clients", "-t", name), 5)
    command_lines = [
        entry.joinpath("cmdline").read_bytes().decode(errors="replace").split("\0")
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and _has_mark(entry, f"CUEKIT_TASK_ID={task['task_id']}".encode())
    ]
    launched = [words for words in command_lines if "workspace-write" in words]
    assert launched, command_lines
    for words in launched:
        assert words[words.index("workspace-write") - 1] == "-s"
        assert "--dangerously-bypass-approvals-and-sandbox" not in words
    view = codex.cuekit("task", "cancel", task["task_id"])
    assert view["status"] == "cancelled"
    client.communicate(timeout=10)
    assert codex.tmux.sessions() == []
    assert os.path.getsize(task["transcript_path"]) > 0
