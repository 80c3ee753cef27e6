"""Finding agents and asking them: absolute paths, limits, a memory that notices a change."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from cuekit.errors import CuekitError, InvalidInput
from cuekit.paths import Home
from cuekit.service import adapters, ask
from cuekit.service.adapters import Binary, Probe

HELP = "Usage: codex\n  -s, --sandbox <MODE>\n      --no-alt-screen\n  not-a--flag, see --cd=DIR\n"


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def agent(folder: Path, name: str = "codex", version: str = "codex-cli 0.171.0") -> Path:
    """A program that answers like an agent and notes each call."""
    return script(
        folder / name,
        f'echo "$*" >> "{folder}/calls"\n'
        f'case "$*" in --version) echo "{version}";; *) cat <<"END"\n{HELP}END\n;; esac',
    )


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(str(tmp_path / "home"))


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "bin").mkdir()
    return {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "HOME": str(tmp_path)}


def calls(tmp_path: Path) -> list[str]:
    return sorted((tmp_path / "bin" / "calls").read_text().splitlines())


def test_an_agent_is_found_as_an_absolute_path(tmp_path: Path, environ: dict[str, str]) -> None:
    path = agent(tmp_path / "bin")
    assert adapters.find("codex", environ) == Binary(str(path))


@pytest.mark.parametrize("path", ["rel", ".", "", ":", "rel::."])
def test_a_relative_entry_of_the_path_is_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    for folder in (tmp_path, tmp_path / "rel"):
        folder.mkdir(exist_ok=True)
        agent(folder)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CuekitError, match="is not on the PATH"):
        adapters.find("codex", {"PATH": path})
    own = tmp_path / "own"
    own.mkdir()
    found = agent(own)
    assert adapters.find("codex", {"PATH": f"{path}:{own}"}).path == str(found)


def test_a_missing_agent_is_named_with_what_to_install(environ: dict[str, str]) -> None:
    with pytest.raises(CuekitError) as caught:
        adapters.find("codex", environ)
    assert caught.value.as_json() == {
        "code": "agent_not_installed",
        "message": "'codex' of the agent codex is not on the PATH",
        "hint": "npm install -g @openai/codex",
        "retryable": False,
        "details": {"agent_kind": "codex", "command": "codex"},
    }


def test_a_file_that_cannot_be_run_is_not_an_agent(tmp_path: Path, environ: dict[str, str]) -> None:
    agent(tmp_path / "bin").chmod(0o644)
    with pytest.raises(CuekitError, match="is not on the PATH"):
        adapters.find("codex", environ)


def test_a_configured_command_has_arguments_of_its_own(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    path = agent(tmp_path, "my agent")
    found = adapters.find("codex", environ, (str(path), "--profile", "a b"))
    assert found == Binary(str(path), ("--profile", "a b"))
    assert found.command == (str(path), "--profile", "a b")


@pytest.mark.parametrize(("make", "message"), [(False, "does not exist"), (True, "cannot be run")])
def test_a_wrong_configured_command_is_named(
    tmp_path: Path, environ: dict[str, str], make: bool, message: str
) -> None:
    path = tmp_path / "x"
    if make:
        path.write_text("")
    with pytest.raises(CuekitError, match=message) as caught:
        adapters.find("codex", environ, (str(path),))
    assert caught.value.hint == "correct adapters.codex.command"


def test_an_unknown_kind_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="'codx'"):
        adapters.find("codx", environ)


def test_the_installed_kinds_leave_out_the_shell(tmp_path: Path, environ: dict[str, str]) -> None:
    assert adapters.installed_kinds(environ) == []
    agent(tmp_path / "bin", "agy")
    agent(tmp_path / "bin", "claude")
    assert adapters.installed_kinds(environ) == ["claude-code", "antigravity"]


def test_a_probe_is_remembered_until_the_file_changes(
    tmp_path: Path, environ: dict[str, str], home: Home
) -> None:
    binary = Binary(str(agent(tmp_path / "bin")))
    expected = Probe("0.171.0", frozenset({"--sandbox", "--no-alt-screen", "--cd"}))
    asked = ["--help", "--version", "exec --help"]
    assert adapters.probe("codex", binary, home, environ) == expected
    assert adapters.probe("codex", binary, home, environ) == expected
    assert calls(tmp_path) == asked
    assert os.stat(home.probes).st_mode & 0o777 == 0o600
    agent(tmp_path / "bin", version="codex-cli 0.172.0")
    assert adapters.probe("codex", binary, home, environ).version == "0.172.0"
    assert calls(tmp_path) == sorted(asked * 2)


@pytest.mark.parametrize(
    "record", ["", "[]", "{", '{"x": 1}', '{"codex\\u0000PATH": {"stamp": 1}}', "null"]
)
def test_a_broken_memory_is_replaced(
    tmp_path: Path, environ: dict[str, str], home: Home, record: str
) -> None:
    path = agent(tmp_path / "bin")
    os.makedirs(home.root)
    Path(home.probes).write_text(record.replace("PATH", str(path)))
    assert adapters.probe("codex", Binary(str(path)), home, environ).version == "0.171.0"
    assert isinstance(json.loads(Path(home.probes).read_text()), dict)


def test_a_program_that_hangs_costs_no_more_than_the_limit(
    tmp_path: Path, environ: dict[str, str], home: Home
) -> None:
    path = script(tmp_path / "bin" / "codex", "trap '' TERM\nsleep 600 & wait")
    begun = time.monotonic()
    assert adapters.probe("codex", Binary(str(path)), home, environ, 0.5) == Probe()
    assert time.monotonic() - begun < 5
    assert json.loads(Path(home.probes).read_text()) == {}  # asked again the next time


@pytest.mark.parametrize("body", ["exit 1", "echo 1.2.3; exit 3", "kill -9 $$", ":"])
def test_a_program_that_fails_tells_nothing(
    tmp_path: Path, environ: dict[str, str], home: Home, body: str
) -> None:
    path = script(tmp_path / "bin" / "codex", body)
    assert adapters.probe("codex", Binary(str(path)), home, environ) == Probe()


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("codex-cli 0.133.0", "0.133.0"),
        ("2.1.197 (Claude Code)", "2.1.197"),
        ("grok 1.0.41 (4220f3b224a6)", "1.0.41"),
        ("GitHub Copilot CLI 1.0.102.", "1.0.102"),
        ("0.0.1790142911-g7618fb (released)", "0.0.1790142911-g7618fb"),
        ("no number", None),
    ],
)
def test_versions_of_every_form_are_read(
    tmp_path: Path, environ: dict[str, str], home: Home, said: str, version: str | None
) -> None:
    path = agent(tmp_path / "bin", version=said)
    assert adapters.probe("codex", Binary(str(path)), home, environ).version == version


def test_agents_are_asked_side_by_side(tmp_path: Path, environ: dict[str, str]) -> None:
    meet = script(
        tmp_path / "meet",
        f'mkdir "{tmp_path}/$1"; while [ ! -d "{tmp_path}/$2" ]; do sleep 0.02; done; echo met',
    )
    both = [(str(meet), "a", "b"), (str(meet), "b", "a")]
    assert ask.outputs(both, environ, 20) == ["met\n", "met\n"]


def test_a_question_is_asked_without_a_terminal_and_in_an_empty_folder(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    curious = script(
        tmp_path / "curious", 'ls -A | wc -l; ls -A "$HOME" | wc -l; cat; echo "$CODEX_HOME|$TERM"'
    )
    (tmp_path / "own").mkdir()
    inside = environ | {"CODEX_HOME": str(tmp_path / "own"), "TERM": "xterm"}
    (said,) = ask.outputs([(str(curious),)], inside, 20)
    assert said.split() == ["0", "0", "|dumb"]


def test_a_question_leaves_nothing_in_the_users_home(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    writer = script(
        tmp_path / "writer",
        'mkdir -p "$HOME/.x" "${XDG_DATA_HOME:-$HOME/.local}/y" && echo "$VOLTA_HOME"',
    )
    (tmp_path / ".volta").mkdir()
    before = sorted(tmp_path.rglob("*"))
    given = environ | {"XDG_DATA_HOME": str(tmp_path / "data")}
    assert ask.outputs([(str(writer),)], given, 20) == [f"{tmp_path}/.volta\n"]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_program_that_is_not_there_tells_nothing(environ: dict[str, str]) -> None:
    assert ask.outputs([("/nowhere/x",), ("/bin/echo", "y")], environ, 20) == ["", "y\n"]


def test_the_view_of_an_adapter(tmp_path: Path, environ: dict[str, str], home: Home) -> None:
    path = agent(tmp_path / "bin")
    views = {view["agent_kind"]: view for view in adapters.adapter_views(environ, home)}
    codex = views["codex"]
    for mode, steerable in (("interactive", True), ("batch", False)):
        assert codex["modes"][mode]["supports_steering"] is steerable
    del codex["modes"]
    assert codex == {
        "agent_kind": "codex",
        "command": "codex",
        "path": str(path),
        "arguments": [],
        "version": "0.171.0",
        "installed": True,
        "install_hint": None,
        "verified": True,
        "values_from": "codex 0.133.0, 0.141.0 and 0.171.0, run",
        "supports_steering": True,
        "supports_attach": True,
        "supports_model_selection": True,
        "supports_artifacts": True,
        "supports_live_progress": False,
        "supports_approvals": False,
        "supports_resume": True,
        "supports_fork": True,
        "supports_interrupt": True,
        "supports_activity": True,
        "can_modify_tool_input": False,
        "partial_message_streaming": False,
        "follow_up_while_running": True,
        "emits_file_change_events": False,
        "default_mode": "interactive",
        "supported_modes": ["interactive", "batch", "supervised"],
    }
    assert views["jcode"]["verified"] is False
    assert views["gemini"] | {"modes": None} == views["gemini"] | {
        "modes": None,
        "installed": False,
        "path": None,
        "version": None,
        "install_hint": "npm install -g @google/gemini-cli",
    }
