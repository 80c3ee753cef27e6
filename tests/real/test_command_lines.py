"""The builders' command lines, given to the real agents as they are."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cuekit.agents import registry
from cuekit.agents.base import Agent, LaunchContext
from cuekit.model.task import Mode, TaskSpec
from cuekit.paths import Home
from cuekit.service import adapters, agent_trust
from tests.support.real_agents import RealAgent
from tests.support.wait import wait_until

LONG = "0123456789abcdef\n" * 62_500
SIZES = (131_071, 131_072, 131_073, 1_000_000)


def prepared(
    agent: RealAgent, prompt: str, *, trusted: bool = False, **options: Any
) -> tuple[Agent, TaskSpec, LaunchContext]:
    """What submit would hand to the builder, without hooks; the prompt file is written."""
    spec = TaskSpec(agent.kind, prompt, adapter_options=options)
    binary = adapters.find(agent.kind, agent.env)
    probe = adapters.probe(agent.kind, binary, Home(str(agent.cuekit_home)), agent.env, 60)
    run = Path(agent.env["TMPDIR"])
    (run / "prompt.md").write_text(prompt, encoding="utf-8", newline="")
    context = LaunchContext(
        binary=binary.path,
        version=probe.version,
        known_flags=probe.flags,
        task_id="t_abcdefgh",
        run_dir=str(run),
        task_dir=str(run),
        cwd=str(agent.project),
        prompt_file=str(run / "prompt.md"),
        folder_trusted=trusted,
        hook_program=None,
        recorded_trust=agent_trust.recorded(agent.kind, str(agent.project), agent.env),
    )
    return registry.get(agent.kind), spec, context


def run_batch(agent: RealAgent, prompt: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """One batch run from the builder's launch."""
    module, spec, context = prepared(agent, prompt, mode="batch", **options)
    launch = module.launch(spec, context)
    source = context.prompt_file if launch.stdin == "prompt" else os.devnull
    with open(source, "rb") as given:
        return subprocess.run(
            launch.argv,
            env=agent.env,
            cwd=agent.project,
            stdin=given,
            capture_output=True,
            encoding="utf-8",
            timeout=90,
            check=False,
        )


def start_tui(agent: RealAgent, prompt: str, *, trusted: bool = False) -> str:
    """The interactive command line in a pane, by a script as tmux takes no long argument."""
    module, spec, context = prepared(agent, prompt, trusted=trusted)
    launch = module.launch(spec, context)
    words = ["env", *(f"{name}={value}" for name, value in launch.environment.items())]
    begin = len(words) + 1
    words += launch.argv
    if agent.name == "claude":  # its warning before bypass is the settings file's to avoid
        words[begin:begin] = ["--settings", '{"skipDangerousModePermissionPrompt":true}']
    script = Path(context.run_dir) / "start.sh"
    script.write_text(f"exec {shlex.join(words)}\n", encoding="utf-8")
    size = ["-x", "110", "-y", "36", "-c", str(agent.project)]
    return agent.tmux.run("new-session", "-d", *size, "-P", "-F", "#{pane_id}", f"sh {script}")


def files_of(home: Path) -> dict[str, bytes]:
    """The user's own files of the two agents, by name."""
    names = (".codex/config.toml", ".claude.json", ".claude/settings.json")
    return {name: (home / name).read_bytes() for name in names if (home / name).exists()}


@pytest.mark.parametrize("prompt", ["--help", "update", "it's `$HOME`\ntwo"])
def test_a_prompt_of_any_kind_arrives_in_batch(any_agent: RealAgent, prompt: str) -> None:
    done = run_batch(any_agent, prompt)
    assert (done.returncode, done.stderr if done.returncode else "") == (0, "")
    assert any_agent.model.user_messages == [prompt]


@pytest.mark.parametrize("size", SIZES)
def test_a_prompt_of_any_length_arrives_in_batch(any_agent: RealAgent, size: int) -> None:
    prompt = LONG[:size]
    done = run_batch(any_agent, prompt)
    assert done.returncode == 0, done.stderr[-500:]
    assert any_agent.model.user_messages == [prompt]


def test_the_largest_argument_arrives_in_a_tui(any_agent: RealAgent) -> None:
    any_agent.trust()
    prompt = LONG[: SIZES[0]]
    pane = start_tui(any_agent, prompt)
    wait_until(
        lambda: any_agent.model.user_messages == [prompt],
        60,
        what=lambda: any_agent.tmux.screen(pane),
    )


@pytest.mark.parametrize("prompt", ["!touch made", "/status of it", "@README.md"])
def test_a_special_first_character_is_text_in_a_tui(any_agent: RealAgent, prompt: str) -> None:
    any_agent.trust()
    module, _, context = prepared(any_agent, prompt)
    if module.first_prompt_problem(prompt, Mode.INTERACTIVE, context.version):
        assert (prompt[0], any_agent.version.version) == ("/", "2.1.332")
        assert_is_command(any_agent, prompt)
        return
    special = "!" if any_agent.name == "codex" else "/"
    expected = " " + prompt if prompt.startswith(special) else prompt
    pane = start_tui(any_agent, prompt)
    wait_until(
        lambda: any_agent.model.user_messages == [expected],
        60,
        what=lambda: any_agent.tmux.screen(pane),
    )
    assert not (any_agent.project / "made").exists()


def assert_is_command(agent: RealAgent, prompt: str) -> None:
    """What is refused would indeed be a command, with the space before it too."""
    pane = start_tui(agent, prompt)
    wait_until(
        lambda: "Setting sources:" in agent.tmux.screen(pane),
        60,
        what=lambda: agent.tmux.screen(pane),
    )
    assert agent.model.user_messages == []


@pytest.mark.parametrize("prompt", ["!touch made", "/status of it"])
def test_a_special_first_character_is_text_in_batch(any_agent: RealAgent, prompt: str) -> None:
    special = "" if any_agent.name == "codex" else "/"
    expected = " " + prompt if special and prompt.startswith(special) else prompt
    assert run_batch(any_agent, prompt).returncode == 0
    assert any_agent.model.user_messages == [expected]
    assert not (any_agent.project / "made").exists()


@pytest.mark.parametrize(
    "options", [{}, {"sandbox": "workspace-write"}, {"dangerously_skip_permissions": False}]
)
def test_a_batch_run_of_codex_leaves_its_configuration_alone(
    codex: RealAgent, options: dict[str, Any]
) -> None:
    before = files_of(codex.home)
    assert run_batch(codex, "x", **options).returncode == 0
    assert files_of(codex.home) == before


@pytest.mark.parametrize("trusted", [True, False])
def test_trust_for_a_launch_avoids_the_dialog_and_is_not_recorded(
    any_agent: RealAgent, trusted: bool
) -> None:
    pane = start_tui(any_agent, "hello", trusted=trusted)
    if trusted:
        wait_until(
            lambda: any_agent.model.user_messages == ["hello"],
            60,
            what=lambda: any_agent.tmux.screen(pane),
        )
    else:
        wait_until(lambda: "trust" in any_agent.tmux.screen(pane).lower(), 60)
        assert any_agent.model.user_messages == []
    record = agent_trust.recorded(any_agent.kind, str(any_agent.project), any_agent.env)
    assert record is None


def test_codex_runs_in_a_folder_that_is_no_repository(codex: RealAgent) -> None:
    (codex.project / ".git").rename(codex.home / "moved")
    done = run_batch(codex, "x", sandbox="read-only")
    assert done.returncode == 0, done.stderr[-500:]
    assert (Path(codex.env["TMPDIR"]) / "last-message.txt").read_text() == "done"


def test_a_probe_reads_version_and_flags_and_writes_nothing(any_agent: RealAgent) -> None:
    before = sorted(map(str, any_agent.home.rglob("*")))
    module, _, context = prepared(any_agent, "x")
    assert context.version == any_agent.version.version
    only_newer = {"--no-daemon"}  # codex 0.171.0; left out where it is not known
    assert module.emitted_flags() - context.known_flags - module.HIDDEN_FLAGS <= only_newer
    assert sorted(map(str, any_agent.home.rglob("*"))) == before
