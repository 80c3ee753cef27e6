"""`task delete` and `task cleanup`: what goes, what stays, and that nothing else is touched."""

import json
import os
import time
from pathlib import Path

from cuekit.launch.plan import LOCK
from cuekit.model.lifecycle import Status
from tests.support.command_line import CommandLine, cli
from tests.support.tmux import TmuxServer, tmux_server

__all__ = ["cli", "tmux_server"]

A, B, C = "t_aaaaaaaa", "t_bbbbbbbb", "t_cccccccc"


def left(cli: CommandLine) -> list[str]:
    return sorted(task["task_id"] for task in cli.json("task", "list", "--all")["tasks"])


def test_an_ended_task_goes_with_its_files(cli: CommandLine) -> None:
    folder = cli.task(A, Status.COMPLETED)
    (folder / "transcript.txt").write_text("text")
    cli.task(B, Status.COMPLETED)
    assert cli.json("task", "delete", A) == {"removed": [A], "kept": []}
    assert left(cli) == [B]
    assert not folder.exists()
    assert not os.path.exists(cli.home.run(A))
    assert os.path.exists(cli.home.run(B))
    assert cli.error("task", "status", A) == (3, "task_not_found")


def test_a_live_task_is_kept_with_the_reason(cli: CommandLine) -> None:
    folder = cli.task(A, Status.RUNNING)
    done = cli.run("task", "delete", A)
    assert (done.returncode, done.stdout) == (4, f"kept {A}: it has not ended: running\n")
    assert folder.exists()


def test_nothing_goes_when_one_name_is_wrong(cli: CommandLine) -> None:
    cli.task(A, Status.COMPLETED)
    assert cli.error("task", "delete", A, "t_nowhere") == (3, "task_not_found")
    assert left(cli) == [A]


def test_a_dry_run_removes_nothing(cli: CommandLine) -> None:
    folder = cli.task(A, Status.COMPLETED)
    assert cli.out("task", "delete", A, "--dry-run") == f"would remove {A}\n"
    assert cli.json("task", "cleanup", "--dry-run") == {"removed": [A], "kept": []}
    assert folder.exists()
    assert left(cli) == [A]


def test_links_are_removed_and_never_followed(cli: CommandLine, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("keep me")
    folder = cli.task(A, Status.COMPLETED)
    (folder / "link").symlink_to(precious)
    other = cli.task(B, Status.COMPLETED)
    other.rmdir()
    other.symlink_to(precious)
    assert cli.json("task", "delete", A, B) == {"removed": [A, B], "kept": []}
    assert (precious / "file").read_text() == "keep me"
    assert not other.is_symlink()


def test_a_folder_that_is_not_the_tasks_own_is_left_alone(cli: CommandLine) -> None:
    cli.task(A, Status.COMPLETED, task_dir=str(cli.project))
    (cli.project / "work").write_text("mine")
    done = cli.run("task", "delete", A, "--format", "json")
    reason = f"its folder is not one that cuekit made: {cli.project}"
    assert json.loads(done.stdout) == {"removed": [], "kept": [{"task_id": A, "reason": reason}]}
    assert (cli.project / "work").read_text() == "mine"


def test_files_that_are_gone_already_do_not_matter(cli: CommandLine) -> None:
    folder = cli.task(A, Status.COMPLETED)
    folder.rmdir()
    assert cli.json("task", "delete", A) == {"removed": [A], "kept": []}


def test_a_supervisor_that_still_works_is_waited_for_and_then_respected(cli: CommandLine) -> None:
    from cuekit import files

    folder = cli.task(A, Status.COMPLETED)
    lock = files.try_lock(os.path.join(cli.home.run(A), LOCK))
    assert lock is not None
    try:
        done = cli.run("task", "delete", A)
    finally:
        os.close(lock)
    assert (done.returncode, done.stdout) == (
        4,
        f"kept {A}: its supervisor has not finished yet\n",
    )
    assert folder.exists()


def test_cleanup_takes_what_fits(cli: CommandLine, tmp_path: Path) -> None:
    now = time.time()
    cli.task(A, Status.COMPLETED, completed_at=now - 7200)
    cli.task(B, Status.FAILED, completed_at=now - 7200)
    cli.task(C, Status.COMPLETED, completed_at=now - 60)
    cli.task("t_live0000", Status.RUNNING)
    other = {"session_id": "s_other", "cwd": tmp_path, "completed_at": now - 7200}
    cli.task("t_other000", Status.COMPLETED, **other)
    old = ("task", "cleanup", "--older-than", "1h")
    assert cli.json(*old, "--status", "failed") == {"removed": [B], "kept": []}
    assert cli.json(*old) == {"removed": [A], "kept": []}
    assert cli.json(*old, "--all") == {"removed": ["t_other000"], "kept": []}
    assert cli.json("task", "cleanup") == {"removed": [C], "kept": []}
    assert cli.out("task", "cleanup") == "nothing to remove\n"
    assert left(cli) == ["t_live0000"]


def test_cleanup_of_many_takes_all(cli: CommandLine) -> None:
    wanted = {f"t_{number:08d}" for number in range(30)}
    for task_id in wanted:
        cli.task(task_id, Status.COMPLETED)
    assert set(cli.json("task", "cleanup")["removed"]) == wanted


def test_a_session_that_was_kept_is_closed(cli: CommandLine, tmux_server: TmuxServer) -> None:
    cli.env |= {"CUEKIT_TMUX_SOCKET": str(tmux_server.socket), "TERM": "xterm"}
    tmux_server.run("new-session", "-d", "-s", "theirs", "sleep 600")
    submit = ("task", "submit", "--agent-kind", "shell", "--mode", "batch")
    task_id = cli.json(*submit, "true", "--keep", "--wait")["task_id"]
    assert sorted(tmux_server.sessions()) == [f"cuekit-task-{task_id}", "theirs"]
    assert cli.json("task", "delete", task_id) == {"removed": [task_id], "kept": []}
    assert tmux_server.sessions() == ["theirs"]
