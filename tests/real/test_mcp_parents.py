"""The real agents as parents: they call the tools of `cuekit --mcp`, as a scripted model says."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from cuekit.launch import events
from tests.support.model_server import Call, Pause, Say, Shell
from tests.support.real_agents import RealAgent
from tests.support.wait import wait_until

CHILD = {"objective": "echo ready; read answer; echo got=$answer", "agent_kind": "shell"}
BATCH = {
    "codex": ["exec", "--dangerously-bypass-approvals-and-sandbox", "--"],
    "claude": ["--dangerously-skip-permissions", "-p", "--"],
}
NOT_YET = ("unsupported call", "No such tool available")
"""How codex and claude say that a server has not come up yet."""


def tool_call(agent: RealAgent, tool: str, arguments: dict[str, Any]) -> Call:
    """A tool of the server under the name that this version has for it."""
    if agent.name == "claude":
        return Call(f"mcp__cuekit__{tool}", arguments)
    group = "mcp__cuekit" if agent.version.version >= "0.141" else "mcp__cuekit__"
    return Call(tool, arguments, group)


def register(agent: RealAgent) -> None:
    """Have the agent itself add the server to its configuration, and allow shell children."""
    agent.trust()
    done = agent.cuekit("mcp", "add", agent.name)
    assert done["ran"].startswith(f"{agent.name} mcp add ")
    agent.cuekit_home.mkdir(exist_ok=True)
    (agent.cuekit_home / "config.yaml").write_text("mcp: {shell: allow}\n")


class Parent:
    """A parent agent in its batch mode, led from call to call by the test."""

    def __init__(self, agent: RealAgent, *tools: str) -> None:
        self.agent = agent
        model = agent.model
        for words in NOT_YET:
            model.when(words, Pause(0.3), tool_call(agent, "list", {"kind": "sessions"}))
        model.queue(tool_call(agent, "list", {"kind": "sessions"}))
        self._steps: list[tuple[Any, dict[str, Any]]] = []
        for number, tool in enumerate(tools):
            gate, arguments = model.gate(f"{number} {tool}"), dict[str, Any]()
            model.queue(gate, tool_call(agent, tool, arguments))
            self._steps.append((gate, arguments))
        self._end = model.gate("end")
        model.queue(self._end, Say("all is done"))
        self.said = ""
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self._first = True

    def _run(self) -> None:
        done = self.agent.run(*BATCH[self.agent.name], "delegate it", timeout=110)
        self.said = done.stdout

    def call(self, **arguments: Any) -> Any:
        """Let the model make its next call with these arguments; the tool's object."""
        gate, given = self._steps.pop(0)
        gate.wait_reached(60)
        given |= arguments
        gate.release()
        following = self._steps[0][0] if self._steps else self._end
        following.wait_reached(90)
        told = self.agent.model.turns[-1].tool_results[-1]
        value, _ = json.JSONDecoder().raw_decode(told[told.index("{") :])
        return value

    def finish(self) -> str:
        """Let it say its last words; they."""
        self._end.release()
        self._thread.join(60)
        return self.said


def test_a_parent_submits_waits_steers_and_reads_the_result(any_agent: RealAgent) -> None:
    register(any_agent)
    parent = Parent(any_agent, "submit_task", "wait", "steer_task", "wait", "get_result", "list")
    task_id = parent.call(**CHILD)["task_id"]
    waited = parent.call(task_ids=[task_id], timeout="1s")
    assert (waited["state"], waited["tasks"][0]["status"]) == ("running", "running")
    assert parent.call(task_id=task_id, message="it's; $HOME")["ok"] is True
    waited = parent.call(task_ids=[task_id], until="terminal")
    assert (waited["state"], waited["tasks"][0]["status"]) == ("reached", "completed")
    result = parent.call(task_id=task_id)
    assert (result["final"], "got=it's; $HOME" in result["summary"]) == (True, True)
    listed = parent.call(kind="tasks")["tasks"]
    assert [task["task_id"] for task in listed] == [task_id]
    assert "all is done" in parent.finish()
    status = any_agent.cuekit("task", "status", task_id)
    assert (status["status"], status["session_id"]) == ("completed", listed[0]["session_id"])
    wait_until(lambda: not servers(any_agent), 10, lambda: str(servers(any_agent)))


def servers(agent: RealAgent) -> list[str]:
    """The MCP servers that still live."""
    return [words for words in agent.processes().values() if "--mcp" in words]


def test_an_error_reaches_the_parent_as_the_command_line_has_it(any_agent: RealAgent) -> None:
    register(any_agent)
    (any_agent.cuekit_home / "config.yaml").unlink()
    parent = Parent(any_agent, "submit_task", "get_status")
    assert parent.call(**CHILD)["error"]["code"] == "shell_not_allowed"
    assert parent.call(task_ids=["t_nonesuch"])["error"]["code"] == "task_not_found"
    assert "all is done" in parent.finish()


REPORT = '"$CUEKIT_COMMAND" task report --type {} --message "{}" --format json'


def started(agent: RealAgent, *words: str) -> str:
    """A task of the agent, supervised by nobody but its pane; its id."""
    submit = ("task", "submit", "--agent-kind", agent.kind, "--trust", *words)
    return str(agent.cuekit(*submit)["task_id"])


def reports(agent: RealAgent, task_id: str) -> list[tuple[str, str, str]]:
    """Type, message and way of each report of a task."""
    task_dir = Path(agent.project, ".cuekit", "tasks", task_id)
    found = [event for event in events.read(str(task_dir)) if event["kind"] == "report"]
    return [(event["type"], event["message"], event["via"]) for event in found]


def test_a_child_asks_for_help_is_steered_and_says_how_it_came_out(any_agent: RealAgent) -> None:
    model = any_agent.model
    any_agent.trust()
    model.when("build it", Shell(REPORT.format("help_requested", "a or b?")), times=1)
    model.when("take b", Shell(REPORT.format("failed", "b does not build")), times=1)
    task_id = started(any_agent, "build it")
    wait = ("task", "wait", task_id, "--until")
    any_agent.cuekit_result(*wait, "idle", "--timeout", "60s")
    view = any_agent.cuekit("task", "status", task_id)
    assert view["status"] == "input_required", any_agent.cuekit_result("task", "events", task_id)
    assert view["reported"]["message"] == "a or b?"
    any_agent.cuekit("task", "steer", task_id, "take b")
    any_agent.cuekit_result(*wait, "idle", "--after", "1", "--timeout", "60s")
    assert reports(any_agent, task_id) == [
        ("help_requested", "a or b?", "shell"),
        ("failed", "b does not build", "shell"),
    ]
    view = any_agent.cuekit("task", "finish", task_id)
    assert (view["status"], view["error"]["code"]) == ("failed", "reported_failed")
    assert view["summary"] == "b does not build"


@pytest.mark.parametrize(
    ("sandbox", "told"),
    [("workspace-write", [("progress", "from inside", "file")]), ("read-only", [])],
)
def test_a_sandboxed_codex_reports_by_file_or_is_told_that_it_cannot(
    codex: RealAgent, sandbox: str, told: list[tuple[str, str, str]]
) -> None:
    codex.trust()
    with (codex.home / ".codex" / "config.toml").open("a") as config:
        config.write("[sandbox_workspace_write]\n")  # the store of the test is in /tmp
        config.write("exclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n")
    codex.model.when("report it", Shell(REPORT.format("progress", "from inside")), times=1)
    options = json.dumps({"sandbox": sandbox, "dangerously_skip_permissions": False})
    task_id = started(codex, "--mode", "batch", "--adapter-options", options, "report it")
    waited = codex.cuekit_result("task", "wait", task_id, "--timeout", "60s")
    answers = [answer for turn in codex.model.turns for answer in turn.tool_results]
    assert answers, waited
    answer = answers[-1]
    assert ("cannot_report" in answer) is (told == []), answer
    wait_until(lambda: reports(codex, task_id) == told, 10, lambda: str(reports(codex, task_id)))


def test_a_child_reports_over_mcp_as_itself(any_agent: RealAgent) -> None:
    register(any_agent)
    model = any_agent.model
    words = {"type": "completed", "message": "over MCP"}
    for told in NOT_YET:
        model.when(told, Pause(0.3), tool_call(any_agent, "report", words))
    model.when("report it", tool_call(any_agent, "report", words), times=1)
    task_id = started(any_agent, "--mode", "batch", "--reporting", "report it")
    any_agent.cuekit_result("task", "wait", task_id, "--timeout", "60s")
    assert reports(any_agent, task_id) == [("completed", "over MCP", "mcp")]
    assert any_agent.cuekit("task", "result", task_id)["summary"] == "over MCP"
    (prompt,) = model.turns[0].newest_user_messages
    assert prompt.startswith("report it\n\nReporting back:\n")
