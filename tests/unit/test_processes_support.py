"""Finding what a test started by the mark in its environment."""

from __future__ import annotations

import os
import secrets
import subprocess

from tests.support.processes import end_marked, marked
from tests.support.wait import wait_until


def test_a_process_that_left_its_session_and_parent_is_found_and_ended() -> None:
    name, value = "CUEKIT_TEST_MARK", secrets.token_hex(8)
    mark = f"{name}={value}"
    script = "(setsid sh -c \"trap '' TERM HUP; sleep 300; :\" &) & wait"
    env = {**os.environ, name: value}
    subprocess.run(["sh", "-c", script], env=env, stdout=subprocess.DEVNULL, check=True)
    try:
        wait_until(lambda: any(command == "sleep 300" for command in marked(mark).values()))
        assert len(marked(mark)) == 2
    finally:
        end_marked(mark)
    assert marked(mark) == {}
