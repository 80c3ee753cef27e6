"""The command lines of Claude Code."""

import sys
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from cuekit.agents import claude_code
from cuekit.agents.base import LaunchContext
from cuekit.agents.quoting import LARGEST_ARGUMENT
from cuekit.model.task import Mode, TaskSpec

BYPASS = "--dangerously-skip-permissions"
CONTEXT = LaunchContext(
    binary="/opt/bin/claude",
    version="2.1.332",
    known_flags=frozenset(),
    task_id="t_abcdefgh",
    run_dir="/run/t",
    task_dir="/task",
    cwd="/folder",
    prompt_file="/task/prompt.md",
    folder_trusted=False,
    hook_program=None,
)


def spec(objective: str = "x", *, model: str | None = None, **options: Any) -> TaskSpec:
    return TaskSpec("claude-code", objective, model=model, adapter_options=options)


@pytest.mark.parametrize(
    ("options", "model", "expected"),
    [
        ({}, None, f"claude {BYPASS} 'x'"),
        ({}, "opus", f"claude {BYPASS} --model 'opus' 'x'"),
        ({"mode": "batch"}, None, f"claude {BYPASS} -p 'x'"),
        ({"mode": "batch"}, "a b", f"claude {BYPASS} --model 'a b' -p 'x'"),
        ({"dangerously_skip_permissions": False}, None, "claude 'x'"),
        ({"dangerously_skip_permissions": False, "mode": "batch"}, None, "claude -p 'x'"),
        ({"sandbox": "read-only"}, None, f"claude {BYPASS} 'x'"),
    ],
)
def test_command_lines_without_a_context(
    options: dict[str, Any], model: str | None, expected: str
) -> None:
    assert claude_code.command_line(spec(model=model, **options)) == expected


@pytest.mark.parametrize("prompt", ["-x", "--fix x", "mcp", "update", "doctor"])
@pytest.mark.parametrize(("mode", "before"), [("interactive", BYPASS), ("batch", "-p")])
def test_what_claude_would_not_read_as_a_prompt_stands_behind_two_dashes(
    prompt: str, mode: str, before: str
) -> None:
    assert claude_code.arguments(spec(prompt, mode=mode))[-3:] == (before, "--", prompt)


def test_added_folders_do_not_swallow_the_prompt() -> None:
    added = replace(spec("do it"), add_dirs=("/a", "/b"))
    assert claude_code.arguments(added) == (
        *("claude", BYPASS, "--add-dir", "/a", "--add-dir", "/b", "--", "do it"),
    )


def test_a_launch_that_must_ask_names_the_mode_that_asks() -> None:
    safe = spec("do it", dangerously_skip_permissions=False)
    launch = claude_code.launch(safe, CONTEXT)
    assert launch.argv == ("/opt/bin/claude", "--permission-mode", "default", "do it")
    assert (launch.stdin, launch.warnings) == ("tty", ())


def test_a_batch_launch_closes_standard_input() -> None:
    launch = claude_code.launch(spec("do it", mode="batch"), CONTEXT)
    assert launch.argv == ("/opt/bin/claude", BYPASS, "-p", "do it")
    assert launch.stdin == "null"


@pytest.mark.parametrize("bypass", [True, False])
def test_settings_of_the_launch_lie_in_the_run_folder(
    bypass: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, bool]] = []

    def settings(hook_program: str, *, bypass: bool) -> str:
        seen.append((hook_program, bypass))
        return "{}"

    stand_in = ModuleType("cuekit.agents.claude_settings")
    stand_in.__dict__["settings"] = settings
    monkeypatch.setitem(sys.modules, "cuekit.agents.claude_settings", stand_in)
    context = replace(CONTEXT, hook_program="/run/t/hook")
    launch = claude_code.launch(spec("do it", dangerously_skip_permissions=bypass), context)
    assert seen == [("/run/t/hook", bypass)]
    assert launch.files == {"settings.json": "{}"}
    assert launch.argv[-3:] == ("--settings", "/run/t/settings.json", "do it")


@pytest.mark.parametrize("mode", ["interactive", "batch"])
@pytest.mark.parametrize("prompt", ["x", "a" * (LARGEST_ARGUMENT + 1)])
def test_trust_is_given_for_the_launch_only_when_the_user_gave_it(mode: str, prompt: str) -> None:
    trusted = replace(CONTEXT, folder_trusted=True)
    given = claude_code.launch(spec(prompt, mode=mode), trusted).environment
    without = claude_code.launch(spec(prompt, mode=mode), CONTEXT).environment
    assert given == {**without, "CLAUDE_CODE_SANDBOXED": "1"}


def test_the_tui_draws_where_its_scrollback_can_be_read() -> None:
    launches = {m: claude_code.launch(spec("x", mode=m), CONTEXT) for m in ("interactive", "batch")}
    assert {mode: launch.environment for mode, launch in launches.items()} == {
        "interactive": {"CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN": "1"},
        "batch": {},
    }


@pytest.mark.parametrize("extra", [0, 1])
def test_a_prompt_too_long_for_an_argument_travels_otherwise(extra: int) -> None:
    prompt = "a" * (LARGEST_ARGUMENT + extra)
    batch = claude_code.launch(spec(prompt, mode="batch"), CONTEXT)
    tui = claude_code.launch(spec(prompt), CONTEXT)
    if extra:
        assert (batch.argv[-1], batch.stdin, batch.prompt_delivery) == ("-p", "prompt", "stdin")
        assert (tui.argv, tui.prompt_delivery) == (("/opt/bin/claude", BYPASS), "paste")
    else:
        assert (batch.argv[-1], batch.stdin, batch.prompt_delivery) == (prompt, "null", "argument")
        assert (tui.argv[-1], tui.prompt_delivery) == (prompt, "argument")


@pytest.mark.parametrize("mode", ["interactive", "batch"])
def test_a_slash_at_the_start_is_made_text(mode: str) -> None:
    launch = claude_code.launch(spec("/etc is odd", mode=mode), CONTEXT)
    assert launch.argv[-1] == " /etc is odd"
    assert launch.warnings == (
        "a space was put before the prompt, so that its '/' is taken as text",
    )
    meant = replace(CONTEXT, as_command=True)
    assert claude_code.launch(spec("/init now", mode=mode), meant).argv[-1] == "/init now"


@pytest.mark.parametrize("prompt", ["!ls", "$HOME", "@file x", "# title"])
def test_other_characters_are_text_at_the_start(prompt: str) -> None:
    assert claude_code.launch(spec(prompt), CONTEXT).argv[-1] == prompt


@pytest.mark.parametrize(
    ("mode", "version", "refused"),
    [
        (Mode.BATCH, "2.1.167", False),
        (Mode.BATCH, "2.1.332", False),
        (Mode.BATCH, None, False),
        (Mode.INTERACTIVE, "2.1.167", False),
        (Mode.INTERACTIVE, "2.1.197", False),
        (Mode.INTERACTIVE, "2.1.332", True),
        (Mode.INTERACTIVE, None, True),
    ],
)
def test_a_slash_is_refused_where_a_space_does_not_help(
    mode: Mode, version: str | None, refused: bool
) -> None:
    said = "claude would act on the first character of this prompt, '/'"
    expected = said if refused else None
    assert claude_code.first_prompt_problem("/x", mode, version) == expected
    assert claude_code.first_prompt_problem("x/", mode, version) is None


def test_a_long_prompt_that_would_be_a_command_is_refused_in_batch() -> None:
    long = "/" + "a" * LARGEST_ARGUMENT
    assert claude_code.first_prompt_problem(long, Mode.BATCH, "2.1.167") is not None
    assert claude_code.first_prompt_problem(long[:-2], Mode.BATCH, "2.1.167") is None


def test_root_is_told_what_claude_refuses() -> None:
    assert claude_code.root_problem(spec()) == (
        "claude refuses to run without asking as root: run as another user, set IS_SANDBOX=1 "
        "where this machine is a sandbox, or give dangerously_skip_permissions: false"
    )
    assert claude_code.root_problem(spec(dangerously_skip_permissions=False)) is None


def test_batch_says_that_nobody_can_be_asked() -> None:
    safe = spec("do it", mode="batch", dangerously_skip_permissions=False)
    assert claude_code.launch(safe, CONTEXT).warnings == (
        "claude -p has nobody to ask: in batch what would need approval is refused",
    )
