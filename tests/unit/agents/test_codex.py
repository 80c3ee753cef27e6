"""The command lines of codex: each line of its design, and what a real launch adds."""

import json
import shlex
from dataclasses import replace
from typing import Any

import pytest

from cuekit.agents import codex, registry
from cuekit.agents.base import LaunchContext
from cuekit.agents.quoting import LARGEST_ARGUMENT
from cuekit.model.task import Mode, TaskSpec

BYPASS = "--dangerously-bypass-approvals-and-sandbox"
CONTEXT = LaunchContext(
    binary="/opt/bin/codex",
    version="0.171.0",
    known_flags=frozenset({"--no-alt-screen", "--no-daemon", "--sandbox"}),
    task_id="t_abcdefgh",
    run_dir="/run/t",
    task_dir="/task",
    cwd="/a folder",
    prompt_file="/task/prompt.md",
    folder_trusted=False,
    hook_program=None,
)


def spec(objective: str = "x", *, model: str | None = None, **options: Any) -> TaskSpec:
    return TaskSpec("codex", objective, model=model, adapter_options=options)


def test_capabilities_are_those_of_the_design_in_its_default_mode() -> None:
    found = codex.capabilities(Mode.INTERACTIVE).as_json()
    designed = {
        "agent_kind": "codex",
        "supports_steering": True,
        "supports_attach": True,
        "supports_model_selection": True,
        "supports_artifacts": True,
        "supports_live_progress": False,
        "default_mode": "interactive",
        "supported_modes": ["interactive", "batch", "supervised"],  # the last one came later
    }
    assert {name: found[name] for name in designed} == designed


def test_a_batch_run_cannot_be_steered() -> None:
    found = codex.capabilities(Mode.BATCH)
    assert (found.supports_steering, found.supports_attach, found.mode) == (
        False,
        True,
        Mode.BATCH,
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, f"codex {BYPASS} 'x'"),
        ({"mode": "batch"}, f"codex exec {BYPASS} 'x'"),
        ({"dangerously_skip_permissions": False}, "codex 'x'"),
        ({"dangerously_skip_permissions": False, "mode": "batch"}, "codex exec 'x'"),
        ({"dangerously_skip_permissions": "false"}, f"codex {BYPASS} 'x'"),
        ({"sandbox": "read-only"}, "codex -s read-only -a never 'x'"),
        ({"sandbox": "workspace-write"}, "codex -s workspace-write -a never 'x'"),
        ({"sandbox": "danger-full-access"}, "codex -s danger-full-access -a never 'x'"),
        (
            {"sandbox": "workspace-write", "dangerously_skip_permissions": True},
            "codex -s workspace-write -a never 'x'",
        ),
        (
            {"sandbox": "workspace-write", "ask_for_approval": "on-request"},
            "codex -s workspace-write -a on-request 'x'",
        ),
        (
            {"sandbox": "read-only", "ask_for_approval": "sometimes"},
            "codex -s read-only -a never 'x'",
        ),
        ({"ask_for_approval": "untrusted"}, "codex -a untrusted 'x'"),
        ({"ask_for_approval": "on-failure"}, "codex -a on-failure 'x'"),
        ({"ask_for_approval": "on-request"}, "codex -a on-request 'x'"),
        ({"ask_for_approval": "never"}, "codex -a never 'x'"),
        ({"ask_for_approval": "always"}, f"codex {BYPASS} 'x'"),
        ({"sandbox": "readonly"}, f"codex {BYPASS} 'x'"),
        ({"sandbox": True}, f"codex {BYPASS} 'x'"),
        ({"sandbox": ["read-only"]}, f"codex {BYPASS} 'x'"),
        ({"mode": "nonsense"}, f"codex {BYPASS} 'x'"),
        # codex exec takes no -a (exit 2 in 0.133.0, 0.141.0 and 0.171.0) and never asks
        ({"mode": "batch", "sandbox": "read-only"}, "codex exec -s read-only 'x'"),
        (
            {"mode": "batch", "sandbox": "workspace-write", "ask_for_approval": "on-request"},
            "codex exec -s workspace-write 'x'",
        ),
        ({"mode": "batch", "ask_for_approval": "on-request"}, "codex exec 'x'"),
    ],
)
def test_permission_groups_exclude_one_another(options: dict[str, Any], expected: str) -> None:
    assert codex.command_line(spec(**options)) == expected


@pytest.mark.parametrize(
    ("model", "shown"),
    [("gpt-5", "'gpt-5'"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("$(x)", "'$(x)'")],
)
def test_a_model_is_always_quoted(model: str, shown: str) -> None:
    assert codex.command_line(spec(model=model)) == f"codex {BYPASS} -m {shown} 'x'"


def test_the_model_stands_between_the_permissions_and_the_prompt() -> None:
    line = codex.command_line(spec(model="gpt-5", mode="batch", sandbox="read-only"))
    assert line == "codex exec -s read-only -m 'gpt-5' 'x'"


@pytest.mark.parametrize("prompt", ["it's", "a'b'c'", "two\nlines", 'say "no"', "$HOME `id` \\"])
def test_a_prompt_survives_a_shell(prompt: str) -> None:
    line = codex.command_line(spec(prompt))
    assert shlex.split(line) == ["codex", BYPASS, prompt]
    assert codex.arguments(spec(prompt)) == ("codex", BYPASS, prompt)


def test_single_quotes_are_quoted_as_posix_has_it() -> None:
    assert codex.command_line(spec("it's")) == f"codex {BYPASS} 'it'\\''s'"


@pytest.mark.parametrize(
    ("binary", "shown"),
    [
        ("/opt/codex/bin/codex", "/opt/codex/bin/codex"),
        ("/opt/my codex/codex", "'/opt/my codex/codex'"),
    ],
)
def test_a_custom_binary_is_used(binary: str, shown: str) -> None:
    assert codex.command_line(spec(), binary=binary) == f"{shown} {BYPASS} 'x'"
    assert codex.arguments(spec(mode="batch"), binary=binary) == (binary, "exec", BYPASS, "x")


@pytest.mark.parametrize("prompt", ["-", "-x", "--help", "resume", "review", "help", "exec"])
@pytest.mark.parametrize("mode", ["interactive", "batch"])
def test_what_codex_would_not_read_as_a_prompt_stands_behind_two_dashes(
    prompt: str, mode: str
) -> None:
    assert codex.arguments(spec(prompt, mode=mode))[-2:] == ("--", prompt)


def test_a_sentence_that_begins_with_a_subcommand_needs_no_dashes() -> None:
    assert codex.arguments(spec("resume the work"))[-2:] == (BYPASS, "resume the work")


def test_an_interactive_launch_adds_what_an_unattended_pane_needs() -> None:
    launch = codex.launch(spec("do it", model="gpt-5"), CONTEXT)
    assert launch.argv == (
        "/opt/bin/codex",
        BYPASS,
        "-m",
        "gpt-5",
        "-c",
        "features.daemon_auto_start=false",
        "--no-daemon",
        "--no-alt-screen",
        "do it",
    )
    assert (launch.stdin, launch.prompt_delivery, launch.warnings) == ("tty", "argument", ())


def test_flags_that_the_installed_version_does_not_know_are_left_out() -> None:
    context = replace(CONTEXT, known_flags=frozenset())
    assert codex.arguments(spec("do it"), context) == (
        "/opt/bin/codex",
        BYPASS,
        "-c",
        "features.daemon_auto_start=false",
        "do it",
    )


def test_a_batch_launch_closes_standard_input_and_keeps_the_last_message() -> None:
    launch = codex.launch(spec("do it", mode="batch", sandbox="workspace-write"), CONTEXT)
    last = "/run/t/last-message.txt"
    assert launch.argv == (
        "/opt/bin/codex",
        "exec",
        "-s",
        "workspace-write",
        "--skip-git-repo-check",
        "-o",
        last,
        "do it",
    )
    assert (launch.stdin, launch.last_message_file) == ("null", last)


@pytest.mark.parametrize("mode", ["interactive", "batch"])
def test_trust_is_given_for_the_launch_only_when_the_user_gave_it(mode: str) -> None:
    setting = 'projects={"/a folder"={trust_level="trusted"}}'
    trusted = replace(CONTEXT, folder_trusted=True)
    assert setting in codex.arguments(spec(mode=mode), trusted)
    assert setting not in codex.arguments(spec(mode=mode), CONTEXT)
    assert "--skip-git-repo-check" not in codex.arguments(spec(mode=mode), trusted)


@pytest.mark.parametrize(
    ("version", "recorded", "given"),
    [
        ("0.133.0", None, True),
        ("0.141.0", None, True),
        (None, None, True),
        ("0.171.0", None, False),
        ("0.141.0", True, False),
        ("0.141.0", False, False),
    ],
)
def test_a_batch_run_is_kept_from_recording_trust(
    version: str | None, recorded: bool | None, given: bool
) -> None:
    context = replace(CONTEXT, version=version, recorded_trust=recorded)
    setting = 'projects={"/a folder"={trust_level="untrusted"}}'
    assert (setting in codex.arguments(spec(mode="batch"), context)) is given
    assert setting not in codex.arguments(spec(), context)


def test_a_folder_name_of_any_kind_becomes_a_toml_key() -> None:
    import tomllib

    for folder in ("/it's", '/a"b', "/back\\slash", "/é \x7f", "/#(touch x)"):
        context = replace(CONTEXT, cwd=folder, folder_trusted=True)
        (setting,) = [w for w in codex.arguments(spec(), context) if w.startswith("projects=")]
        assert tomllib.loads(setting) == {"projects": {folder: {"trust_level": "trusted"}}}


@pytest.mark.parametrize("mode", ["interactive", "batch"])
def test_hooks_are_given_with_the_launch(mode: str) -> None:
    context = replace(CONTEXT, hook_program="/run/t/hook")
    words = codex.arguments(spec(mode=mode), context)
    assert any(word.startswith("hooks.Stop=") and "'/run/t/hook' Stop" in word for word in words)
    assert any(word.startswith("hooks.state=") for word in words)


@pytest.mark.parametrize("size", [LARGEST_ARGUMENT, LARGEST_ARGUMENT + 1])
@pytest.mark.parametrize("letter", ["a", "é", "\U0001f600"])
def test_a_prompt_too_long_for_an_argument_travels_otherwise(size: int, letter: str) -> None:
    width = len(letter.encode())
    prompt = letter * (size // width) + "a" * (size % width)
    fits = size <= LARGEST_ARGUMENT
    batch = codex.launch(spec(prompt, mode="batch"), CONTEXT)
    tui = codex.launch(spec(prompt), CONTEXT)
    if fits:
        assert (batch.argv[-1], batch.stdin, batch.prompt_delivery) == (prompt, "null", "argument")
        assert (tui.argv[-1], tui.prompt_delivery) == (prompt, "argument")
    else:
        assert (batch.argv[-1], batch.stdin, batch.prompt_delivery) == ("-", "prompt", "stdin")
        assert (tui.argv[-1], tui.prompt_delivery) == ("--no-alt-screen", "paste")


def test_a_lone_dash_is_read_from_standard_input_as_a_prompt() -> None:
    launch = codex.launch(spec("-", mode="batch"), CONTEXT)
    assert (launch.argv[-1], launch.stdin, launch.prompt_delivery) == ("-", "prompt", "stdin")


def test_an_exclamation_mark_at_the_start_is_made_text_in_the_tui_alone() -> None:
    tui = codex.launch(spec("!ls"), CONTEXT)
    assert tui.argv[-1] == " !ls"
    assert tui.warnings == ("a space was put before the prompt, so that its '!' is taken as text",)
    assert codex.launch(spec("!ls", mode="batch"), CONTEXT).argv[-1] == "!ls"
    assert codex.launch(spec("!ls"), replace(CONTEXT, as_command=True)).argv[-1] == "!ls"


def test_batch_says_that_codex_exec_never_asks() -> None:
    said = codex.launch(spec(mode="batch", ask_for_approval="on-request"), CONTEXT).warnings
    assert said == ("codex exec never asks: ask_for_approval has no effect in batch",)
    said = codex.launch(spec(mode="batch", dangerously_skip_permissions=False), CONTEXT).warnings
    assert said == ("codex exec never asks: in batch what would need approval is refused",)


def test_added_folders_are_given() -> None:
    added = replace(spec(), add_dirs=("/a b", "/c"))
    assert codex.command_line(added) == f"codex {BYPASS} --add-dir '/a b' --add-dir '/c' 'x'"


@pytest.mark.parametrize("version", ["0.133.0", "0.141.0", None])
def test_older_versions_take_four_policies(version: str | None) -> None:
    assert codex.option_problems(spec(ask_for_approval="untrusted"), version) == []


def test_a_policy_that_the_installed_version_no_longer_takes_is_refused() -> None:
    (problem,) = codex.option_problems(spec(ask_for_approval="untrusted"), "0.171.0")
    assert problem.fatal
    assert problem.message == (
        "ask_for_approval takes one of: 'on-request', 'never'; not 'untrusted'"
    )


def test_the_registry_gives_this_module_and_its_view_is_plain_json() -> None:
    assert registry.get("codex") is codex
    assert json.loads(json.dumps(codex.capabilities(Mode.BATCH).as_json()))["mode"] == "batch"
