"""Lifecycle hooks: each moment once, with nobody watching, and no harm from a hook that is bad."""

import contextlib
import json
import os
import shlex
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from cuekit.model.approval import Decision, DecisionKind
from cuekit.service import approvals
from cuekit.service import cancel as ending
from cuekit.service import submit as submitting
from cuekit.service.request import SubmitRequest
from tests.cli.test_own_agents import SETTINGS
from tests.support.wait import wait_until
from tests.support.workplace import Workplace

RECORD = """#!/bin/sh
umask 077
name="$(date +%s%N).$$"
{ env -0 | tr '\\0' '\\001'; } > "$1/$name.env"
cat > "$1/$name.json.new" && mv "$1/$name.json.new" "$1/$name.json"
"""


class Hooks:
    """A hook that writes down what it was told, and the user's configuration that names it."""

    def __init__(self, workplace: Workplace) -> None:
        self.workplace = workplace
        self.told = workplace.root / "told"
        self.told.mkdir()
        self.program = workplace.root / "record hook.sh"
        self.program.write_text(RECORD)
        self.program.chmod(0o755)

    def configure(self, *, limit: str = "10s", **commands: Any) -> None:
        hooks = {"time_limit": limit, **commands}
        Path(self.workplace.home.root).mkdir(mode=0o700, exist_ok=True)
        Path(self.workplace.home.config).write_text(json.dumps({"hooks": hooks}))

    def record(self, *events: str) -> dict[str, Any]:
        return {event: [str(self.program), str(self.told)] for event in events}

    def all(self) -> list[dict[str, Any]]:
        """What each hook was told, in the order of time."""
        return [json.loads(path.read_text()) for path in sorted(self.told.glob("*.json"))]

    def events(self, count: int) -> list[str]:
        wait_until(lambda: len(self.all()) >= count, 10, lambda: str(self.all()))
        return [one["event"] for one in self.all()]

    def environments(self) -> list[dict[str, str]]:
        return [
            dict(pair.split("=", 1) for pair in path.read_text().split("\1") if "=" in pair)
            for path in sorted(self.told.glob("*.env"))
        ]

    def problems(self, task_id: str) -> list[str]:
        """What the task's events say of hooks."""
        path = Path(self.workplace.task(task_id).task_dir, "events.jsonl")
        events = [json.loads(line) for line in path.read_text().splitlines()]
        return [event["message"] for event in events if "hook" in event]


@pytest.fixture
def hooks(workplace: Workplace) -> Hooks:
    return Hooks(workplace)


@pytest.mark.parametrize(
    ("objective", "more", "end"),
    [
        ("echo done", {}, "completed"),
        ("exit 3", {}, "failed"),
        ("sleep 60", {"timeout_s": 0.5}, "timed_out"),
        (
            '"$CUEKIT_COMMAND" task report --type blocked --message "no key"',
            {},
            "blocked",
        ),
    ],
)
def test_a_start_and_an_end_run_once_each_with_nobody_watching(
    hooks: Hooks, objective: str, more: dict[str, Any], end: str
) -> None:
    everything = ("started", "idle", "completed", "failed", "cancelled", "timed_out", "blocked")
    hooks.configure(**hooks.record(*everything))
    hostile = 'it\'s $(touch x) "`touch y`" ; \n #(touch z)'
    name = "a b; $(touch x)"
    done = hooks.workplace.command(
        *("task", "submit", "--agent-kind", "shell", "--mode", "batch", "--name", name),
        *("--timeout", f"{more.get('timeout_s', 60)}s", "--context", hostile, objective),
    )
    _, said = done.communicate(timeout=30)
    assert done.returncode == 0, said
    assert hooks.events(2) == ["started", end]
    time.sleep(0.5)
    started, ended = hooks.all()
    (task,) = hooks.workplace.tasks()
    assert (started["status"], ended["status"]) == ("running", end)
    assert (ended["task_id"], ended["name"], ended["cwd"]) == (
        task.task_id,
        name,
        str(hooks.workplace.project),
    )
    environment = hooks.environments()[-1]
    assert environment["CUEKIT_HOOK_NAME"] == name
    assert environment["CUEKIT_HOOK_EVENT"] == end
    assert environment["CUEKIT_HOOK_TASK_ID"] == task.task_id
    assert environment["HOME"] == hooks.workplace.env["HOME"]
    own = {entry for entry in environment if entry.startswith("CUEKIT_")}
    assert {"CUEKIT_TASK_ID", "CUEKIT_REPORT_TOKEN"}.isdisjoint(own), own
    assert not any("TOKEN" in entry for entry in environment)
    assert [path.name for path in hooks.workplace.project.iterdir()] == [".cuekit"]


def test_a_cancelled_task_says_so_once(hooks: Hooks) -> None:
    hooks.configure(**hooks.record("completed", "failed", "cancelled"))
    task_id = hooks.workplace.submit("sleep 60")
    hooks.workplace.cancel(task_id)
    hooks.workplace.cancel(task_id)
    assert hooks.events(1) == ["cancelled"]
    time.sleep(0.5)
    assert len(hooks.all()) == 1


def test_the_end_that_a_later_command_finds_runs_its_hook(hooks: Hooks) -> None:
    hooks.configure(**hooks.record("failed"))
    task_id = hooks.workplace.submit("sleep 60")
    supervisor = hooks.workplace.task(task_id).supervisor
    assert supervisor is not None
    os.kill(supervisor["pid"], 9)
    wait_until(lambda: hooks.workplace.status(task_id)["status"] == "failed", 10)
    assert hooks.events(1) == ["failed"]
    assert hooks.all()[0]["error"]["code"] == "supervisor_lost"


def test_the_end_of_a_task_that_never_started_runs_its_hook(hooks: Hooks) -> None:
    """The submit was killed before a pane was made, and a cancel comes before the settling."""
    hooks.configure(**hooks.record("started", "cancelled", "failed"))
    hooks.workplace.env["CUEKIT_FAULT"] = "submit.before_session"
    done = hooks.workplace.command("task", "submit", "--agent-kind", "shell", "true")
    done.communicate(timeout=30)
    del hooks.workplace.env["CUEKIT_FAULT"]
    (task,) = hooks.workplace.tasks()
    assert task.status == "failed"
    assert hooks.events(1) == ["failed"]


def test_a_hook_of_a_lost_task_runs_though_the_task_is_deleted_at_once(hooks: Hooks) -> None:
    hooks.configure(**hooks.record("failed"))
    task_id = hooks.workplace.submit("sleep 60")
    supervisor = hooks.workplace.task(task_id).supervisor
    assert supervisor is not None
    os.kill(supervisor["pid"], 9)
    deleting = hooks.workplace.command("task", "delete", task_id)
    _, said = deleting.communicate(timeout=20)
    assert deleting.returncode == 0, said
    assert hooks.events(1) == ["failed"]


def test_an_agent_that_cannot_be_started_fails_with_the_users_variables(hooks: Hooks) -> None:
    hooks.configure(**hooks.record("started", "failed"))
    agent = hooks.workplace.root / "codex"
    broken = hooks.workplace.root / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    agent.write_text(  # sound when it is looked at, broken when it is started
        '#!/bin/sh\ncase "$1" in --version) echo codex-cli 0.171.0; exit;; esac\n'
        'mv "${0%codex}broken" "$0"\n'
    )
    for program in (agent, broken):
        program.chmod(0o755)
    plan = {"adapters": {"codex": {"command": str(agent)}}}
    configured = json.loads(Path(hooks.workplace.home.config).read_text())
    Path(hooks.workplace.home.config).write_text(json.dumps(configured | plan))
    task_id = hooks.workplace.submit("hello", agent_kind="codex", mode="batch")
    assert hooks.workplace.ended(task_id).status == "failed"
    assert hooks.events(1) == ["failed"]
    assert hooks.environments()[0]["HOME"] == hooks.workplace.env["HOME"]


def test_a_supervised_task_tells_of_approvals_and_turns(hooks: Hooks) -> None:
    hooks.configure(**hooks.record("started", "idle", "approval_requested", "completed"))
    Path(hooks.workplace.home.config).write_text(
        json.dumps(json.loads(Path(hooks.workplace.home.config).read_text()) | SETTINGS)
    )
    task_id = hooks.workplace.submit("please make a file", agent_kind="demo")
    assert hooks.events(2) == ["started", "approval_requested"]
    (listed,) = approvals.list_approvals(hooks.workplace.env, task=task_id)
    asked = approvals.show(listed["approval_id"], hooks.workplace.env)
    told = hooks.all()[1]
    assert told["approval"] == {
        name: asked[name] for name in ("approval_id", "tool", "input", "reason", "risk")
    }
    assert told["activity"] == "waiting_approval"
    assert hooks.environments()[1]["CUEKIT_HOOK_APPROVAL_ID"] == asked["approval_id"]
    approvals.decide(asked["approval_id"], Decision(DecisionKind.ALLOW), hooks.workplace.env)
    assert hooks.events(3) == ["started", "approval_requested", "idle"]
    ending.finish(task_id, hooks.workplace.env)
    assert hooks.events(4) == ["started", "approval_requested", "idle", "completed"]
    time.sleep(0.5)
    assert len(hooks.all()) == 4
    given = [name for one in hooks.environments() for name in one]
    assert not [name for name in given if "TOKEN" in name or "SECRET" in name]


def test_a_request_for_help_is_a_moment(hooks: Hooks) -> None:
    hooks.configure(**hooks.record("input_required", "completed"))
    task_id = hooks.workplace.submit(
        '"$CUEKIT_COMMAND" task report --type help_requested --message "which?"; read x'
    )
    assert hooks.events(1) == ["input_required"]
    assert hooks.all()[0]["reported"]["message"] == "which?"
    hooks.workplace.cancel(task_id)


def test_a_hook_that_hangs_is_ended_with_all_that_it_started(hooks: Hooks) -> None:
    script = hooks.workplace.root / "hang.sh"
    pids = hooks.workplace.root / "pids"
    script.write_text('#!/bin/sh\nsleep 300 &\necho $$ $! > "$1"\nwait\n')
    script.chmod(0o755)
    hooks.configure(limit="1s", completed=[str(script), str(pids)])
    began = time.monotonic()
    task_id = hooks.workplace.submit("true", mode="batch")
    assert hooks.workplace.ended(task_id).status == "completed"
    assert time.monotonic() - began < 10
    wait_until(lambda: hooks.problems(task_id), 10)
    assert hooks.problems(task_id) == ["the hook for completed was ended after 1 s"]
    for pid in pids.read_text().split():
        wait_until(lambda: not Path(f"/proc/{pid}").exists(), 5)  # noqa: B023


def test_a_hook_that_fails_is_told_and_changes_nothing(hooks: Hooks) -> None:
    hooks.configure(completed=["sh", "-c", "echo no such bell >&2; exit 4"])
    task_id = hooks.workplace.submit("true", mode="batch")
    assert hooks.workplace.ended(task_id).status == "completed"
    wait_until(lambda: hooks.problems(task_id), 10)
    assert hooks.problems(task_id) == ["the hook for completed ended with 4: no such bell"]


def test_a_gigabyte_of_output_fills_nothing(hooks: Hooks) -> None:
    done = hooks.workplace.root / "done"
    hooks.configure(
        limit="60s",
        completed=[
            *("sh", "-c", 'head -c 1000000000 /dev/zero; touch "$1"; exit 5', "sh", str(done))
        ],
    )
    task_id = hooks.workplace.submit("true", mode="batch")
    assert hooks.workplace.ended(task_id).status == "completed"
    wait_until(done.exists, 60)
    wait_until(lambda: hooks.problems(task_id), 10)
    (said,) = hooks.problems(task_id)
    assert said.startswith("the hook for completed ended with 5")
    assert len(said) < 1000


def test_a_program_that_is_not_there_is_said_at_once(hooks: Hooks) -> None:
    hooks.configure(completed="no-such-bell")
    env = hooks.workplace.env
    request = SubmitRequest("true", agent_kind="shell", cwd=str(hooks.workplace.project))
    view = submitting.submit(request, env)
    assert view["warnings"] == [
        "hooks.completed: there is no program 'no-such-bell'; it will not run"
    ]
    hooks.workplace.ended(view["task_id"])


def test_a_projects_hooks_run_only_with_trust(hooks: Hooks) -> None:
    asked = {"hooks": hooks.record("completed"), "notifications": {"desktop": True}}
    (hooks.workplace.project / ".cuekit.yaml").write_text(json.dumps(asked))
    request = SubmitRequest(
        "true", agent_kind="shell", mode="batch", cwd=str(hooks.workplace.project)
    )
    view = submitting.submit(request, hooks.workplace.env)
    assert "hooks.completed, notifications.desktop" in str(view["warnings"])
    assert hooks.workplace.ended(view["task_id"]).status == "completed"
    trusting = hooks.workplace.command("trust")
    _, said = trusting.communicate(timeout=20)
    assert trusting.returncode == 0, said
    again = submitting.submit(request, hooks.workplace.env)
    assert hooks.workplace.ended(again["task_id"]).status == "completed"
    assert hooks.events(1) == ["completed"]
    assert [one["task_id"] for one in hooks.all()] == [again["task_id"]]


def test_notifications_reach_the_desktop_and_the_attached_terminal(hooks: Hooks) -> None:
    workplace = hooks.workplace
    programs = workplace.root / "programs"
    programs.mkdir()
    shown = hooks.told / "desktop"
    notifier = programs / "notify-send"
    notifier.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {shlex.quote(str(shown))}\n'
        f"env > {shlex.quote(str(shown))}.env\n"
    )
    notifier.chmod(0o755)
    workplace.env["PATH"] = f"{programs}:{workplace.env['PATH']}"
    Path(workplace.home.root).mkdir(mode=0o700, exist_ok=True)
    said = {"notifications": {"desktop": True, "terminal": True}}
    Path(workplace.home.config).write_text(json.dumps(said))
    person = workplace.submit("read x")
    master, terminal = os.openpty()
    os.set_blocking(master, False)
    tmux = ["tmux", "-S", str(workplace.server.socket)]
    with subprocess.Popen(
        [*tmux, "attach-session", "-t", f"=cuekit-task-{person}"],
        env={**workplace.env, "TERM": "xterm-256color"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    ) as client:
        wait_until(lambda: workplace.server.run("list-clients").strip(), 10)
        task_id = workplace.submit("printf 'no\\033]52;c;x\\007way\\n'; exit 3", name="second")
        workplace.ended(task_id)
        wait_until(shown.exists, 10)
        seen = b""

        def told() -> bool:
            nonlocal seen
            with contextlib.suppress(BlockingIOError):
                seen += os.read(master, 65536)
            return b"\x1b]9;cuekit second: failed" in seen

        wait_until(told, 10, lambda: seen)
        client.kill()
    os.close(terminal)
    os.close(master)
    workplace.cancel(person)
    assert "CUEKIT_REPORT_TOKEN" not in Path(f"{shown}.env").read_text()
    *_, title, body = shown.read_text().splitlines()
    assert (title, body.isprintable()) == ("cuekit second: failed", True)
    assert b"]52;" not in seen.partition(b"]9;")[2].partition(b"\x07")[0]
