"""The hook of a pane's approvals as a program: what it prints, and that it fails to a person."""

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import cuekit
from cuekit.launch import notify
from cuekit.launch import plan as plans
from cuekit.launch.script import hook_script
from cuekit.model.approval import Decision, DecisionKind
from cuekit.service import approvals as service
from cuekit.store import approvals, db, tasks
from tests.support.approval_place import Asking, asking
from tests.support.wait import wait_until

__all__ = ["asking"]

TASK = "t_aaaaaaaa"
PROGRAM = Path(cuekit.__file__).parent / "approvals" / "approval_hook.py"
BASH = {
    "session_id": "s",
    "tool_name": "Bash",
    "tool_input": {"command": "touch x", "description": "Make x"},
}


class Hook:
    """The script of the run folder, as an agent runs it."""

    def __init__(self, place: Asking, kind: str = "claude-code", **settings: Any) -> None:
        self.place = place
        self.run = Path(place.home.run(TASK))
        place.running(TASK)
        (self.run / "spool").mkdir()
        plan = plans.LaunchPlan(
            task_id=TASK,
            agent_kind=kind,
            mode="interactive",
            argv=[],
            cwd=str(place.project),
            task_dir=str(place.project / ".cuekit" / "tasks" / TASK),
            run_dir=str(self.run),
            home=place.home.root,
            stdin="tty",
            timeout_s=None,
            keep=False,
            tmux="tmux",
            socket_path="",
            session="",
            expects_evidence=True,
        )
        (self.run / "launch.json").write_text(json.dumps(plan._asdict()))
        (self.run / "inbox.json").write_text(json.dumps(settings))
        self.script = self.run / "hook"
        self.script.write_text(hook_script(sys.executable, str(PROGRAM)))
        self.script.chmod(0o700)

    def start(
        self, payload: Any = BASH, event: str = "PermissionRequest"
    ) -> "subprocess.Popen[str]":
        child = subprocess.Popen(
            [self.script, event],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"], "HOME": str(self.place.user)},
            cwd="/",
        )
        assert child.stdin is not None
        child.stdin.write(payload if isinstance(payload, str) else json.dumps(payload))
        child.stdin.close()
        child.stdin = None
        return child

    def asked(self) -> approvals.Approval:
        """The approval that waits, once it does."""
        found: list[approvals.Approval] = []

        def there() -> bool:
            with closing(db.open_store(self.place.home)) as store:
                found[:] = approvals.listed(store, state="pending")
            return bool(found)

        wait_until(there, 20)
        return found[0]

    def decide(self, approval_id: str, kind: DecisionKind, **values: Any) -> None:
        service.decide(approval_id, Decision(kind, **values), self.place.env)


@pytest.fixture
def hook(asking: Asking) -> Hook:
    return Hook(asking)


def said(child: "subprocess.Popen[str]") -> Any:
    """What the agent is told; None when nothing is."""
    out, errors = child.communicate(timeout=20)
    assert (child.returncode, errors) == (0, "")
    if not out:
        return None
    output = json.loads(out)["hookSpecificOutput"]
    assert output["hookEventName"] == "PermissionRequest"
    return output["decision"]


ANSWERS = [
    (DecisionKind.ALLOW, {}, {"behavior": "allow"}),
    (DecisionKind.ALLOW_ALWAYS, {"scope": "task"}, {"behavior": "allow"}),
    (
        DecisionKind.ALLOW,
        {"changed_input": {"command": "ls"}},
        {"behavior": "allow", "updatedInput": {"command": "ls", "description": "Make x"}},
    ),
    (DecisionKind.DENY, {"message": "no: \u202e"}, {"behavior": "deny", "message": "no: \u202e"}),
    (DecisionKind.DENY, {}, {"behavior": "deny", "message": "The user did not allow this."}),
    (
        DecisionKind.CANCEL_RUN,
        {},
        {"behavior": "deny", "message": "The user did not allow this.", "interrupt": True},
    ),
    (DecisionKind.HANDOVER, {}, None),
]


@pytest.mark.parametrize(("kind", "values", "told"), ANSWERS)
def test_each_decision_has_its_answer(
    hook: Hook, kind: DecisionKind, values: dict[str, Any], told: Any
) -> None:
    child = hook.start()
    asked = hook.asked()
    assert (asked.tool, asked.input, asked.reason) == ("shell", {"command": "touch x"}, "Make x")
    hook.decide(asked.approval_id, kind, **values)
    assert said(child) == told
    assert list((hook.run / "answered").iterdir()) == []
    spooled = {path.name.split(".")[1] for path in (hook.run / "spool").iterdir()}
    goes_on = {"PreToolUse"} if told else set()
    assert spooled == {"PermissionRequest"} | goes_on


def test_a_question_of_claude_is_answered_by_its_text(hook: Hook) -> None:
    question = {
        "question": "Which?",
        "multiSelect": True,
        "options": [{"label": "Red"}, {"label": "Blue"}],
    }
    asked_input = {"questions": [question]}
    child = hook.start({"tool_name": "AskUserQuestion", "tool_input": asked_input})
    asked = hook.asked()
    hook.decide(asked.approval_id, DecisionKind.ANSWER, answers={"": ["Red", "Blue"]})
    assert said(child) == {
        "behavior": "allow",
        "updatedInput": {**asked_input, "answers": {"Which?": "Red, Blue"}},
    }


def test_codex_cannot_change_its_input_or_end_its_turn(asking: Asking) -> None:
    hook = Hook(asking, "codex")
    payload = {"tool_name": "Bash", "tool_input": {"command": "/bin/bash -lc 'touch x'"}}
    child = hook.start(payload)
    asked = hook.asked()
    assert [str(kind) for kind in service.full_view(asked)["may"]] == [
        "allow",
        "allow_always",
        "deny",
        "handover",
    ]
    hook.decide(asked.approval_id, DecisionKind.ALLOW)
    assert said(child) == {"behavior": "allow"}


def test_a_patch_of_codex_names_its_files(asking: Asking) -> None:
    hook = Hook(asking, "codex")
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n+y\n"
        "*** Delete File: c.py\n*** End Patch\n"
    )
    child = hook.start({"tool_name": "apply_patch", "tool_input": {"command": patch}})
    asked = hook.asked()
    assert (asked.tool, asked.risk, asked.input["changes"]) == (
        "edit",
        "destructive",
        [
            {"path": "a.py", "kind": "update", "move_path": "b.py"},
            {"path": "c.py", "kind": "delete"},
        ],
    )
    hook.decide(asked.approval_id, DecisionKind.DENY)
    assert said(child)["behavior"] == "deny"


@pytest.mark.parametrize(
    "payload",
    ["", "{", "[]", "null", "{}", '{"tool_name": 1}', '{"tool_name": "Bash"}', "\xff\xfe"],
)
def test_what_is_not_understood_is_left_to_the_dialog(hook: Hook, payload: str) -> None:
    assert said(hook.start(payload)) is None
    with closing(db.open_store(hook.place.home)) as store:
        assert approvals.listed(store) == []


def test_without_a_plan_or_a_store_the_dialog_stands(hook: Hook) -> None:
    Path(hook.place.home.database).write_bytes(
        b"no database at all, but long enough to be one" * 99
    )
    assert said(hook.start()) is None
    assert (hook.run / "approval-hook.log").read_text()
    (hook.run / "launch.json").unlink()
    assert said(hook.start()) is None


def test_a_rule_decides_without_a_word_to_the_supervisor(hook: Hook) -> None:
    rule = hook.place.json("approval", "rules", "add", "allow", "--command", "touch x")
    assert said(hook.start()) == {"behavior": "allow"}
    assert list((hook.run / "spool").iterdir()) == []
    (one,) = hook.place.json("approval", "list", "--all")["approvals"]
    assert one["decided_by"] == f"rule:{rule['rule_id']}"


def test_after_its_time_it_hands_over(asking: Asking) -> None:
    hook = Hook(asking, handover_s=0.3)
    assert said(hook.start()) is None
    (one,) = asking.json("approval", "list", "--all")["approvals"]
    assert (one["decision"]["kind"], one["decided_by"]) == ("handover", "cuekit")


@pytest.mark.parametrize("event", ["PostToolUse", "PostToolUseFailure"])
def test_a_call_that_has_run_was_answered_at_the_pane(hook: Hook, event: str) -> None:
    child = hook.start()
    asked = hook.asked()
    wait_until(lambda: (hook.run / "answered").is_dir() and any((hook.run / "answered").iterdir()))
    other = {**BASH, "tool_input": {"command": "touch other"}}
    assert said(hook.start(other, event)) is None
    notify.wake(str(hook.run))
    assert hook.asked().approval_id == asked.approval_id
    assert said(hook.start({**BASH, "tool_response": {}}, event)) is None
    notify.wake(str(hook.run))  # as the supervisor does when it reads the spool
    assert said(child) is None
    after = hook.place.stored(asked.approval_id)
    assert (after.state, after.decided_how) == ("withdrawn", "answered at the pane")


def test_a_turn_that_is_over_was_answered_at_the_pane(hook: Hook) -> None:
    child = hook.start()
    asked = hook.asked()
    with closing(db.open_store(hook.place.home)) as store:
        idle = {"activity": "idle", "activity_source": "hook", "activity_since": 9e9}
        tasks.update(store, TASK, idle)
    notify.wake(str(hook.run))
    assert said(child) is None
    assert hook.place.stored(asked.approval_id).state == "withdrawn"


def test_a_turn_of_which_the_supervisor_reads_late_ends_nothing(hook: Hook) -> None:
    child = hook.start()
    asked = hook.asked()

    def supervisor_sees(**values: Any) -> None:
        with closing(db.open_store(hook.place.home)) as store:
            tasks.update(store, TASK, values)
        notify.wake(str(hook.run))

    supervisor_sees(activity="working", turn=1)  # the prompt came first, and is read only now
    supervisor_sees(activity="waiting_approval", turn=1)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.3)
    supervisor_sees(activity="working", turn=2)
    assert said(child) is None
    assert hook.place.stored(asked.approval_id).state == "withdrawn"


def test_a_title_that_looks_at_rest_ends_nothing(hook: Hook) -> None:
    child = hook.start()
    asked = hook.asked()
    with closing(db.open_store(hook.place.home)) as store:
        idle = {"activity": "idle", "activity_source": "title", "activity_since": 9e9}
        tasks.update(store, TASK, idle)
    notify.wake(str(hook.run))
    hook.decide(asked.approval_id, DecisionKind.ALLOW)
    assert said(child) == {"behavior": "allow"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_an_ended_hook_leaves_nothing_that_could_be_allowed(
    hook: Hook, number: signal.Signals
) -> None:
    child = hook.start()
    asked = hook.asked()
    wait_until(lambda: (hook.run / "answered").is_dir())
    child.send_signal(number)
    assert said(child) is None
    assert hook.place.stored(asked.approval_id).state == "abandoned"
    assert hook.place.error("approval", "allow", asked.approval_id) == (4, "approval_over")


def test_a_killed_hook_leaves_nothing_that_could_be_allowed(hook: Hook) -> None:
    child = hook.start()
    asked = hook.asked()
    child.kill()
    child.communicate()
    assert hook.place.error("approval", "allow", asked.approval_id) == (4, "approval_over")
    assert hook.place.stored(asked.approval_id).state == "abandoned"


def test_it_costs_no_processor_time_while_it_waits(hook: Hook) -> None:
    child = hook.start()
    hook.asked()
    wait_until(lambda: (hook.run / "answered").is_dir())
    before = _ticks(child.pid)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(2)
    used = _ticks(child.pid) - before
    child.kill()
    child.communicate()
    assert used <= 1  # of 200: under half a percent of a core


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_without_the_option_the_hook_only_tells(hook: Hook) -> None:
    (hook.run / "inbox.json").unlink()
    assert said(hook.start()) is None
    (spooled,) = (hook.run / "spool").iterdir()
    assert json.loads(spooled.read_text()) == BASH
