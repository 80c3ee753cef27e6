"""What the supervisor makes of a spool and a session log (no pane is looked at here)."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cuekit.activity import codex
from cuekit.activity.base import Composer, Screen
from cuekit.launch.plan import LaunchPlan
from cuekit.launch.watch import Watch
from cuekit.model.activity import Activity, Progress, SignalKind, Source

THREAD = "01a22ff4-2616-7612-a47d-73a545cffb0e"


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    (tmp_path / "spool").mkdir()
    return tmp_path


def watch_of(run_dir: Path, mode: str = "interactive") -> Watch:
    plan = LaunchPlan(
        task_id="t_abcd1234",
        agent_kind="codex",
        mode=mode,
        argv=["codex"],
        cwd=str(run_dir),
        task_dir=str(run_dir),
        run_dir=str(run_dir),
        home=str(run_dir),
        stdin="tty",
        timeout_s=None,
        keep=False,
        tmux=str(run_dir / "tmux"),  # none, unless a test puts one there
        socket_path=str(run_dir / "socket"),
        session="cuekit-task-t_abcd1234",
        expects_evidence=True,
    )
    return Watch(plan, codex)


def log_line(kind: str, at: float, **values: str) -> str:
    stamp = datetime.fromtimestamp(at, UTC).isoformat()
    return json.dumps(
        {"timestamp": stamp, "type": "event_msg", "payload": {"type": kind, **values}}
    )


def hook(run_dir: Path, event: str, **values: str) -> Path:
    log = run_dir / f"rollout-{THREAD}.jsonl"
    payload = {"session_id": THREAD, "transcript_path": str(log), **values}
    (run_dir / "spool" / f"1.{event}.json").write_text(json.dumps(payload), encoding="utf-8")
    return log


def told(watch: Watch) -> list[tuple[SignalKind, Source, str | None]]:
    signals = watch.look(Progress(), time.time())
    return [(signal.kind, signal.source, signal.text) for signal in signals]


def test_the_past_of_a_session_is_not_told_again(run_dir: Path) -> None:
    watch = watch_of(run_dir)
    log = hook(run_dir, "SessionStart")
    old = log_line("task_complete", time.time() - 3600, last_agent_message="long ago")
    new = log_line("turn_aborted", time.time() + 1)
    log.write_text(f"{old}\n{new}\n", encoding="utf-8")
    assert told(watch) == [(SignalKind.SESSION_STARTED, Source.HOOK, None)]
    assert told(watch) == [(SignalKind.TURN_INTERRUPTED, Source.SESSION_LOG, None)]


def test_the_end_of_a_turn_is_taken_from_the_log_where_there_is_one(run_dir: Path) -> None:
    watch = watch_of(run_dir)
    log = hook(run_dir, "Stop", last_assistant_message="so far")
    log.write_text("", encoding="utf-8")
    assert told(watch) == []
    log.write_text(
        log_line("task_complete", time.time() + 1, last_agent_message="all") + "\n",
        encoding="utf-8",
    )
    assert told(watch) == [(SignalKind.TURN_COMPLETED, Source.SESSION_LOG, "all")]


@pytest.mark.parametrize(("mode", "with_log"), [("interactive", False), ("batch", True)])
def test_the_hook_counts_where_there_is_no_log_and_in_batch(
    run_dir: Path, mode: str, with_log: bool
) -> None:
    watch = watch_of(run_dir, mode)
    log = hook(run_dir, "Stop", last_assistant_message="all")
    if with_log:
        log.write_text("", encoding="utf-8")
    assert told(watch) == [(SignalKind.TURN_COMPLETED, Source.HOOK, "all")]


class OnScreen:
    """An agent whose screen says in words what is on it."""

    @staticmethod
    def read_screen(plain: str, _: str) -> Screen:
        word = plain.strip()
        dialog = "question" if word == "dialog" else None
        return Screen(dialog=dialog, composer=Composer.EMPTY, busy=word == "busy")


def test_what_looks_idle_once_when_a_dialog_was_answered_is_not_idle(run_dir: Path) -> None:
    tmux = run_dir / "tmux"
    tmux.write_text(f"#!/bin/sh\ncat {run_dir}/screen\n", encoding="utf-8")
    tmux.chmod(0o755)
    watch = watch_of(run_dir)
    watch._agent = OnScreen  # type: ignore[assignment]
    waits = Progress(activity=Activity.WAITING_INPUT, since=1.0, source=Source.HOOK, turn=1)

    def seen(screen: str, at: float, known: Progress = waits) -> list[SignalKind]:
        (run_dir / "screen").write_text(screen, encoding="utf-8")
        return [signal.kind for signal in watch.look(known, at)]

    assert seen("busy", 2.5) == []  # the dialog is not drawn yet
    assert seen("idle", 4.0) == []
    assert seen("dialog", 6.0) == [SignalKind.DIALOG]
    assert seen("idle", 8.0) == []
    assert seen("busy", 10.0) == []
    assert seen("busy", 12.0) == [SignalKind.WORKING]
    assert seen("idle", 14.0) == []
    assert seen("idle", 16.0) == [SignalKind.IDLE]
    by_screen = waits._replace(source=Source.SCREEN)
    assert seen("busy", 18.0, by_screen) == [SignalKind.WORKING]
