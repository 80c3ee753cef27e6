"""The strict reading of adapter options: a typing error must not mean full bypass."""

from typing import Any

import pytest

from cuekit.agents import registry
from cuekit.agents.base import OptionProblem
from cuekit.model.task import TaskSpec


def problems(kind: str, options: dict[str, Any], model: str | None = None) -> list[OptionProblem]:
    spec = TaskSpec(kind, "x", model=model, adapter_options=options)
    return registry.get(kind).option_problems(spec, None)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("codex", {}),
        ("codex", {"mode": "batch", "sandbox": "read-only", "ask_for_approval": "never"}),
        ("codex", {"dangerously_skip_permissions": False, "cleanup_on_terminal_report": True}),
        ("gemini", {"approval_mode": "auto_edit"}),
        ("antigravity", {"sandbox": True}),
        ("jcode", {"provider_profile": "work"}),
        ("pi", {"dangerously_skip_permissions": True}),
    ],
)
def test_right_options_are_no_problem(kind: str, options: dict[str, Any]) -> None:
    assert problems(kind, options) == []


@pytest.mark.parametrize(
    ("kind", "options", "message", "hint"),
    [
        (
            "codex",
            {"sandbox": "readonly"},
            "sandbox takes one of: 'read-only', 'workspace-write', 'danger-full-access'; "
            "not 'readonly'",
            "did you mean 'read-only'?",
        ),
        (
            "codex",
            {"sandbox": True},
            "sandbox takes one of: 'read-only', 'workspace-write', 'danger-full-access'; not true",
            None,
        ),
        ("codex", {"sandbx": "read-only"}, "no option 'sandbx'", "did you mean 'sandbox'?"),
        ("codex", {"Sandbox": "read-only"}, "no option 'Sandbox'", "did you mean 'sandbox'?"),
        ("codex", {"sandbox_mode": "x"}, "no option 'sandbox_mode'", "did you mean 'sandbox'?"),
        (
            "codex",
            {"ask-for-approval": "never"},
            "no option 'ask-for-approval'",
            "did you mean 'ask_for_approval'?",
        ),
        (
            "codex",
            {"dangerously-skip-permissions": False},
            "no option 'dangerously-skip-permissions'",
            "did you mean 'dangerously_skip_permissions'?",
        ),
        (
            "claude-code",
            {"skip_permissions": False},
            "no option 'skip_permissions'",
            "did you mean 'dangerously_skip_permissions'?",
        ),
        (
            "claude-code",
            {"dangerously_skip_permissions": "false"},
            "dangerously_skip_permissions takes a boolean: true, false; not 'false'",
            "without quotes: false",
        ),
        (
            "claude-code",
            {"dangerously_skip_permissions": 0},
            "dangerously_skip_permissions takes a boolean: true, false; not 0",
            None,
        ),
        (
            "claude-code",
            {"dangerously_skip_permissions": None},
            "dangerously_skip_permissions takes a boolean: true, false; not None",
            None,
        ),
        (
            "claude-code",
            {"sandbox": "read-only"},
            "claude-code takes no option 'sandbox'",
            "its options on safety: mode, dangerously_skip_permissions, approvals, "
            "approval_channel",
        ),
        (
            "codex",
            {"approvals": "inbos"},
            "approvals takes one of: 'dialog', 'inbox'; not 'inbos'",
            "did you mean 'inbox'?",
        ),
        (
            "gemini",
            {"approvals": "inbox"},
            "gemini takes no option 'approvals'",
            "its options on safety: mode, approval_mode, dangerously_skip_permissions",
        ),
        (
            "gemini",
            {"approval_mode": "auto-edit"},
            "approval_mode takes one of: 'default', 'auto_edit', 'yolo', 'plan'; not 'auto-edit'",
            "did you mean 'auto_edit'?",
        ),
        (
            "codex",
            {"mode": "bach"},
            "mode takes one of: 'interactive', 'batch', 'supervised'; not 'bach'",
            "did you mean 'batch'?",
        ),
        (
            "pi",
            {"dangerously_skip_permissions": False},
            "no way is known to make pi ask before it acts",
            "use an agent that asks, or --lenient to run it all the same",
        ),
    ],
)
def test_what_bears_on_safety_is_refused(
    kind: str, options: dict[str, Any], message: str, hint: str | None
) -> None:
    (name,) = options
    found = problems(kind, options)
    if options.get("mode") == "bach":
        hint = "did you mean 'batch'?"
    assert found == [OptionProblem(name, message, hint, fatal=True)]


@pytest.mark.parametrize(
    ("kind", "options", "message", "hint"),
    [
        ("codex", {"colour": 1}, "codex takes no option 'colour'; it is ignored", None),
        (
            "jcode",
            {"provider_profil": "x"},
            "jcode takes no option 'provider_profil'; it is ignored",
            "did you mean 'provider_profile'?",
        ),
        (
            "jcode",
            {"provider_profile": 3},
            "provider_profile takes a text, not 3",
            None,
        ),
        (
            "codex",
            {"cleanup_on_terminal_report": "yes"},
            "cleanup_on_terminal_report takes a boolean: true, false; not 'yes'",
            None,
        ),
    ],
)
def test_other_options_are_only_warned_of(
    kind: str, options: dict[str, Any], message: str, hint: str | None
) -> None:
    (name,) = options
    assert problems(kind, options) == [OptionProblem(name, message, hint, fatal=False)]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("", "the model is empty"),
        ("  ", "the model is empty"),
        ("-x", "a model does not begin with a dash: '-x'"),
        ("a\nb", "the model holds a control character: 'a\\nb'"),
    ],
)
def test_a_model_that_no_command_line_can_carry_is_refused(model: str, message: str) -> None:
    assert problems("codex", {}, model) == [OptionProblem("model", message)]


@pytest.mark.parametrize("model", ["gpt 5", "it's", 'a"b', "é", "m;n"])
def test_a_model_may_have_spaces_and_quotes(model: str) -> None:
    assert problems("codex", {}, model) == []


def test_every_problem_is_told() -> None:
    found = problems("codex", {"sandbox": "x", "ask_for_approval": 1, "zzz": 1}, "-m")
    assert [problem.name for problem in found] == ["model", "sandbox", "ask_for_approval", "zzz"]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("claude-code", {}),
        ("codex", {}),
        ("codex", {"sandbox": "read-only"}),
        ("codex", {"ask_for_approval": "never"}),
    ],
)
def test_an_inbox_for_an_agent_that_never_asks_is_refused(
    kind: str, options: dict[str, Any]
) -> None:
    (found,) = problems(kind, {**options, "approvals": "inbox"})
    said = f"approvals: inbox, but {kind} would be started so that it never asks"
    assert (found.name, found.message, found.fatal, found.together) == (
        "approvals",
        said,
        True,
        True,
    )


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("claude-code", {"dangerously_skip_permissions": False}),
        ("codex", {"dangerously_skip_permissions": False}),
        ("codex", {"sandbox": "read-only", "ask_for_approval": "on-request"}),
        ("codex", {"mode": "supervised"}),
    ],
)
def test_an_inbox_for_an_agent_that_asks_is_taken(kind: str, options: dict[str, Any]) -> None:
    assert problems(kind, {**options, "approvals": "inbox", "approvals_handover_s": 1.5}) == []


@pytest.mark.parametrize("value", [0, -1, "10", True, None, [1]])
def test_the_time_of_a_handover_is_a_number_of_seconds(value: Any) -> None:
    options = {"dangerously_skip_permissions": False, "approvals_handover_s": value}
    (found,) = problems("codex", options)
    assert found.message.startswith("approvals_handover_s takes a number of seconds, not ")
