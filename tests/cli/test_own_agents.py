"""An agent kind of the user's own, configured by its command, is driven over ACP."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.workplace import Workplace

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tools.demo_agent import main; main()"
)
SETTINGS = {"adapters": {"demo": {"protocol": "acp", "command": [sys.executable, "-c", PROGRAM]}}}


def run(workplace: Workplace, *words: str, status: int = 0) -> Any:
    started = workplace.command(*words, "--format", "json")
    out, errors = started.communicate(timeout=60)
    assert started.returncode == status, errors
    return json.loads(out or errors)


@pytest.fixture
def configured(workplace: Workplace) -> Workplace:
    home = Path(workplace.home.root)
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(json.dumps(SETTINGS))
    return workplace


def pending(workplace: Workplace, task: dict[str, Any]) -> dict[str, Any]:
    run(workplace, "task", "wait", task["task_id"], "--until", "approval", "--timeout", "30s")
    found: list[dict[str, Any]] = run(workplace, "approval", "list")["approvals"]
    (asked,) = [one for one in found if one["state"] == "pending"]
    return asked


def test_it_is_supervised_and_waits_for_leave(configured: Workplace) -> None:
    task = run(configured, "task", "submit", "--agent-kind", "demo", "please make a file")
    assert task["mode"] == "supervised"
    asked = pending(configured, task)
    assert not (configured.project / "demo.txt").exists()
    run(configured, "approval", "allow", asked["approval_id"])
    view = run(configured, "task", "wait", task["task_id"], "--until", "idle", "--timeout", "30s")
    assert view["summary"].endswith("demo.txt is written.")
    assert (configured.project / "demo.txt").exists()
    done = run(configured, "task", "finish", task["task_id"])
    assert done["status"] == "completed"


def test_a_denial_leaves_it_undone(configured: Workplace) -> None:
    task = run(configured, "task", "submit", "--agent-kind", "demo", "please make a file")
    run(configured, "approval", "deny", pending(configured, task)["approval_id"])
    run(configured, "task", "wait", task["task_id"], "--until", "idle", "--timeout", "30s")
    assert not (configured.project / "demo.txt").exists()
    run(configured, "task", "cancel", task["task_id"])


def test_it_has_no_other_mode(configured: Workplace) -> None:
    words = ("task", "submit", "--agent-kind", "demo", "--mode", "batch", "make")
    error = run(configured, *words, status=2)["error"]
    assert error["code"] == "mode_not_supported"


def test_an_untrusted_projects_own_agent_is_not_known(workplace: Workplace) -> None:
    (workplace.project / ".cuekit.yaml").write_text(json.dumps(SETTINGS))
    error = run(workplace, "task", "submit", "--agent-kind", "demo", "make", status=2)["error"]
    assert error["code"] == "unknown_agent_kind"


@pytest.mark.parametrize(
    ("adapters", "said"),
    [
        ({"demo": {"protocol": "acp"}}, "needs a command"),
        ({"codex": {"protocol": "acp", "command": "x"}}, "is built in"),
        ({"De mo": {"protocol": "acp", "command": "x"}}, "small letters"),
        ({"demo": {"protocol": "http", "command": "x"}}, "'acp'"),
    ],
)
def test_a_wrong_one_is_named_with_its_line(
    workplace: Workplace, adapters: dict[str, Any], said: str
) -> None:
    home = Path(workplace.home.root)
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(json.dumps({"adapters": adapters}))
    error = run(workplace, "task", "submit", "--agent-kind", "shell", "true", status=2)["error"]
    assert error["code"] == "config_invalid"
    assert "config.yaml:1" in error["message"]
    assert said in error["message"]
