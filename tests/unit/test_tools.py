"""The developer's entry: what it understands, and the table that it makes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tools import dev, matrix, setup

ROOT = Path(__file__).resolve().parents[2]


def run_dev(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "dev", *arguments],
        env={"PATH": "/usr/bin:/bin", **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_its_help_names_every_command() -> None:
    done = run_dev("--help")
    assert done.returncode == 0
    assert [name for name in dev.COMMANDS if f"./dev {name}" not in done.stdout] == []


def test_an_unknown_command_is_wrong_usage() -> None:
    done = run_dev("tset")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("dev: no command 'tset'; there are demo, test")


def test_a_machine_without_python_is_told_what_to_install(tmp_path: Path) -> None:
    for name in ("sh", "dirname"):
        (tmp_path / name).symlink_to(f"/bin/{name}" if name == "sh" else f"/usr/bin/{name}")
    done = run_dev("test", PATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert "apt-get install python3" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], True),
        (["-q", "-k", "steer"], True),
        (["tests"], True),
        (["tests/real/test_harness.py::test_x"], True),
        (["tests/unit"], False),
        (["-x", "tests/cli/test_doctor.py"], False),
        (["tests/unit", "tests/real"], True),
    ],
)
def test_agents_are_installed_only_for_tests_that_run_them(
    arguments: list[str], expected: bool
) -> None:
    assert dev.names_real_tests(arguments) is expected


def test_a_step_that_fails_shows_its_last_words_and_what_to_type() -> None:
    with pytest.raises(setup.SetupFailed) as caught:
        setup.logged(["sh", "-c", "echo no room >&2; exit 3"], "make room")
    assert "no room" in str(caught.value)
    assert "make room" in str(caught.value)


CASES = """<report>
<testcase classname="tests.real.test_steer" name="test_a_text_arrives[codex-0.133.0]"/>
<testcase classname="tests.real.test_steer" name="test_a_text_arrives[codex-0.171.0-short]"/>
<testcase classname="tests.real.test_steer" name="test_a_text_arrives[codex-0.171.0-long]">
  <failure/></testcase>
<testcase classname="tests.real.test_end" name="test_finish_completes[claude-2.1.167]">
  <skipped/></testcase>
<testcase classname="tests.real.test_end" name="test_without_an_agent"/>
</report>"""


def test_the_matrix_shows_the_worst_of_each_behaviour_and_version() -> None:
    labels = ["codex-0.133.0", "codex-0.171.0", "claude-2.1.167"]
    found = matrix.results(ElementTree.fromstring(CASES).iter("testcase"), labels)
    assert matrix.page(found, labels) == (
        "## steer\n\n"
        "| behaviour | codex-0.133.0 | codex-0.171.0 | claude-2.1.167 |\n"
        "|---|---|---|---|\n"
        "| a text arrives | yes | no | - |\n\n"
        "## end\n\n"
        "| behaviour | codex-0.133.0 | codex-0.171.0 | claude-2.1.167 |\n"
        "|---|---|---|---|\n"
        "| finish completes | - | - | skipped |\n"
    )


@pytest.mark.parametrize(
    ("first", "failed", "second", "tries", "status"),
    [
        (0, 0, 1, 1, 0),
        (1, 2, 0, 2, 0),  # a busy machine
        (1, 2, 1, 2, 1),  # what is broken fails twice
        (1, 6, 0, 1, 1),  # too many for an accident
        (1, 0, 0, 1, 1),
        (2, 2, 0, 1, 2),  # interrupted, or worse
    ],
)
def test_what_failed_beside_others_is_tried_once_more_alone(
    monkeypatch: pytest.MonkeyPatch, first: int, failed: int, second: int, tries: int, status: int
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str]) -> int:
        commands.append(command)
        (option,) = [word for word in command if word.startswith("cache_dir=")]
        folder = Path(option.partition("=")[2]) / "v" / "cache"
        folder.mkdir(parents=True, exist_ok=True)
        names = {f"tests/real/test_x.py::test_{n}": True for n in range(failed)}
        (folder / "lastfailed").write_text(json.dumps(names), encoding="utf-8")
        return first if len(commands) == 1 else second

    monkeypatch.setattr(dev, "run", run)
    assert dev.with_second_try(Path("python"), ["pytest", "-n", "2"]) == status
    assert len(commands) == tries
    assert [command[-3:] for command in commands[1:]] == [["-n", "0", "--last-failed"]] * (
        tries - 1
    )
