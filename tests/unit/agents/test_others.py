"""The command lines of the agents beside codex and claude, and what holds for all."""

import shlex
import subprocess
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from cuekit.agents import base, registry
from cuekit.agents.base import LaunchContext, with_arguments
from cuekit.agents.jcode import FEEDER
from cuekit.agents.prompt import render
from cuekit.agents.quoting import LARGEST_ARGUMENT
from cuekit.errors import InvalidInput
from cuekit.model.task import Mode, TaskSpec

SKIP = "--dangerously-skip-permissions"
CONTEXT = LaunchContext(
    binary="/opt/bin/agent",
    version=None,
    known_flags=frozenset({"--no-alt-screen"}),
    task_id="t_abcdefgh",
    run_dir="/run/t",
    task_dir="/task",
    cwd="/folder",
    prompt_file="/task/prompt.md",
    folder_trusted=False,
    hook_program=None,
)
SAFE: dict[str, Any] = {"dangerously_skip_permissions": False}
BATCH: dict[str, Any] = {"mode": "batch"}


def spec(kind: str, objective: str = "x", *, model: str | None = None, **options: Any) -> TaskSpec:
    return TaskSpec(kind, objective, model=model, adapter_options=options)


@pytest.mark.parametrize(
    ("kind", "options", "model", "expected"),
    [
        ("gemini", {}, None, "gemini --skip-trust -y 'x'"),
        ("gemini", {}, "pro", "gemini --skip-trust -y -m 'pro' 'x'"),
        ("gemini", SAFE, None, "gemini --skip-trust 'x'"),
        ("gemini", BATCH, "pro", "gemini --skip-trust -y -m 'pro' -p 'x'"),
        ("gemini", {"approval_mode": "plan"}, None, "gemini --skip-trust --approval-mode plan 'x'"),
        ("gemini", {"approval_mode": "planned"}, None, "gemini --skip-trust -y 'x'"),
        ("opencode", {}, None, "opencode --auto --prompt 'x'"),
        ("opencode", SAFE, "a/b", "opencode --model 'a/b' --prompt 'x'"),
        ("opencode", BATCH, "a/b", "opencode run --auto --model 'a/b' -- 'x'"),
        ("antigravity", {}, "ignored", f"agy {SKIP} -i 'x'"),
        ("antigravity", {"sandbox": True}, None, f"agy {SKIP} --sandbox -i 'x'"),
        ("antigravity", {"sandbox": "true"}, None, f"agy {SKIP} -i 'x'"),
        ("antigravity", SAFE | BATCH, None, "agy -p 'x'"),
        ("pi", {}, None, "pi 'x'"),
        ("pi", {}, "m", "pi --model 'm' 'x'"),
        ("pi", BATCH, "m", "pi --model 'm' -p 'x'"),
        ("grok", {}, None, "grok --always-approve 'x'"),
        ("grok", SAFE, "m", "grok -m 'm' 'x'"),
        ("grok", BATCH, "m", "grok --always-approve -m 'm' -p 'x'"),
        ("jcode", BATCH, None, "jcode run --no-update -- 'x'"),
        (
            "jcode",
            BATCH | {"provider_profile": "p q"},
            "m",
            "jcode run --no-update --provider-profile 'p q' --model 'm' -- 'x'",
        ),
        ("shell", {}, None, "/bin/sh -c 'x'"),
        ("shell", BATCH, "ignored", "/bin/sh -c 'x'"),
    ],
)
def test_command_lines_without_a_context(
    kind: str, options: dict[str, Any], model: str | None, expected: str
) -> None:
    assert registry.get(kind).command_line(spec(kind, model=model, **options)) == expected


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        ("gemini", {}, ("-y", "do it")),
        ("gemini", BATCH, ("-y", "-p", "do it")),
        ("gemini", SAFE, ("--approval-mode", "default", "do it")),
        ("opencode", {}, ("--auto", "--prompt", "do it")),
        ("opencode", BATCH, ("run", "--auto")),
        ("antigravity", {}, (SKIP, "-i", "do it")),
        ("pi", {}, ("do it",)),
        ("grok", {}, ("--always-approve", "--no-leader", "--no-alt-screen", "do it")),
        ("grok", BATCH, ("--always-approve", "--no-leader", "-p", "do it")),
        ("grok", SAFE, ("--permission-mode", "default", "--no-leader", "--no-alt-screen", "do it")),
        ("shell", {}, ("-c", "do it")),
    ],
)
def test_launches_of_the_others(
    kind: str, options: dict[str, Any], expected: tuple[str, ...]
) -> None:
    launch = registry.get(kind).launch(spec(kind, "do it", **options), CONTEXT)
    assert launch.argv == ("/opt/bin/agent", *expected)
    piped = "prompt" if kind == "opencode" else "null"
    assert launch.stdin == (piped if options.get("mode") == "batch" else "tty")


@pytest.mark.parametrize("kind", registry.KINDS)
@pytest.mark.parametrize("mode", list(map(str, (Mode.INTERACTIVE, Mode.BATCH))))
@pytest.mark.parametrize("prompt", ["it's", "two\nlines", "a;b $(c) `d` \\", "é 漢字 \U0001f600"])
def test_the_shell_form_says_the_same_as_the_argument_vector(
    kind: str, mode: str, prompt: str
) -> None:
    agent = registry.get(kind)
    task = spec(kind, prompt, model="m n", mode=mode)
    for context in (None, replace(CONTEXT, folder_trusted=True)):
        assert tuple(shlex.split(agent.command_line(task, context))) == tuple(
            map(str, agent.arguments(task, context))
        )


@pytest.mark.parametrize("kind", registry.KINDS)
def test_batch_and_interactive_are_told_apart_in_the_capabilities(kind: str) -> None:
    agent = registry.get(kind)
    interactive, batch = (agent.capabilities(mode) for mode in (Mode.INTERACTIVE, Mode.BATCH))
    assert (interactive.supports_steering, batch.supports_steering) == (True, False)
    assert (batch.supports_interrupt, batch.follow_up_while_running) == (False, False)
    assert interactive.agent_kind == batch.agent_kind == kind
    assert interactive.supported_modes[:2] == (Mode.INTERACTIVE, Mode.BATCH)
    assert (Mode.SUPERVISED in interactive.supported_modes) == (kind in base.PROTOCOLS)
    assert interactive.default_mode is Mode.INTERACTIVE


def test_model_selection_is_denied_where_there_is_no_flag_for_it() -> None:
    without = [
        kind
        for kind in registry.KINDS
        if not registry.get(kind).capabilities(Mode.INTERACTIVE).supports_model_selection
    ]
    assert without == ["antigravity", "shell"]


def test_those_that_could_not_be_run_are_marked() -> None:
    unverified = [kind for kind in registry.KINDS if not registry.get(kind).VERIFIED]
    assert unverified == ["antigravity", "jcode"]


POINTER = "Your task is in the file /task/prompt.md: read all of it, then do what it says."
SHORT = {
    "-s": "--sandbox",
    "-a": "--ask-for-approval",
    "-m": "--model",
    "-c": "--config",
    "-o": "--output-last-message",
    "-y": "--yolo",
}
MADE = {"codex": {}, "claude-code": {"-p": "--print"}, "gemini": {"-p": "--prompt"}}
MADE |= {"pi": {"-p": "--print"}, "grok": {"-p": "--single"}, "shell": {"-c": ""}}
MADE |= {"antigravity": {"-p": "", "-i": ""}, "jcode": {"-c": ""}}


@pytest.mark.parametrize("kind", registry.KINDS)
def test_every_flag_that_a_builder_emits_is_declared(kind: str) -> None:
    agent = registry.get(kind)
    known = replace(CONTEXT, known_flags=agent.emitted_flags(), hook_program="/run/t/hook")
    options: list[dict[str, Any]] = [
        {},
        SAFE,
        {"sandbox": "read-only", "ask_for_approval": "never"},
        {"sandbox": True, "approval_mode": "plan", "provider_profile": "p"},
    ]
    launches: Any = product(
        options,
        (Mode.INTERACTIVE, Mode.BATCH),
        ("do it", "-x", "a" * (LARGEST_ARGUMENT + 1)),
        (True, False),
        ({}, {"resume": "ID"}, {"resume": "ID", "fork": True}),
    )
    seen = set()
    for chosen, mode, prompt, trusted, old in launches:
        task = replace(spec(kind, prompt, model="m", mode=str(mode), **chosen), add_dirs=("/a",))
        context = replace(known, folder_trusted=trusted, new_session="NEW", **old)
        words = agent.launch(task, context).argv[1:]
        words = tuple(word for word in words if word not in (prompt, FEEDER))
        seen |= {word.split("=")[0] for word in words if word.startswith("-")}
    seen -= {"--", "-"}
    shorts = {**SHORT, **MADE.get(kind, {})}
    long = {shorts.get(word, word) for word in seen if word} - {""}
    assert long == agent.emitted_flags()


@pytest.mark.parametrize(
    ("kind", "stdin", "end"),
    [
        ("gemini", "prompt", "-y"),
        ("opencode", "prompt", "--auto"),
        ("pi", "prompt", "-p"),
        ("grok", "null", POINTER),
        ("antigravity", "null", POINTER),
        ("jcode", "null", POINTER),
        ("shell", "null", "/task/prompt.md"),
    ],
)
def test_a_prompt_too_long_for_an_argument_travels_otherwise(
    kind: str, stdin: str, end: str
) -> None:
    agent = registry.get(kind)
    long = "a" * (LARGEST_ARGUMENT + 1)
    launch = agent.launch(spec(kind, long, mode="batch"), CONTEXT)
    assert (launch.stdin, launch.argv[-1]) == (stdin, end)
    assert all(len(word) <= LARGEST_ARGUMENT for word in launch.argv)


def test_opencode_is_made_to_ask_by_its_environment() -> None:
    launch = registry.get("opencode").launch(spec("opencode", **SAFE), CONTEXT)
    assert launch.environment == {"OPENCODE_PERMISSION": '{"bash":"ask","edit":"ask"}'}
    assert registry.get("opencode").launch(spec("opencode"), CONTEXT).environment == {}


def test_gemini_is_told_to_trust_a_folder_only_when_the_user_did() -> None:
    gemini = registry.get("gemini")
    trusted = replace(CONTEXT, folder_trusted=True)
    batch = spec("gemini", **BATCH)
    assert "--skip-trust" in gemini.launch(batch, trusted).argv
    assert gemini.launch(batch, trusted).warnings == ()
    assert "--skip-trust" not in gemini.launch(batch, CONTEXT).argv
    assert gemini.launch(batch, CONTEXT).warnings == (
        "gemini -p refuses a folder that is not trusted (exit 55): see --trust",
    )
    assert gemini.launch(batch, replace(CONTEXT, recorded_trust=True)).warnings == ()


def test_a_shell_takes_the_objective_alone_and_says_what_it_leaves_out() -> None:
    shell = registry.get("shell")
    task = replace(
        spec("shell", "echo $HOME"), context="c", constraints=("k",), expected_output="e"
    )
    assert shell.arguments(task) == ("/bin/sh", "-c", "echo $HOME")
    assert shell.prompt_text(task) == "echo $HOME"
    assert render(task) != "echo $HOME"
    assert shell.launch(task, CONTEXT).warnings == (
        "a shell command line takes no context, constraints, expected output",
    )


@pytest.mark.parametrize(
    ("kind", "mode", "refused"),
    [
        ("gemini", Mode.INTERACTIVE, "/!@"),
        ("gemini", Mode.BATCH, "/@"),
        ("opencode", Mode.BATCH, "/!"),
        ("grok", Mode.INTERACTIVE, "/!@"),
        ("pi", Mode.BATCH, ""),
        ("antigravity", Mode.INTERACTIVE, "-/!$@#"),
        ("jcode", Mode.INTERACTIVE, "/!$@#"),
        ("shell", Mode.INTERACTIVE, ""),
        ("codex", Mode.INTERACTIVE, ""),
        ("claude-code", Mode.INTERACTIVE, "/"),
        ("claude-code", Mode.BATCH, ""),
    ],
)
def test_first_characters_that_cannot_be_made_text_are_refused(
    kind: str, mode: Mode, refused: str
) -> None:
    agent = registry.get(kind)
    found = [c for c in "-/!$@#" if agent.first_prompt_problem(c + "x", mode, None)]
    assert found == sorted(refused, key="-/!$@#".index)
    assert agent.first_prompt_problem("plain", mode, None) is None


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("claude", "did you mean 'claude-code'?"),
        ("Codex", "did you mean 'codex'?"),
        ("claude_code", "did you mean 'claude-code'?"),
        ("openkode", "did you mean 'opencode'?"),
        ("zzz", f"one of: {', '.join(registry.KINDS)}"),
        ("", f"one of: {', '.join(registry.KINDS)}"),
    ],
)
def test_an_unknown_kind_is_refused_with_the_nearest(wrong: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        registry.get(wrong)
    assert (caught.value.code, caught.value.hint) == ("unknown_agent_kind", hint)


def test_a_configured_commands_arguments_follow_the_binary() -> None:
    assert with_arguments(("/bin/sh", "-c", "x", "/a", "y"), "/a", ("run", "b")) == (
        *("/bin/sh", "-c", "x", "/a", "run", "b", "y"),
    )


def test_the_feeder_of_jcode_passes_the_prompt_and_the_exit_status(tmp_path: Path) -> None:
    reader = tmp_path / "reader"
    reader.write_text('#!/bin/sh\nIFS= read -r line\nprintf "%s|%s" "$line" "$*"\nexit 7\n')
    reader.chmod(0o755)
    task = spec("jcode", "it's\ntwo lines", model="m")
    argv = registry.get("jcode").arguments(task, binary=str(reader))
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=20, env={"TMPDIR": str(tmp_path)}, check=False
    )
    assert (done.returncode, done.stdout) == (7, "it's two lines|repl --no-update --model m")
    assert [path.name for path in tmp_path.iterdir()] == ["reader"]


def test_gemini_is_given_no_id_where_its_own_question_begins_the_conversation_anew() -> None:
    agent = registry.get("gemini")
    context = replace(CONTEXT, known_flags=agent.emitted_flags(), new_session="NEW")
    asks = agent.launch(spec("gemini"), context)
    assert (asks.session_id, "--session-id" in asks.argv) == (None, False)
    for trusted in (
        replace(context, folder_trusted=True),
        replace(context, recorded_trust=True),
    ):
        launch = agent.launch(spec("gemini"), trusted)
        assert (launch.session_id, "--session-id" in launch.argv) == ("NEW", True)
    without = replace(context, known_flags=frozenset({"--model"}), folder_trusted=True)
    assert agent.launch(spec("gemini"), without).session_id is None


@pytest.mark.parametrize(
    ("kind", "old", "session", "words"),
    [
        ("gemini", {"resume": "OLD"}, "OLD", ["--resume", "OLD"]),
        ("grok", {"resume": "OLD"}, "OLD", ["--resume", "OLD"]),
        (
            "grok",
            {"resume": "OLD", "fork": True},
            "NEW",
            ["--resume", "OLD", "--fork-session", "--session-id", "NEW"],
        ),
        ("opencode", {"resume": "OLD"}, None, ["--session", "OLD"]),
        ("opencode", {"resume": "OLD", "fork": True}, None, ["--session", "OLD", "--fork"]),
    ],
)
def test_a_conversation_goes_on_by_its_id(
    kind: str, old: dict[str, Any], session: str | None, words: list[str]
) -> None:
    agent = registry.get(kind)
    context = replace(
        CONTEXT, known_flags=agent.emitted_flags(), folder_trusted=True, new_session="NEW", **old
    )
    launch = agent.launch(spec(kind, **BATCH), context)
    assert launch.session_id == session
    at = launch.argv.index(words[0])
    assert list(launch.argv[at : at + len(words)]) == words
