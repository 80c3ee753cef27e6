"""The approvals of the real TUIs in the inbox: decided from a shell, by a rule, at the pane."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from cuekit.model.task import tmux_session_name
from tests.support.model_server import Call, Say, Shell
from tests.support.real_agents import RealAgent
from tests.support.wait import wait_until

PROMPT = "make the file"
COMMAND = "touch made-by-agent"
ESCALATED = {"sandbox_permissions": "require_escalated", "justification": "it is needed"}
HOOK = "approval_hook.py"


class Pane:
    """One interactive task whose approvals go to the inbox."""

    def __init__(self, agent: RealAgent, **options: Any) -> None:
        self.agent = agent
        own: dict[str, Any] = {"dangerously_skip_permissions": False}
        if agent.name == "codex":
            own = {"sandbox": "read-only", "ask_for_approval": "on-request"}
        agent.trust()
        given = json.dumps({"approvals": "inbox", **own, **options})
        self.task: str = agent.cuekit(
            *("task", "submit", "--agent-kind", agent.kind, "--trust"),
            *("--adapter-options", given, PROMPT),
        )["task_id"]
        self.target = f"={tmux_session_name(self.task)}:"

    def screen(self) -> str:
        return self.agent.tmux.try_run("capture-pane", "-p", "-t", self.target).stdout

    def asked(self) -> dict[str, Any]:
        """The one approval that waits."""
        found: list[dict[str, Any]] = []

        def there() -> bool:
            found[:] = self.agent.cuekit("approval", "list")["approvals"]
            return bool(found)

        wait_until(there, 60, self.screen)
        (one,) = found
        return one

    def shown(self, approval_id: str) -> dict[str, Any]:
        shown: dict[str, Any] = self.agent.cuekit("approval", "show", approval_id)
        return shown

    def until_over(self, approval_id: str) -> dict[str, Any]:
        """The approval once it waits no more."""
        wait_until(lambda: self.shown(approval_id)["state"] != "pending", 30, self.screen)
        return self.shown(approval_id)

    def until_idle(self) -> dict[str, Any]:
        """The status once the turn is over."""
        done = self.agent.cuekit_result(
            *("task", "wait", self.task, "--until", "idle", "--timeout", "60s"), timeout=90
        )
        assert done.returncode == 0, f"{done.stderr}\n{self.screen()}"
        status: dict[str, Any] = self.agent.cuekit("task", "status", self.task)
        return status

    def no_hook_is_left(self) -> None:
        wait_until(
            lambda: not [line for line in self.agent.processes().values() if HOOK in line],
            20,
            lambda: str(self.agent.processes()),
        )

    def dialog(self) -> None:
        """Wait until the agent's own dialog is on the screen."""
        words = "Would you like to run" if self.agent.name == "codex" else "Do you want to"
        wait_until(lambda: words in self.screen(), 30, self.screen)


def ask_for(agent: RealAgent, command: str = COMMAND) -> None:
    """The model wants to run a command that needs leave, and has a last word."""
    extra = ESCALATED if agent.name == "codex" else {}
    agent.model.when(PROMPT, Say("I will"), Shell(command, extra=extra))
    agent.model.default("It is done.")


def made(agent: RealAgent) -> bool:
    return (agent.project / "made-by-agent").exists()


def test_an_approval_is_allowed_from_another_shell(any_agent: RealAgent) -> None:
    ask_for(any_agent)
    pane = Pane(any_agent)
    asked = pane.asked()
    assert (asked["tool"], asked["risk"], asked["state"]) == ("shell", "write", "pending")
    assert asked["input"]["command"] == COMMAND
    waited = any_agent.cuekit("task", "wait", pane.task, "--until", "approval", "--timeout", "20s")
    (waiting,) = waited["pending_approvals"]
    assert waiting["approval_id"] == asked["approval_id"]
    assert waited["activity"] == "waiting_approval"
    assert not made(any_agent)
    any_agent.cuekit("approval", "allow", asked["approval_id"])
    status = pane.until_idle()
    assert made(any_agent)
    assert (status["last_turn"], status["summary"]) == ("completed", "It is done.")
    assert status["pending_approvals"] == []
    pane.no_hook_is_left()
    kinds = [
        (event["kind"], event.get("decision"))
        for event in _events(any_agent, pane.task)
        if event["kind"].startswith("approval")
    ]
    assert kinds == [("approval_requested", None), ("approval_resolved", "allow")]


def _events(agent: RealAgent, task: str) -> list[dict[str, Any]]:
    done = agent.cuekit_result("task", "events", task, "--format", "json")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_model_is_told_why_it_was_denied(any_agent: RealAgent) -> None:
    ask_for(any_agent)
    pane = Pane(any_agent)
    asked = pane.asked()
    any_agent.cuekit("approval", "deny", asked["approval_id"], "--message", "use the other file")
    assert pane.until_idle()["last_turn"] == "completed"
    assert not made(any_agent)
    told = json.dumps([turn.tool_results for turn in any_agent.model.turns])
    assert "use the other file" in told
    pane.no_hook_is_left()


def test_an_approval_is_handed_over_and_answered_at_the_pane(any_agent: RealAgent) -> None:
    ask_for(any_agent)
    pane = Pane(any_agent)
    asked = pane.asked()
    refused = any_agent.cuekit_result("task", "steer", pane.task, "y", "--format", "json")
    assert json.loads(refused.stderr)["error"]["hint"].endswith(asked["approval_id"])
    done = any_agent.cuekit("approval", "handover", asked["approval_id"])
    assert done["decision"] == {"kind": "handover"}
    pane.dialog()
    pane.no_hook_is_left()
    assert any_agent.cuekit("task", "status", pane.task)["activity"] == "waiting_approval"
    any_agent.tmux.key(pane.target, "Enter")
    assert pane.until_idle()["last_turn"] == "completed"
    assert made(any_agent)


def test_what_nobody_answers_in_time_is_handed_over(any_agent: RealAgent) -> None:
    ask_for(any_agent)
    pane = Pane(any_agent, approvals_handover_s=2)
    asked = pane.asked()
    over = pane.until_over(asked["approval_id"])
    assert (over["decision"]["kind"], over["decided_by"], over["how"]) == (
        "handover",
        "cuekit",
        "time",
    )
    pane.dialog()
    any_agent.tmux.key(pane.target, "Enter")
    assert pane.until_idle()["last_turn"] == "completed"
    assert made(any_agent)


def test_a_rule_decides_and_nobody_is_asked(any_agent: RealAgent) -> None:
    ask_for(any_agent)
    made_rule = any_agent.cuekit("approval", "rules", "add", "allow", "--command", COMMAND)
    pane = Pane(any_agent)
    assert pane.until_idle()["last_turn"] == "completed"
    assert made(any_agent)
    (one,) = any_agent.cuekit("approval", "list", "--all")["approvals"]
    assert (one["state"], one["decided_by"]) == ("decided", f"rule:{made_rule['rule_id']}")
    pane.no_hook_is_left()


def test_what_was_always_allowed_is_not_asked_again(any_agent: RealAgent) -> None:
    ask_for(any_agent)
    pane = Pane(any_agent)
    asked = pane.asked()
    any_agent.cuekit("approval", "allow", asked["approval_id"], "--always", "task")
    pane.until_idle()
    assert made(any_agent)
    (any_agent.project / "made-by-agent").unlink()
    any_agent.cuekit("task", "steer", pane.task, f"again: {PROMPT}")
    wait_until(lambda: made(any_agent), 60, pane.screen)
    assert pane.until_idle()["turn"] == 2
    assert any_agent.cuekit("approval", "list") == {"approvals": []}


@pytest.mark.parametrize(("key", "runs"), [("Enter", True), ("Escape", False)])
def test_who_answers_at_the_pane_first_ends_the_hook(
    claude: RealAgent, key: str, runs: bool
) -> None:
    ask_for(claude)
    pane = Pane(claude)
    asked = pane.asked()
    pane.dialog()
    claude.tmux.key(pane.target, key)
    over = pane.until_over(asked["approval_id"])
    assert over["state"] == "withdrawn"
    assert over["how"] in ("answered at the pane", "the agent took it back")
    pane.no_hook_is_left()
    pane.until_idle()
    assert made(claude) is runs
    late = claude.cuekit_result("approval", "allow", asked["approval_id"], "--format", "json")
    assert late.returncode == 4
    assert json.loads(late.stderr)["error"]["code"] == "approval_over"


def test_the_input_is_changed_before_it_runs(claude: RealAgent) -> None:
    ask_for(claude, "touch something-else")
    pane = Pane(claude)
    asked = pane.asked()
    edit = json.dumps({"command": COMMAND})
    claude.cuekit("approval", "allow", asked["approval_id"], "--edit", edit)
    pane.until_idle()
    assert made(claude)
    assert not (claude.project / "something-else").exists()


def test_a_question_is_answered_from_another_shell(claude: RealAgent) -> None:
    options = [{"label": name, "description": name} for name in ("Red", "Blue")]
    question = {"question": "Which?", "header": "Colour", "multiSelect": False, "options": options}
    claude.model.when(PROMPT, Call("AskUserQuestion", {"questions": [question]}))
    claude.model.default("So it is.")
    pane = Pane(claude)
    asked = pane.asked()
    assert pane.shown(asked["approval_id"])["may"] == ["answer", "deny", "cancel_run", "handover"]
    claude.cuekit("approval", "answer", asked["approval_id"], "Blue")
    assert pane.until_idle()["last_turn"] == "completed"
    told = json.dumps([turn.tool_results for turn in claude.model.turns])
    assert "Blue" in told
    pane.no_hook_is_left()


def test_cancel_run_ends_the_turn_of_claude(claude: RealAgent) -> None:
    ask_for(claude)
    pane = Pane(claude)
    asked = pane.asked()
    claude.cuekit("approval", "cancel-run", asked["approval_id"])
    assert pane.until_idle()["last_turn"] == "interrupted"
    assert not made(claude)
    pane.no_hook_is_left()


def test_an_edit_of_a_file_is_asked_for_with_its_path(claude: RealAgent) -> None:
    call = Call("Write", {"file_path": str(claude.project / "made-by-agent"), "content": "x\n"})
    claude.model.when(PROMPT, call)
    claude.model.default("It is done.")
    pane = Pane(claude)
    asked = pane.asked()
    assert (asked["tool"], asked["risk"]) == ("write", "write")
    assert asked["input"]["path"] == str(claude.project / "made-by-agent")
    claude.cuekit("approval", "allow", asked["approval_id"])
    assert pane.until_idle()["last_turn"] == "completed"
    assert made(claude)


def test_an_escape_at_the_pane_ends_what_codex_asked(codex: RealAgent) -> None:
    ask_for(codex)
    pane = Pane(codex)
    asked = pane.asked()
    codex.tmux.key(pane.target, "Escape")
    over = pane.until_over(asked["approval_id"])
    assert over["state"] == "abandoned"  # codex kills the hook, which has no time for a word
    pane.no_hook_is_left()
    assert not made(codex)


def test_a_cancelled_task_leaves_nothing_that_could_be_allowed(any_agent: RealAgent) -> None:
    ask_for(any_agent)
    pane = Pane(any_agent)
    asked = pane.asked()
    any_agent.cuekit("task", "cancel", pane.task)
    assert pane.shown(asked["approval_id"])["state"] == "abandoned"
    pane.no_hook_is_left()
    late = any_agent.cuekit_result("approval", "allow", asked["approval_id"])
    assert late.returncode == 4
    time.sleep(0.5)  # nothing runs late
    assert not made(any_agent)
