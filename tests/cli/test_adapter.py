"""`cuekit adapter list` as it is typed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cuekit.agents.registry import KINDS
from tests.support.repository import mark_repository

ROOT = str(Path(__file__).resolve().parents[2])


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A caller whose PATH has one agent, a made-up codex."""
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "codex"
    program.write_text('#!/bin/sh\ncase "$1" in --version) echo codex-cli 0.171.0;; esac\n')
    program.chmod(0o755)
    return {
        "PATH": str(programs),
        "HOME": str(tmp_path),
        "CUEKIT_HOME": str(tmp_path / "ck"),
        "LANG": "C.UTF-8",
        "PYTHONPATH": ROOT,
    }


def adapter(environ: dict[str, str], cwd: Path, *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "cuekit", "adapter", *arguments],
        cwd=cwd,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_its_json_has_each_kind_with_its_capabilities(
    environ: dict[str, str], tmp_path: Path
) -> None:
    status, out, err = adapter(environ, tmp_path, "list", "--format", "json")
    value = json.loads(out)
    assert (status, err, list(value)) == (0, "", ["adapters"])
    assert [view["agent_kind"] for view in value["adapters"]] == list(KINDS)
    codex = value["adapters"][0]
    assert codex["supports_model_selection"] is True
    assert (codex["version"], codex["path"]) == ("0.171.0", str(tmp_path / "bin" / "codex"))
    assert codex["supported_modes"] == ["interactive", "batch", "supervised"]
    assert all(set(view) == set(codex) for view in value["adapters"])


def test_the_document_shows_what_is_printed(environ: dict[str, str], tmp_path: Path) -> None:
    text = (Path(ROOT) / "docs" / "json-shapes.md").read_text(encoding="utf-8")
    section = text.split("\n## adapter list\n", 1)[1]
    shown = section.split("```json\n", 1)[1].split("```", 1)[0]
    out = adapter(environ, tmp_path, "list", "--format", "json")[1]
    first = json.loads(out)["adapters"][0]
    assert json.loads(shown.replace("/home/ann", str(tmp_path))) == {"adapters": [first]}


def test_its_table_says_what_is_installed_and_what_to_install(
    environ: dict[str, str], tmp_path: Path
) -> None:
    status, out, err = adapter(environ, tmp_path, "list")
    assert (status, err) == (0, "")
    rows = {line.split()[0]: line for line in out.split("\n\n")[0].splitlines()[1:]}
    assert list(rows) == list(KINDS)
    assert f"0.171.0  yes       {tmp_path}/bin/codex" in rows["codex"]
    assert "not installed: npm install -g opencode-ai" in rows["opencode"]
    able = {line.split()[0]: line for line in out.split("\n\n")[1].splitlines()}
    assert able["codex"].split()[1:] == [
        "yes",
        *("steer", "attach", "model", "interrupt", "follow-up", "activity", "resume", "fork"),
        *("attach", "model", "activity", "resume"),
    ]


def test_nothing_of_the_users_is_written_but_what_was_learned(
    environ: dict[str, str], tmp_path: Path
) -> None:
    assert adapter(environ, tmp_path, "list")[0] == 0
    made = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert made == ["bin", "bin/codex", "ck", "ck/probes.json"]


def test_a_broken_configuration_is_named(environ: dict[str, str], tmp_path: Path) -> None:
    mark_repository(tmp_path)
    (tmp_path / ".cuekit.yaml").write_text("adapters: [\n")
    status, out, err = adapter(environ, tmp_path, "list", "--format", "json")
    error = json.loads(err)["error"]
    assert (status, out) == (2, "")
    assert ".cuekit.yaml" in error["message"]


@pytest.mark.parametrize("arguments", [("list", "--format", "yaml"), ("lst",), ("list", "x")])
def test_wrong_usage_is_one_line_and_status_2(
    environ: dict[str, str], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    status, out, err = adapter(environ, tmp_path, *arguments)
    assert (status, out) == (2, "")
    assert "Traceback" not in err


def test_the_help_has_an_example(environ: dict[str, str], tmp_path: Path) -> None:
    status, out, err = adapter(environ, tmp_path, "list", "--help")
    assert (status, err) == (0, "")
    assert "cuekit adapter list --format json" in out
