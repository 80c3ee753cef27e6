"""Which agents a run uses, and how they are installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import agent_versions, install_agents
from tests.support.agent_versions import CHOICE, ROOT, AgentVersion, chosen, manifest

FAILING_NPM = """#!/bin/sh
echo "npm error code E404" >&2
echo "npm error no such version" >&2
exit 1
"""


def labels(agents: list[AgentVersion]) -> list[str]:
    return [agent.label for agent in agents]


def test_the_default_is_the_oldest_and_the_newest_of_each_agent() -> None:
    for name in ("codex", "claude"):
        every = [agent.label for agent in manifest() if agent.name == name]
        assert [a for a in labels(chosen({})) if a.startswith(name)] == [every[0], every[-1]]


def test_all_and_single_versions_can_be_chosen() -> None:
    assert chosen({CHOICE: "all"}) == manifest()
    some = [manifest()[1].label, manifest()[-1].label]
    assert labels(chosen({CHOICE: ", ".join(some)})) == some


def test_an_unknown_choice_is_named_with_what_there_is() -> None:
    with pytest.raises(ValueError, match=r"codex-9\.9\.9; known: all, codex-"):
        chosen({CHOICE: "codex-9.9.9"})


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout without agents."""
    monkeypatch.setattr(agent_versions, "ROOT", tmp_path)
    return tmp_path


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def test_a_failing_npm_is_quoted_and_leaves_nothing_behind(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(elsewhere / "bin" / "npm", FAILING_NPM)
    monkeypatch.setenv("PATH", f"{elsewhere / 'bin'}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(install_agents.InstallError) as caught:
        install_agents.install(manifest()[0])
    assert str(caught.value) == (
        f"{manifest()[0].label}: npm failed: npm error code E404 / npm error no such version"
    )
    assert list((elsewhere / ".agents").iterdir()) == []


def test_without_npm_that_is_said(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(elsewhere))
    with pytest.raises(install_agents.InstallError, match="npm is not installed"):
        install_agents.install(manifest()[0])


def test_a_version_that_is_there_and_answers_is_left_alone(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codex = manifest()[0]
    binary = codex.folder / "node_modules" / ".bin" / "codex"
    program(binary, f"#!/bin/sh\necho codex-cli {codex.version}\n")
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    assert install_agents.install(codex) == binary


def test_a_binary_of_another_version_does_not_count(elsewhere: Path) -> None:
    codex = manifest()[0]
    program(codex.folder / "node_modules" / ".bin" / "codex", "#!/bin/sh\necho codex-cli 0.1\n")
    assert codex.binary is not None
    assert not install_agents.answers(codex)


def test_claudes_own_binary_goes_before_the_stub(elsewhere: Path) -> None:
    claude = manifest()[-1]
    modules = claude.folder / "node_modules"
    program(modules / ".bin" / "claude", "stub")
    program(modules / "@anthropic-ai" / "claude-code-linux-x64-musl" / "claude", "musl")
    native = modules / "@anthropic-ai" / "claude-code-linux-x64" / "claude"
    program(native, "native")
    assert claude.binary == native


def test_the_check_tells_what_is_missing_with_an_exit_status() -> None:
    label = manifest()[0].label
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.install_agents", "--check", label],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    binary = manifest()[0].binary
    if binary is None:
        assert (done.returncode, done.stderr) == (1, f"{label}: not installed\n")
    else:
        assert (done.returncode, done.stdout) == (0, f"{label}: {binary}\n")
