"""What the user's own configuration decides about approvals before any is asked."""

import json
from pathlib import Path
from typing import Any

import pytest

from cuekit.errors import InvalidInput
from cuekit.service import rules
from cuekit.service.request import SubmitRequest
from cuekit.service.submit import submit
from tests.support.workplace import Workplace


def configure(workplace: Workplace, approvals: dict[str, Any]) -> None:
    Path(workplace.home.root).mkdir(mode=0o700, exist_ok=True)
    Path(workplace.home.config).write_text(json.dumps({"approvals": approvals}))


def test_the_users_rules_are_those_of_each_task(workplace: Workplace) -> None:
    configure(
        workplace,
        {
            "rules": [
                {"effect": "deny", "command": "git push"},
                {"effect": "allow", "command": "make test"},
                {"effect": "allow", "tool": "edit", "path": "docs/**"},
            ],
            "preallow": ["read"],
        },
    )
    task_id = workplace.submit("sleep 60")
    found = rules.list_rules(workplace.env, everything=True)
    assert {rule["scope_ref"] for rule in found} == {task_id}
    assert {rule["made_by"] for rule in found} == {f"{workplace.home.config}:1"}
    assert str(workplace.project / "docs/**") in [rule["path"] for rule in found]

    def said(**what: Any) -> str:
        return str(rules.try_out(workplace.env, task=task_id, **what)["decision"])

    assert said(command="make test") == "allow"
    assert said(command="make test && git push --force") == "deny"
    assert said(command="make clean") == "ask"
    assert said(path="docs/a.md", tool="edit") == "allow"
    assert said(path="src/a.py", tool="edit") == "ask"
    assert said(path="a.txt", tool="read") == "allow"
    assert said(path=".", tool="list") == "ask"
    workplace.cancel(task_id)
    done = workplace.command("task", "delete", task_id)
    assert "removed" in done.communicate(timeout=30)[0]
    assert rules.list_rules(workplace.env, everything=True) == []


def test_a_rule_that_cannot_be_judged_is_named_and_nothing_starts(workplace: Workplace) -> None:
    configure(workplace, {"rules": [{"effect": "allow", "command": "make $(x)"}]})
    with pytest.raises(InvalidInput) as error:
        workplace.submit("true")
    assert error.value.code == "config_invalid"
    assert f"{workplace.home.config}:1: approvals.rules: rule 1: " in error.value.message
    assert workplace.tasks() == []


def test_a_project_has_no_say_in_it(workplace: Workplace) -> None:
    said = {"approvals": {"rules": [{"effect": "allow", "tool": "shell"}], "handover": "1s"}}
    (workplace.project / ".cuekit.yaml").write_text(json.dumps(said))
    trusting = workplace.command("trust")
    trusting.communicate(timeout=30)
    request = SubmitRequest("true", agent_kind="shell", cwd=str(workplace.project))
    view = submit(request, workplace.env)
    assert "approvals.rules, approvals.handover" in str(view["warnings"])
    assert rules.list_rules(workplace.env, everything=True) == []
    workplace.ended(view["task_id"])


def test_the_time_of_the_handover_is_filled_in(workplace: Workplace) -> None:
    configure(workplace, {"handover": "2m"})
    programs = workplace.root / "programs"
    programs.mkdir()
    agent = programs / "codex"
    agent.write_text("#!/bin/sh\necho codex-cli 0.171.0\n")
    agent.chmod(0o755)
    env = {**workplace.env, "PATH": f"{programs}:{workplace.env['PATH']}"}
    options = {"approvals": "inbox", "dangerously_skip_permissions": False}
    request = SubmitRequest(
        "hello",
        agent_kind="codex",
        cwd=str(workplace.project),
        adapter_options=options,
        dry_run=True,
    )
    applied = submit(request, env)["defaults_applied"]
    assert applied["adapter_options.approvals_handover_s"] == {
        "value": 120.0,
        "source": f"{workplace.home.config}:1",
    }
