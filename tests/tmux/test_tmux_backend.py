"""The tmux backend on a real server of the test's own."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cuekit.errors import CuekitError
from cuekit.panes.base import PaneGone, TmuxGone, TmuxMissing, TmuxUnclear
from cuekit.panes.octal import shell_hook, shell_path
from cuekit.panes.tmux import Tmux, default_socket
from tests.support.tmux import TmuxServer
from tests.support.wait import wait_until

NAME = "cuekit-task-t_aaaaaaaa"
CAT = ("/bin/sh", "-c", "exec cat")
HOSTILE = ["a b", "it's", "#(touch x)", "#{pane_id}", "%H", "a;", 'q"$(id)`', "ü", "n" * 200]


def backend(server: TmuxServer, limit_s: float = 10.0) -> Tmux:
    return Tmux(str(server.socket), environ=server.env, limit_s=limit_s)


def start(tmux: Tmux, command: tuple[str, ...] = CAT, **further: object) -> str:
    settings = {"task_id": "t_aaaaaaaa", "pipe_command": "", **further}
    return tmux.start_session(NAME, command, **settings)  # type: ignore[arg-type]


def wait_for_death(tmux: Tmux) -> None:
    """Wait until the pane's program is over and tmux knows how it ended."""

    def known() -> bool:
        pane = tmux.pane(NAME)
        assert pane is not None
        if pane.dead and pane.exit_code is None:
            tmux.reap()
        return pane.exit_code is not None

    wait_until(known, what="the exit code of the pane's program")


def start_with_config(server: TmuxServer, config: str) -> None:
    """Start the server the way a person does, with a tmux.conf and a session of their own."""
    path = server.folder / "tmux.conf"
    path.write_text(config)
    keep = "" if "destroy-unattached on" in config else "set -g exit-empty off\n"
    path.write_text(config + "\n" + keep)
    subprocess.run(
        ["tmux", "-S", str(server.socket), "-f", str(path), "start-server", ";", "set", "-g",
         "exit-empty", "off"],
        env=server.env, check=True, timeout=10,
    )  # fmt: skip


def test_a_session_is_started_seen_and_ended_by_its_exact_name(tmux_server: TmuxServer) -> None:
    tmux = backend(tmux_server)
    pane_id = start(tmux)
    seen = tmux.pane(NAME)
    assert seen is not None
    assert (seen.pane_id, seen.session, seen.task, seen.dead, seen.in_mode) == (
        pane_id, NAME, "t_aaaaaaaa", False, False,
    )  # fmt: skip
    assert tmux_server.value(pane_id, "#{window_width}x#{window_height}") == "200x50"
    assert tmux.pane(NAME[:-1]) is None
    assert tmux.kill_session(NAME[:-1]) is False
    assert tmux.clients(NAME) == 0
    assert tmux.kill_session(NAME) is True
    assert tmux.kill_session(NAME) is False
    wait_until(lambda: not Path(f"/proc/{seen.pid}").exists(), what="the end of its program")


def test_no_server_no_pane_and_no_answer_are_three_errors(tmux_server: TmuxServer) -> None:
    tmux = backend(tmux_server, limit_s=0.5)
    with pytest.raises(TmuxGone):
        tmux.panes()
    assert tmux.server_identity() is None
    start(tmux)
    with pytest.raises(PaneGone):
        tmux.capture("%99")
    with pytest.raises(PaneGone):
        tmux.load_and_paste("%99", "text")
    assert tmux_server.run("list-buffers") == ""
    identity = tmux.server_identity()
    assert identity is not None
    os.kill(identity[0], signal.SIGSTOP)
    try:
        for call in (
            tmux.panes,
            tmux.server_identity,
            tmux.unpinnable,
            lambda: tmux.capture("%0"),
            lambda: tmux.load_and_paste("%0", "x"),
            lambda: tmux.key("%0", "Enter"),
            lambda: tmux.clients(NAME),
            lambda: tmux.kill_session(NAME),
            lambda: tmux.start_session("other", CAT, task_id="t_b", pipe_command=""),
        ):
            began = time.monotonic()
            with pytest.raises(TmuxUnclear) as caught:
                call()
            assert time.monotonic() - began < 3
            assert caught.value.code == "tmux_timeout"
            assert caught.value.hint is not None
    finally:
        os.kill(identity[0], signal.SIGCONT)


def test_a_broken_server_is_unclear_and_not_gone(tmux_server: TmuxServer) -> None:
    start(backend(tmux_server))
    fake = tmux_server.folder / "bin"
    fake.mkdir()
    (fake / "tmux").write_text(
        "#!/bin/sh\necho 'protocol version mismatch (client 8)' >&2\nexit 1\n"
    )
    (fake / "tmux").chmod(0o755)
    tmux = Tmux(str(tmux_server.socket), environ={**tmux_server.env, "PATH": str(fake)})
    with pytest.raises(TmuxUnclear, match="protocol version mismatch"):
        tmux.panes()


def test_a_missing_tmux_is_named_with_the_way_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(TmuxMissing) as caught:
        Tmux(None, environ={"PATH": str(tmp_path)})
    assert caught.value.code == "tmux_missing"
    assert "apt-get install tmux" in str(caught.value.hint)
    assert "brew install tmux" in str(caught.value.hint)


@pytest.mark.parametrize("name", HOSTILE)
def test_paths_reach_the_pane_the_pipe_and_the_hook_untouched(
    tmux_server: TmuxServer, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "launch.sh").write_text("pwd; echo started; exit 7\n")
    word = shell_path(str(folder))
    tmux = backend(tmux_server)
    start(
        tmux,
        ("/bin/sh", "-c", f'cd {word} && exec /bin/sh "$1"', "x", "launch.sh"),
        pipe_command=f"exec cat > {word}/transcript.txt",
        hooks={"pane-died": shell_hook(f"echo died > {word}/died.txt")},
    )
    wait_for_death(tmux)
    wait_until(lambda: (folder / "died.txt").exists(), what="the hook")
    transcript = folder / "transcript.txt"
    wait_until(lambda: transcript.exists() and "started" in transcript.read_text())
    assert transcript.read_bytes().startswith(f"{folder}\r\nstarted\r\n".encode())
    pane = tmux.pane(NAME)
    assert pane is not None
    assert (pane.dead, pane.exit_code, pane.exit_signal) == (True, 7, None)
    assert sorted(os.listdir(folder)) == ["died.txt", "launch.sh", "transcript.txt"]
    assert os.listdir(tmp_path) == [name]


def test_an_argument_that_tmux_would_change_is_refused(tmux_server: TmuxServer) -> None:
    tmux = backend(tmux_server)
    for text in ("a;", "#(id)", "100%"):
        with pytest.raises(ValueError, match="would not pass"):
            start(tmux, ("/bin/sh", "-c", text))
    assert tmux_server.sessions() == []


OPTIONS = [
    "set -g base-index 1",
    "set -g pane-base-index 1",
    "set -g default-command 'exit 1'",
    "set -g remain-on-exit off",
    "set -g remain-on-exit on",
    "set -g destroy-unattached on",
    "set -g renumber-windows on",
    "set -g status off",
    "set -g mouse on",
    "set -g default-shell /bin/false",
    "set -g allow-rename on\nset -g automatic-rename on",
    "set -g window-size smallest\nset -g aggressive-resize on",
    "this is not a tmux command",
]


@pytest.mark.parametrize("option", OPTIONS)
def test_the_options_of_the_user_change_nothing(
    tmux_server: TmuxServer, tmp_path: Path, option: str
) -> None:
    start_with_config(tmux_server, option)
    tmux = backend(tmux_server)
    assert tmux.unpinnable() == []
    script = "printf 'first\\n\\033]0;a title\\007'; read answer; echo got $answer; exit 5"
    (tmp_path / "run.sh").write_text(script)
    word = shell_path(str(tmp_path))
    pane_id = start(
        tmux,
        ("/bin/sh", "-c", f"exec /bin/sh {word}/run.sh"),
        pipe_command=f"exec cat > {word}/transcript.txt",
        hooks={"pane-died": shell_hook(f"echo died > {word}/died.txt")},
    )

    def title() -> str:
        pane = tmux.pane(NAME)
        assert pane is not None
        return pane.title

    wait_until(lambda: title() == "a title", what=title)
    tmux.leave_copy_mode(pane_id)
    tmux.load_and_paste(pane_id, "yes")
    tmux.key(pane_id, "Enter")
    wait_for_death(tmux)
    wait_until(lambda: (tmp_path / "died.txt").exists(), what=lambda: tmux.capture(pane_id))
    pane = tmux.pane(NAME)
    assert pane is not None
    assert (pane.pane_id, pane.dead, pane.exit_code) == (pane_id, True, 5)
    assert "got yes" in tmux.capture(pane_id)
    transcript = tmp_path / "transcript.txt"
    wait_until(lambda: transcript.exists() and transcript.read_bytes().startswith(b"first\r\n"))
    assert tmux.kill_session(NAME) is True


def test_an_option_that_cannot_be_pinned_is_refused_by_name(tmux_server: TmuxServer) -> None:
    start_with_config(tmux_server, "set -s exit-unattached off")
    tmux = backend(tmux_server)
    assert tmux.unpinnable() == []
    tmux_server.run("set-option", "-s", "exit-unattached", "on", ";", "new-session", "-d", "cat")
    with pytest.raises(CuekitError) as caught:
        start(tmux)
    assert caught.value.code in ("tmux_option", "tmux_gone")
    assert NAME not in tmux_server.sessions()


def test_the_server_that_is_started_gets_no_secret(tmux_server: TmuxServer) -> None:
    environ = {**tmux_server.env, "SECRET_KEY": "hunter2", "CLAUDECODE": "1", "LC_ALL": "C.UTF-8"}
    tmux = Tmux(str(tmux_server.socket), environ=environ)
    pane_id = start(tmux, ("/bin/sh", "-c", "env; exec cat"))
    shown = tmux_server.run("show-environment", "-g")
    assert "hunter2" not in shown
    assert "CLAUDECODE" not in shown
    assert f"PATH={environ['PATH']}" in shown.splitlines()
    wait_until(lambda: "PATH=" in tmux.capture(pane_id))
    assert "hunter2" not in tmux.capture(pane_id, history=1000)


def test_a_name_in_use_is_refused_and_the_session_stays(tmux_server: TmuxServer) -> None:
    tmux = backend(tmux_server)
    pane_id = start(tmux)
    with pytest.raises(TmuxUnclear, match="duplicate session"):
        start(tmux)
    seen = tmux.pane(NAME)
    assert seen is not None
    assert seen.pane_id == pane_id


def test_the_titles_of_other_sessions_are_read_whole(tmux_server: TmuxServer) -> None:
    tmux = backend(tmux_server)
    start(tmux)
    tmux_server.run("new-session", "-d", "-s", "e f", "exec cat")
    tmux_server.run("select-pane", "-t", "=e f:", "-T", "✳ wörk: a b")
    command = ("display-message", "-p", "-t", "=e f:", "#{pane_current_command}")
    wait_until(lambda: tmux_server.run(*command).strip() == "cat")  # a shell until it has exec'd
    other = tmux.pane("e f")
    assert other is not None
    assert (other.title, other.command, other.task) == ("✳ wörk: a b", "cat", "")
    tmux_server.run("split-window", "-d", "-b", "-t", f"={NAME}:", "cat")
    ours = tmux.pane(NAME)
    assert ours is not None
    assert ours.task == "t_aaaaaaaa"


def test_copy_mode_is_left_once(tmux_server: TmuxServer) -> None:
    tmux = backend(tmux_server)
    pane_id = start(tmux)
    tmux_server.run("copy-mode", "-t", pane_id)
    assert tmux.leave_copy_mode(pane_id) is True
    assert tmux.leave_copy_mode(pane_id) is False


def test_an_attached_client_is_counted_and_gives_its_size(tmux_server: TmuxServer) -> None:
    tmux = backend(tmux_server)
    pane_id = start(tmux)
    script = f"stty rows 30 cols 90; exec {shlex.join(tmux.attach_command(NAME))}"
    client = subprocess.Popen(
        [sys.executable, "-c", "import pty,sys; pty.spawn(['/bin/sh', '-c', sys.argv[1]])", script],
        env={**tmux_server.env, "TERM": "xterm"},
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_until(lambda: tmux.clients(NAME) == 1)
        wait_until(lambda: tmux_server.value(pane_id, "#{window_width}") == "90")
    finally:
        client.kill()
        client.wait()
        assert client.stdin is not None
        client.stdin.close()
    wait_until(lambda: tmux.clients(NAME) == 0)


def test_the_default_socket_is_the_one_that_tmux_itself_uses(tmux_server: TmuxServer) -> None:
    env = dict(tmux_server.env)
    binary = shutil.which("tmux")
    assert binary is not None
    shown = subprocess.run(
        [binary, "-f", "/dev/null", "new-session", "-d", "cat", ";", "display-message", "-p",
         "#{socket_path}", ";", "kill-server"],
        env=env, capture_output=True, text=True, check=True, timeout=10,
    )  # fmt: skip
    assert shown.stdout.strip() == default_socket(env)
    assert default_socket({**env, "CUEKIT_TMUX_SOCKET": "/a/b"}) == "/a/b"


def test_an_independent_library_sees_the_same_session(tmux_server: TmuxServer) -> None:
    import libtmux

    tmux = backend(tmux_server)
    pane_id = start(tmux)
    tmux.load_and_paste(pane_id, "hello; it's")
    tmux.key(pane_id, "Enter")
    wait_until(lambda: tmux.capture(pane_id).count("hello; it's") == 2)
    seen = libtmux.Server(socket_path=str(tmux_server.socket)).sessions.get(session_name=NAME)
    assert seen is not None
    ours = tmux.pane(NAME)
    theirs = seen.active_pane
    assert ours is not None
    assert theirs is not None
    assert (theirs.pane_id, theirs.pane_pid) == (ours.pane_id, str(ours.pid))
    assert theirs.capture_pane() == tmux.capture(pane_id).rstrip("\n").split("\n")
    assert seen.show_option("destroy-unattached") in (False, "off")
    assert tmux.kill_session(NAME)
    assert libtmux.Server(socket_path=str(tmux_server.socket)).sessions == []
