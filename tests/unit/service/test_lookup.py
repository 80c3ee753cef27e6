"""Finding the project, the session and the task that somebody means."""

import os
from pathlib import Path

import pytest

from cuekit.service import lookup
from tests.support.command_line import CommandLine, cli
from tests.support.repository import mark_repository

__all__ = ["cli"]


def test_the_project_is_the_nearest_folder_with_git(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner" / "deep"
    inner.mkdir(parents=True)
    mark_repository(tmp_path / "outer")
    assert lookup.project_root(str(inner)) == str(tmp_path / "outer")
    (tmp_path / "outer" / "inner" / ".git").write_text("gitdir: elsewhere")  # as in a worktree
    assert lookup.project_root(str(inner)) == str(tmp_path / "outer" / "inner")


def test_a_git_folder_without_a_head_makes_no_project(tmp_path: Path) -> None:
    """Such a folder stands in /tmp while codex's sandbox protects that name."""
    mark_repository(tmp_path / "outer")
    inner = tmp_path / "outer" / "inner"
    (inner / ".git").mkdir(parents=True)
    assert lookup.project_root(str(inner)) == str(tmp_path / "outer")
    (inner / ".git" / "HEAD").symlink_to("refs/heads/main")  # as git once did
    assert lookup.project_root(str(inner)) == str(inner)


def test_without_git_the_project_is_the_folder_itself_with_links_resolved(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert lookup.project_root(str(tmp_path / "link")) == str(tmp_path / "real")


def test_a_session_is_stable_short_and_of_one_project() -> None:
    assert lookup.session_of("/home/ann/project") == lookup.session_of("/home/ann/project")
    assert lookup.session_of("/home/ann/project") != lookup.session_of("/home/ann/project2")
    assert len(lookup.session_of(os.fsdecode(b"/not utf-8 \xff"))) == 10


def test_last_is_the_newest_of_this_project(cli: CommandLine, tmp_path: Path) -> None:
    cli.task("t_aaaaaaaa", created_at=10.0)
    cli.task("t_bbbbbbbb", created_at=30.0)
    cli.task("t_cccccccc", created_at=20.0)
    cli.task("t_dddddddd", created_at=99.0, session_id="s_another", cwd=tmp_path)
    assert cli.json("task", "status", "@last")["task_id"] == "t_bbbbbbbb"


def test_a_task_that_is_named_twice_is_shown_once(cli: CommandLine) -> None:
    cli.task("t_aaaaaaaa")
    found = cli.json("task", "status", "t_aaaaaaaa", "@last", "t_aaaa")
    assert [view["task_id"] for view in found["tasks"]] == ["t_aaaaaaaa"]


@pytest.mark.parametrize("ref", ["t_aaaa", "t_aaaaaaa", "t_aaaaaaaa"])
def test_a_unique_prefix_is_enough(cli: CommandLine, ref: str) -> None:
    cli.task("t_aaaaaaaa")
    cli.task("t_bbbbbbbb")
    assert cli.json("task", "status", ref)["task_id"] == "t_aaaaaaaa"


def test_an_exact_id_wins_over_longer_ones(cli: CommandLine) -> None:
    cli.task("t_aaaaaaaa")
    cli.task("t_zzzzzzzz")  # the last prefix there is
    assert cli.json("task", "status", "t_zzzz")["task_id"] == "t_zzzzzzzz"
