"""`cuekit agent list` and `task submit --role`."""

import json
from pathlib import Path

from tests.support.workplace import Workplace


def run(workplace: Workplace, *words: str) -> tuple[int, str, str]:
    started = workplace.command(*words)
    out, errors = started.communicate(timeout=30)
    return started.returncode, out, errors


def test_a_role_fills_in_what_the_caller_left_open(workplace: Workplace) -> None:
    agents = Path(workplace.home.root) / "agents"
    agents.mkdir(parents=True)
    (agents / "echoer.md").write_text("---\nagent_kind: shell\ndescription: echoes\n---\nEcho.\n")
    status, out, errors = run(workplace, "agent", "list", "--format", "json")
    assert (status, errors) == (0, "")
    mine = next(one for one in json.loads(out)["profiles"] if one["id"] == "echoer")
    assert (mine["source"], mine["agent_kind"], mine["files"]) == (
        "user",
        "shell",
        [str(agents / "echoer.md")],
    )
    words = ("task", "submit", "--role", "echoer", "--dry-run", "--format", "json", "echo hi")
    status, out, errors = run(workplace, *words)
    assert (status, errors) == (0, "")
    made = json.loads(out)
    assert made["agent_kind"] == "shell"
    assert made["defaults_applied"]["agent_kind"]["source"] == str(agents / "echoer.md")


def test_the_prompt_has_the_roles_instructions_and_auto_says_why(workplace: Workplace) -> None:
    fake = workplace.root / "bin"
    fake.mkdir()
    (fake / "codex").write_text("#!/bin/sh\necho codex-cli 0.171.0\n")
    (fake / "codex").chmod(0o755)
    workplace.env["PATH"] = f"{fake}:{workplace.env['PATH']}"
    words = ("task", "submit", "--agent-kind", "codex", "--role", "auto", "--dry-run")
    status, out, errors = run(workplace, *words, "--format", "json", "review the last commit")
    assert (status, errors) == (0, "")
    made = json.loads(out)
    assert made["defaults_applied"]["role"] == {
        "value": "reviewer",
        "source": "the task speaks of 'review'",
    }
    assert "You review a change." in made["prompt"]


def test_an_unknown_role_names_the_roles_there_are(workplace: Workplace) -> None:
    words = ("task", "submit", "--agent-kind", "shell", "--role", "reviwer", "true")
    status, out, errors = run(workplace, *words)
    assert (status, out) == (2, "")
    assert "no role 'reviwer'" in errors
    assert "did you mean 'reviewer'?" in errors
