"""The tmux server of the test support: private, and gone afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tmux import TmuxServer, tmux_server
from tests.support.wait import wait_until

__all__ = ["tmux_server"]


def test_it_is_reached_by_its_own_socket_only(tmux_server: TmuxServer) -> None:
    assert tmux_server.sessions() == []
    pane = tmux_server.run("new-session", "-d", "-s", "one", "-P", "-F", "#{pane_id}", "cat")
    assert tmux_server.sessions() == ["one"]
    assert tmux_server.value(pane, "#{socket_path}") == str(tmux_server.socket)
    other = TmuxServer()
    try:
        assert other.sessions() == []
    finally:
        other.close()


def test_a_pasted_text_arrives_and_then_a_key(tmux_server: TmuxServer) -> None:
    quiet = "stty -echo; echo ready; exec cat"
    pane = tmux_server.run("new-session", "-d", "-P", "-F", "#{pane_id}", quiet)
    wait_until(lambda: "ready" in tmux_server.screen(pane))
    tmux_server.paste(pane, "it's #{pane_id} ;\n%H")
    tmux_server.key(pane, "Enter")
    wait_until(lambda: tmux_server.screen(pane).rstrip() == "ready\nit's #{pane_id} ;\n%H")


def test_a_failed_command_is_shown_with_tmuxs_words(tmux_server: TmuxServer) -> None:
    with pytest.raises(AssertionError, match="kill-session -t nobody"):
        tmux_server.run("kill-session", "-t", "nobody")


def test_after_closing_nothing_is_left() -> None:
    server = TmuxServer()
    server.run("new-session", "-d", "cat")
    pid = server.run("display-message", "-p", "#{pid}")
    server.close()
    assert not server.folder.exists()
    wait_until(lambda: not Path(f"/proc/{pid}").exists())
