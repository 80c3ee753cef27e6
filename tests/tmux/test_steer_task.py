"""`task steer` and `task attach` on real tasks of the shell agent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from cuekit.errors import CuekitError, InvalidInput, InvalidState, NotFound
from cuekit.model.task import tmux_session_name
from cuekit.panes.base import PaneGone
from cuekit.service.attach import attach_argv
from cuekit.service.steer import steer
from tests.support.tmux import TmuxServer
from tests.support.wait import wait_until
from tests.support.workplace import Workplace

READ_ONE = "echo ready; IFS= read -r line; printf '<%s>' \"$line\""

TO_PARENT = (
    "import os, signal, time; signal.signal(signal.SIGTTOU, signal.SIG_IGN); "
    'os.tcsetpgrp(0, os.getpgid(os.getppid())); print("given", flush=True); time.sleep(100)'
)


def send(workplace: Workplace, ref: str, text: str, **options: Any) -> dict[str, Any]:
    return steer(workplace.home, workplace.env, ref, text, **options)


def ready(workplace: Workplace, task_id: str) -> None:
    wait_until(lambda: b"ready" in workplace.transcript_now(task_id), what="the program")


def refused(workplace: Workplace, ref: str, text: str, **options: Any) -> CuekitError:
    with pytest.raises(CuekitError) as caught:
        send(workplace, ref, text, **options)
    return caught.value


def test_a_line_reaches_the_program_exactly(workplace: Workplace) -> None:
    task_id = workplace.submit(READ_ONE)
    ready(workplace, task_id)
    text = 'it\'s; "quoted" \\ $HOME #{pane_id} ü;'
    done = send(workplace, task_id, text + "\n")
    assert done == {
        "task_id": task_id,
        "receipt": {"state": "typed", "turn": None, "evidence": None},
        "warnings": ["this agent gives no sign that it took a message"],
        "answer": None,
    }
    task = workplace.ended(task_id)
    assert task.status == "completed"
    assert f"<{text}>".encode() in workplace.transcript(task_id)


def test_a_steer_right_after_the_submit_waits_for_the_agent(workplace: Workplace) -> None:
    task_id = workplace.submit(READ_ONE)
    send(workplace, task_id, "early")
    assert workplace.ended(task_id).status == "completed"
    assert b"<early>" in workplace.transcript(task_id)


def test_a_key_is_pressed_and_an_interrupt_ends_the_foreground_program(
    workplace: Workplace,
) -> None:
    task_id = workplace.submit("trap 'echo caught' INT; echo ready; sleep 100; " + READ_ONE)
    ready(workplace, task_id)
    assert send(workplace, task_id, "", key="c-c")["receipt"]["state"] == "typed"
    wait_until(lambda: b"caught" in workplace.transcript_now(task_id))
    send(workplace, task_id, "after")
    assert workplace.ended(task_id).status == "completed"


def test_what_cannot_be_steered_is_refused_with_its_own_code(workplace: Workplace) -> None:
    over = workplace.submit("exit 0")
    workplace.ended(over)
    alive = workplace.submit("echo ready; sleep 100")
    batch = workplace.submit("sleep 100", adapter_options={"mode": "batch"})
    ready(workplace, alive)
    cases = {
        (over, "x"): (InvalidState, "task_ended", 4),
        (batch, "x"): (InvalidState, "steering_unsupported", 4),
        ("t_zzzzzzzz", "x"): (NotFound, "task_not_found", 3),
        (alive, ""): (InvalidInput, "empty_message", 2),
        (alive, "a\x1bb"): (InvalidInput, "control_character", 2),
        (alive, "a\0b"): (InvalidInput, "control_character", 2),
    }
    for (ref, text), (kind, code, status) in cases.items():
        error = refused(workplace, ref, text)
        assert (type(error), error.code, error.exit_status) == (kind, code, status)
    assert refused(workplace, alive, "", key="y").code == "unknown_key"
    assert refused(workplace, alive, "x", when_idle=True, timeout=1).code == "activity_unknown"
    workplace.cancel(alive, batch)


def test_nothing_is_typed_at_what_is_left_of_a_dead_agent(workplace: Workplace) -> None:
    task_id = workplace.submit("echo ready; exec sleep 1000")
    ready(workplace, task_id)
    task = workplace.task(task_id)
    assert task.child is not None
    os.kill(task.child["pid"], signal.SIGKILL)
    assert refused(workplace, task_id, "touch wrong").code in ("agent_gone", "task_ended")
    assert workplace.ended(task_id).exit_signal == 9
    assert b"wrong" not in workplace.transcript(task_id)


def test_a_program_that_left_its_terminal_to_another_gets_nothing(workplace: Workplace) -> None:
    """The supervisor's own group in front is what is left when the agent is gone."""
    task_id = workplace.submit(f"echo ready; exec {sys.executable} -c '{TO_PARENT}'")
    wait_until(lambda: b"given" in workplace.transcript_now(task_id))
    assert refused(workplace, task_id, "touch wrong").code == "agent_gone"
    assert b"wrong" not in workplace.transcript_now(task_id)
    workplace.cancel(task_id)


def test_no_server_is_said_at_once(workplace: Workplace) -> None:
    task_id = workplace.submit("echo ready; exec sleep 1000")
    ready(workplace, task_id)
    workplace.server.run("kill-server")
    assert refused(workplace, task_id, "x").code in ("task_ended", "tmux_gone", "agent_gone")


def test_two_senders_at_once_send_two_whole_lines(workplace: Workplace) -> None:
    program = 'echo ready; IFS= read -r a; IFS= read -r b; printf \'<%s><%s>\' "$a" "$b"'
    task_id = workplace.submit(program)
    ready(workplace, task_id)
    senders = [
        workplace.command("task", "steer", task_id, letter * 500, "--format", "json")
        for letter in "xy"
    ]
    for sender in senders:
        out, errors = sender.communicate(timeout=60)
        assert sender.returncode == 0, errors
        assert json.loads(out)["receipt"]["state"] == "typed"
    workplace.ended(task_id)
    shown = workplace.transcript(task_id).replace(b"\r\n", b"")
    whole = [f"<{'x' * 500}><{'y' * 500}>", f"<{'y' * 500}><{'x' * 500}>"]
    assert any(text.encode() in shown for text in whole)


def attach(workplace: Workplace, ref: str, **environ: str) -> list[str]:
    env = {**workplace.env, **environ}
    return attach_argv(ref, read_only=False, home=workplace.home, environ=env)


def test_attach_shows_the_pane_and_nothing_else(
    workplace: Workplace, tmux_server: TmuxServer
) -> None:
    task_id = workplace.submit("echo ready; sleep 100")
    ready(workplace, task_id)
    session = tmux_session_name(task_id)
    socket = str(tmux_server.socket)
    argv = attach(workplace, task_id)
    assert argv[1:] == ["-S", socket, "attach-session", "-t", f"={session}"]
    read_only = attach_argv(task_id, read_only=True, home=workplace.home, environ=workplace.env)
    assert read_only[1:] == ["-S", socket, "attach-session", "-r", "-t", f"={session}"]
    inside = attach(workplace, task_id, TMUX=f"{socket},123,0")
    assert inside[1:] == ["-S", socket, "switch-client", "-t", f"={session}"]
    with pytest.raises(InvalidState) as caught:
        attach(workplace, task_id, TMUX="/tmp/other,123,0")
    assert caught.value.code == "inside_other_tmux"
    assert "attach-session" in str(caught.value.hint)
    client = f"stty rows 30 cols 100; exec {' '.join(argv)}"
    shown = subprocess.run(
        ["timeout", "3", "script", "-qec", client, "/dev/null"],
        env=workplace.env, stdin=subprocess.DEVNULL, capture_output=True, check=False,
    )  # fmt: skip
    assert b"ready" in shown.stdout
    workplace.cancel(task_id)
    with pytest.raises(PaneGone):
        attach(workplace, task_id)


def test_attach_without_a_terminal_says_what_to_do(workplace: Workplace) -> None:
    task_id = workplace.submit("echo ready; sleep 100")
    ready(workplace, task_id)
    command = workplace.command("task", "attach", task_id)
    out, errors = command.communicate(timeout=30)
    assert (command.returncode, out) == (2, "")
    assert "--print" in errors
    printed = workplace.command("task", "attach", task_id, "--print")
    out, errors = printed.communicate(timeout=30)
    assert (printed.returncode, errors) == (0, "")
    assert f"attach-session -t ={tmux_session_name(task_id)}" in out.replace("'", "")
