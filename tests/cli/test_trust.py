"""`cuekit trust` and `cuekit config show` as a user runs them."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.repository import mark_repository

CONFIG = """\
submit:
  model: gpt-5
adapters:
  codex:
    permissions: bypass
    command: tools/codex
"""


@dataclass
class User:
    """A user in the folder `project`, a git repository, with a home folder of their own."""

    root: Path
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def file(self) -> Path:
        return self.project / ".cuekit.yaml"

    def run(self, *words: str, cwd: str = "project") -> "subprocess.CompletedProcess[str]":
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root / "home"),
            "CUEKIT_HOME": str(self.root / "cuekit"),
            **self.extra,
        }
        argv = [sys.executable, "-m", "cuekit", *words]
        place = self.root / cwd
        done = subprocess.run(argv, cwd=place, env=environ, capture_output=True, text=True)
        assert "Traceback" not in done.stderr
        return done

    def json(self, *words: str, cwd: str = "project") -> Any:
        done = self.run(*words, "--format", "json", cwd=cwd)
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    def error(self, *words: str, cwd: str = "project") -> tuple[int, str]:
        """Exit status and code of a command that fails, in one line."""
        done = self.run(*words, "--format", "json", cwd=cwd)
        assert (done.stdout, done.stderr.count("\n")) == ("", 1)
        return done.returncode, json.loads(done.stderr)["error"]["code"]


@pytest.fixture
def user(tmp_path: Path) -> User:
    user = User(Path(os.path.realpath(tmp_path)))
    for name in ("project/below", "home"):
        (user.root / name).mkdir(parents=True)
    mark_repository(user.root / "project")
    user.file.write_text(CONFIG)
    return user


def trusted_here(user: User, cwd: str = "project") -> tuple[Any, Any]:
    here = user.json("trust", "show", cwd=cwd)["here"]
    return here["folder_trusted"], here["config_trusted"]


def test_trust_is_given_to_the_git_root_and_to_the_present_content(user: User) -> None:
    assert trusted_here(user, "project/below") == (False, False)
    given = user.json("trust", cwd="project/below")
    assert given == {
        "folder": str(user.project),
        "config": {"path": str(user.file), "sha256": given["config"]["sha256"]},
        "allows": [
            {
                "name": "adapters.codex.permissions",
                "value": "bypass",
                "source": f"{user.file}:5",
            },
            {
                "name": "adapters.codex.command",
                "value": [f"{user.project}/tools/codex"],
                "source": f"{user.file}:6",
            },
        ],
        "profiles": [],
    }
    assert trusted_here(user, "project/below") == (True, True)
    user.file.write_text(CONFIG + "#\n")
    assert trusted_here(user, "project/below") == (True, False)
    assert user.json("trust", "show")["contents"][0]["state"] == "changed"


def test_giving_trust_says_what_it_allows(user: User) -> None:
    assert user.run("trust").stdout == (
        f"trusted  {user.project}\n"
        f"trusted  {user.file}, as it is now\n"
        "  it may set  adapters.codex.permissions: bypass\n"
        f'  it may set  adapters.codex.command: ["{user.project}/tools/codex"]\n'
    )


def test_a_named_folder_is_trusted_itself(user: User) -> None:
    assert user.json("trust", "below")["folder"] == f"{user.project}/below"
    assert trusted_here(user) == (False, True)
    assert trusted_here(user, "project/below") == (True, True)
    revoked = user.json("trust", "revoke", "below")
    assert revoked == {"revoked": [f"{user.project}/below", str(user.file)]}
    assert trusted_here(user, "project/below") == (False, False)


def test_a_folder_without_a_configuration_can_be_trusted(user: User) -> None:
    user.file.unlink()
    assert user.json("trust") == {
        "folder": str(user.project),
        "config": None,
        "allows": [],
        "profiles": [],
    }
    assert trusted_here(user) == (True, None)


def test_a_folder_named_like_a_command_is_reached_by_a_path(user: User) -> None:
    (user.project / "show").mkdir()
    assert user.json("trust", "./show")["folder"] == f"{user.project}/show"


def test_trust_is_taken_back_whole(user: User) -> None:
    user.json("trust")
    assert user.run("trust", "revoke", cwd="project/below").stdout == (
        f"no longer trusted  {user.project}\nno longer trusted  {user.file}\n"
    )
    assert trusted_here(user) == (False, False)
    assert user.error("trust", "revoke") == (3, "not_trusted")


def test_what_is_wrong_is_one_line_with_its_status(user: User) -> None:
    assert user.error("trust", "gone") == (2, "no_such_folder")
    assert user.error("trust", ".cuekit.yaml") == (2, "no_such_folder")
    assert user.error("trust", "") == (2, "no_such_folder")
    assert user.error("trust", "revoke", "") == (2, "no_such_folder")
    assert user.error("trust", "/") == (2, "too_wide")
    assert user.error("trust", cwd="home") == (2, "too_wide")
    assert user.error("trust", "--forse") == (2, "usage")
    assert user.error("config", "show", "--cwd", "gone") == (2, "no_such_folder")
    user.file.write_text("submit: {modle: x}\n")
    assert user.error("trust") == (2, "config_invalid")
    assert user.error("config", "show") == (2, "config_invalid")
    assert not (user.root / "cuekit").exists()


def test_a_wide_folder_is_trusted_when_forced(user: User) -> None:
    assert user.json("trust", "--force", cwd="home")["folder"] == f"{user.root}/home"
    assert user.json("trust", str(user.root), "--force")["folder"] == str(user.root)


def test_the_agent_of_a_task_may_look_but_not_change(user: User) -> None:
    user.json("trust")
    user.extra["CUEKIT_TASK_ID"] = "t_abcdefgh"
    assert user.error("trust") == (4, "child_may_not")
    assert user.error("trust", "revoke") == (4, "child_may_not")
    assert trusted_here(user) == (True, True)


def test_a_broken_record_is_named(user: User) -> None:
    (user.root / "cuekit").mkdir()
    record = user.root / "cuekit" / "trust.json"
    record.write_text("{")
    record.chmod(0o600)
    for words in (["trust"], ["trust", "show"], ["trust", "revoke"], ["config", "show"]):
        assert user.error(*words) == (1, "trust_file_broken")
    assert record.read_text() == "{"


def test_each_setting_is_shown_with_the_place_that_it_comes_from(user: User) -> None:
    (user.root / "cuekit").mkdir()
    (user.root / "cuekit" / "config.yaml").write_text("submit:\n  timeout: 30m\n")
    shown = user.json("config", "show", cwd="project/below")
    rows = {row["name"]: (row["value"], row["source"]) for row in shown["settings"]}
    assert {name: rows[name] for name in rows if name.startswith("submit.")} == {
        "submit.agent_kind": (None, "built-in"),
        "submit.model": ("gpt-5", f"{user.file}:2"),
        "submit.mode": ("interactive", "built-in"),
        "submit.timeout": ("1800s", f"{user.root}/cuekit/config.yaml:2"),
        "submit.keep": (False, "built-in"),
        "submit.session": (None, "built-in"),
        "submit.reporting": (None, "built-in"),
    }
    assert rows["approvals.parents"] == rows["mcp.shell"] == ("deny", "built-in")
    assert rows["adapters.codex.permissions"] == ("bypass", "built-in")
    assert [row["name"] for row in shown["ignored"]] == [
        "adapters.codex.permissions",
        "adapters.codex.command",
    ]
    assert shown["warnings"] == [
        f"ignored in {user.file}, as you have not trusted it: adapters.codex.command, "
        "adapters.codex.permissions (to allow: cuekit trust)"
    ]
    user.json("trust")
    shown = user.json("config", "show", "--cwd", "project/below", cwd=".")
    assert (shown["ignored"], shown["warnings"], shown["project_trusted"]) == ([], [], True)


def test_the_table_shows_what_was_ignored(user: User) -> None:
    lines = user.run("config", "show").stdout.splitlines()
    assert lines[0].split() == ["SETTING", "VALUE", "FROM"]
    assert ["submit.model", "gpt-5", f"{user.file}:2"] in [line.split() for line in lines]
    assert ["IGNORED", "VALUE", "FROM"] in [line.split() for line in lines]
    assert lines[-1].startswith(f"ignored in {user.file}, as you have not trusted it: ")


@pytest.mark.parametrize(
    "words",
    [
        ["init"],
        ["trust"],
        ["trust", "show"],
        ["trust", "revoke"],
        ["config"],
        ["config", "show"],
    ],
)
def test_each_command_explains_itself_with_an_example(user: User, words: list[str]) -> None:
    done = user.run(*words, "--help")
    assert done.returncode == 0
    assert "Examples:\n  cuekit " in done.stdout
