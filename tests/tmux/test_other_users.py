"""What another local user can read of a supervised task that waits: nothing.

As root (a step of its own in CI) the test becomes another user and tries; as any other user, who
cannot, it looks at the modes of every file and folder.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_own_agents import SETTINGS
from tests.support.tmux import TmuxServer
from tests.support.wait import wait_until
from tests.support.workplace import Workplace

NOBODY = 65534


@pytest.fixture
def open_place(tmux_server: TmuxServer) -> Iterator[Workplace]:
    """A workplace below a folder that everybody may enter."""
    root = Path(tempfile.mkdtemp(prefix="ck-", dir="/tmp"))
    root.chmod(0o755)
    place = Workplace(root / "place", tmux_server)
    try:
        yield place
    finally:
        place.close()
        shutil.rmtree(root, ignore_errors=True)


def opened_as(user: int, paths: list[Path]) -> list[str]:
    """Those of the paths that another user can open: a child becomes that user and tries."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
        found = []
        for path in paths:
            try:
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
                found.append(str(path))
            except OSError:
                continue
        os.write(writer, json.dumps(found).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        found = json.loads(file.read())
    os.waitpid(child, 0)
    return list(found)


def test_nothing_of_a_task_is_open_to_another_user(open_place: Workplace) -> None:
    home = Path(open_place.home.root)
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(json.dumps(SETTINGS))
    (home / "config.yaml").chmod(0o600)
    task_id = open_place.submit("please make a file", agent_kind="demo")
    wait_until(lambda: open_place.status(task_id)["activity"] == "waiting_approval", 20)
    folder = open_place.project / ".cuekit" / "tasks"
    paths = [home, *home.rglob("*"), folder, *folder.rglob("*")]
    names = {path.name for path in paths}
    assert {"state.db", "sidecar.json", "events.jsonl", "transcript.txt", "launch.json"} <= names
    loose = [str(path) for path in paths if path.lstat().st_mode & 0o077 and not path.is_symlink()]
    assert loose == []
    if os.getuid() == 0:
        assert opened_as(NOBODY, paths) == []
        shown = open_place.project.parent
        assert opened_as(NOBODY, [shown]) == [str(shown)], "the test could not have failed"
