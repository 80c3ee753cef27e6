"""What a lifecycle hook is told, when it is due, and how it is held to its limits."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cuekit.launch import hooks
from cuekit.launch.hook_watch import Moments
from cuekit.model.lifecycle import Status
from cuekit.store.tasks import Task


def task(**values: Any) -> Task:
    row: dict[str, Any] = {
        **dict.fromkeys(Task._fields),
        "task_id": "t_abcd1234",
        "agent_kind": "codex",
        "status": Status.RUNNING,
        "activity": "working",
        "turn": 1,
        "labels": [],
        "cwd": "/place",
        "task_dir": "/place/.cuekit/tasks/t_abcd1234",
    }
    return Task(**(row | values))


def told(event: str = "completed", **values: Any) -> dict[str, Any]:
    return hooks.told(event, task(**values), None, 1.0)


def events(moments: Moments, *looks: tuple[Task, Sequence[str]]) -> list[list[str]]:
    """The names of the events of each look, whose approvals are given by id."""
    return [
        [event for event, _ in moments.since_last(seen, [{"approval_id": one} for one in pending])]
        for seen, pending in looks
    ]


def test_each_approval_is_a_moment_once_also_when_another_was_there() -> None:
    asks = task(activity="waiting_approval")
    looks = [(asks, ["a"]), (asks, ["a", "b"]), (asks, ["b"]), (task(), ()), (asks, ["c"])]
    assert events(Moments(by_id=True), *looks) == [
        ["approval_requested"],
        ["approval_requested"],
        [],
        [],
        ["approval_requested"],
    ]


def test_without_ids_the_change_of_activity_is_the_request() -> None:
    asks = task(activity="waiting_approval")
    looks = [(asks, ()), (asks, ()), (task(), ()), (asks, ())]
    request = ["approval_requested"]
    assert events(Moments(by_id=False), *looks) == [request, [], [], request]


def test_every_turn_that_ends_is_idle_once() -> None:
    first = task(activity="idle", last_turn="completed")
    second = first._replace(turn=2)
    begun = task(turn=2, last_turn="completed")
    looks = [(first, ()), (first, ()), (begun, ()), (second, ()), (second, ())]
    assert events(Moments(by_id=False), *looks) == [["idle"], [], [], ["idle"], []]


def test_an_agent_that_waits_for_its_first_message_has_ended_no_turn() -> None:
    assert events(Moments(by_id=False), (task(activity="idle", turn=0), ())) == [[]]


def test_the_end_of_a_batch_runs_turn_is_the_end_of_the_task() -> None:
    done = task(activity="idle", last_turn="completed")
    assert events(Moments(by_id=False, batch=True), (done, ())) == [[]]


def test_waiting_for_a_word_is_a_moment_each_time_it_begins() -> None:
    helps = task(status=Status.INPUT_REQUIRED)
    asks = task(activity="waiting_input")
    looks = [(helps, ()), (asks, ()), (task(), ()), (asks, ())]
    waits = ["input_required"]
    assert events(Moments(by_id=False), *looks) == [waits, [], [], waits]


def test_a_hook_has_the_submitting_shells_variables_and_none_of_cuekits() -> None:
    base = {
        "PATH": "/bin",
        "CUEKIT_HOME": "/home/ann/.cuekit",
        "CUEKIT_TASK_ID": "t_abcd1234",
        "CUEKIT_REPORT_TOKEN": "secret",
        "OPENCODE_CONFIG": "/run",
    }
    assert hooks.hook_environment(base, ["OPENCODE_CONFIG"], told(exit_code=3)) == {
        "PATH": "/bin",
        "CUEKIT_HOME": "/home/ann/.cuekit",
        "CUEKIT_HOOK_EVENT": "completed",
        "CUEKIT_HOOK_TASK_ID": "t_abcd1234",
        "CUEKIT_HOOK_AGENT_KIND": "codex",
        "CUEKIT_HOOK_STATUS": "running",
        "CUEKIT_HOOK_ACTIVITY": "working",
        "CUEKIT_HOOK_TURN": "1",
        "CUEKIT_HOOK_LAST_TURN": "",
        "CUEKIT_HOOK_NAME": "",
        "CUEKIT_HOOK_CWD": "/place",
        "CUEKIT_HOOK_SUMMARY": "",
        "CUEKIT_HOOK_EXIT_CODE": "3",
        "CUEKIT_HOOK_TRANSCRIPT": "/place/.cuekit/tasks/t_abcd1234/transcript.txt",
        "CUEKIT_HOOK_APPROVAL_ID": "",
    }


@pytest.mark.parametrize(
    ("summary", "variable"),
    [
        ("a\0b", "ab"),
        ("x" * 5000, "x" * 2000),
        ("half \ud800 pair", "half ? pair"),
        (os.fsdecode(b"caf\xe9"), os.fsdecode(b"caf\xe9")),
    ],
)
def test_whatever_an_agent_says_can_be_a_variable(summary: str, variable: str) -> None:
    given = hooks.hook_environment({}, [], told(summary=summary))
    assert given["CUEKIT_HOOK_SUMMARY"] == variable
    os.fsencode(given["CUEKIT_HOOK_SUMMARY"])


def test_a_notification_holds_nothing_that_acts_on_a_terminal() -> None:
    values = told("failed", name="a\x1b]52;c;x\x07", summary="one\ntwo\u202e\x9b31m" + "x" * 500)
    title, body = hooks.notification(values)
    assert title == "cuekit a]52;c;x: failed"
    assert body == ("one two31m" + "x" * 500)[:200]


@pytest.mark.parametrize(
    ("client", "tty"),
    [
        ("0 xterm-256color /dev/pts/3", "/dev/pts/3"),
        ("1 xterm-256color /dev/pts/3", None),
        ("0 linux /dev/tty1", None),
        ("0 xterm ", None),
        ("", None),
    ],
)
def test_only_terminals_that_know_the_sequence_get_it(client: str, tty: str | None) -> None:
    assert hooks._reachable(client) == tty


def limited(script: str, limit_s: float = 20.0, data: bytes = b"") -> str | None:
    command = ["/bin/sh", "-c", script]
    return hooks._run_limited(command, data, {"PATH": os.environ["PATH"]}, "/", limit_s)


@pytest.fixture(params=["waitid", "waitpid"])
def waiting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to learn of an end: macOS has no waitid before Python 3.13."""
    if request.param == "waitpid":
        monkeypatch.delattr(os, "waitid")


@pytest.mark.usefixtures("waiting")
@pytest.mark.parametrize(
    ("script", "failure"),
    [
        ("exit 0", None),
        ("exit 3", "ended with 3"),
        ("echo why >&2; exit 3", "ended with 3: why"),
        ("kill -TERM $$", "ended by signal 15"),
        ("cat > /dev/null", None),
        ("exec <&- >&- 2>&-; exit 2", "ended with 2"),
        ("printf 'a\\033[31mb\\000c\\n'; exit 1", "ended with 1: a[31mbc"),
        ("head -c 100000 /dev/zero | tr '\\0' x; echo; echo last; exit 1", "x" * 295 + " last"),
    ],
)
def test_a_failure_is_told_with_the_last_words(script: str, failure: str | None) -> None:
    said = limited(script, data=b"x" * 300_000)
    assert said == failure or (failure is not None and str(said).endswith(f": {failure}"))


@pytest.mark.usefixtures("waiting")
@pytest.mark.parametrize("limit_s", [0.000001, 0.3])
def test_a_program_that_takes_too_long_is_ended_at_once(limit_s: float) -> None:
    began = time.monotonic()
    assert limited("sleep 60 & wait", limit_s) == f"was ended after {limit_s:g} s"
    assert time.monotonic() - began < 10


def test_a_program_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    program = str(tmp_path / "none")
    said = hooks._run_limited([program], b"", {}, "/", 5.0)
    assert said == f"ended with 127: {program}: [Errno 2] No such file or directory: '{program}'"
