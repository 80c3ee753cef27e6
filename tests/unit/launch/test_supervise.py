"""The supervisor where the machine is against it."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from cuekit.launch import supervise
from cuekit.launch.plan import LaunchPlan
from cuekit.launch.supervise import Supervisor
from cuekit.paths import Home
from cuekit.store import db as store
from cuekit.store import tasks
from tests.support.wait import wait_until

TASK_ID = "t_abcd1234"


def test_what_the_store_cannot_take_now_is_stored_at_a_later_look(tmp_path: Path) -> None:
    """A full disk, here a connection that may not write, must not end the child's supervisor."""
    spool = tmp_path / "spool"
    spool.mkdir()
    with closing(store.open_store(Home(str(tmp_path / "home")))) as db:
        row = {"task_id": TASK_ID, "agent_kind": "codex", "mode": "interactive", "spec": {}}
        tasks.insert(db, {**row, "cwd": "/", "task_dir": str(tmp_path), "session_id": "s_1"})
        supervisor = Supervisor(plan(tmp_path), db)
        (spool / "1.UserPromptSubmit.json").write_text(
            json.dumps({"session_id": "s", "prompt": "do it"}), encoding="utf-8"
        )
        db.execute("PRAGMA query_only = ON")
        supervisor._look()
        db.execute("PRAGMA query_only = OFF")
        before = tasks.get(db, TASK_ID)
        supervisor._look()
        after = tasks.get(db, TASK_ID)
    assert before is not None
    assert after is not None
    assert (before.activity, after.activity) == ("unknown", "working")


def test_a_title_that_moves_at_the_start_does_not_keep_the_first_prompt_back(
    tmp_path: Path,
) -> None:
    (tmp_path / "spool").mkdir()
    typed = tmp_path / "typed"
    command = ["/usr/bin/touch", str(typed)]
    interactive = plan(tmp_path)._replace(mode="interactive", first_prompt=command)
    with closing(store.open_store(Home(str(tmp_path / "home")))) as db:
        row = {"task_id": TASK_ID, "agent_kind": "codex", "mode": "interactive", "spec": {}}
        tasks.insert(db, {**row, "cwd": "/", "task_dir": str(tmp_path), "session_id": "s_1"})
        supervisor = Supervisor(interactive, db)
        for title in ("\u280b project", "\u2819 project", "project"):
            (tmp_path / "title").write_text(title, encoding="utf-8")
            supervisor._look()
        wait_until(typed.exists, 5)
        assert (supervisor.progress.activity, supervisor.progress.turn) == ("idle", 0)
        supervisor._reap()


def plan(folder: Path) -> LaunchPlan:
    return LaunchPlan(
        task_id=TASK_ID,
        agent_kind="codex",
        mode="batch",
        argv=["codex"],
        cwd=str(folder),
        task_dir=str(folder),
        run_dir=str(folder),
        home=str(folder / "home"),
        stdin="null",
        timeout_s=None,
        keep=False,
        tmux="/nonexistent/tmux",
        socket_path=str(folder / "socket"),
        session=f"cuekit-task-{TASK_ID}",
        expects_evidence=True,
    )


def test_its_program_loads_nothing_heavy() -> None:
    """`dataclasses` alone, with `inspect` and `ast` behind it, would take it over 15 MiB."""
    root = str(Path(supervise.__file__).parents[2])
    program = (
        f"import sys; sys.path.append({root!r}); import cuekit.launch.supervise;"
        "from cuekit.activity import registry as r; r.get('codex'); r.get('claude-code');"
        "print([m for m in ('ast', 'dataclasses', 'inspect', 'subprocess') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
