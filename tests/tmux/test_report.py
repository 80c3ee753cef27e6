"""Reports of a real child about its own task: what each does, and who may report."""

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from cuekit.errors import CuekitError, InvalidInput, InvalidState
from cuekit.launch import child_reports, events
from cuekit.model.lifecycle import Status
from cuekit.model.report import Report, ReportType
from cuekit.paths import home_from
from cuekit.service import lookup
from cuekit.service.report import report
from cuekit.service.result import result
from cuekit.service.steer import steer
from cuekit.service.wait import wait
from cuekit.store import reports
from tests.support.wait import wait_until
from tests.support.workplace import Workplace

CUEKIT = f"{shlex.quote(sys.executable)} -m cuekit"


def say(kind: str, message: str, *more: str) -> str:
    """The command line by which a child reports."""
    return f"{CUEKIT} task report --type {kind} --message {shlex.quote(message)} {' '.join(more)}"


def told(place: Workplace, task_id: str) -> list[dict[str, Any]]:
    """The report events of a task, without what the log adds."""
    found = list(events.read(place.task(task_id).task_dir))
    names = ("type", "message", "payload", "key", "via", "late")
    return [{name: one[name] for name in names} for one in found if one["kind"] == "report"]


def plain(kind: str, message: str, **values: Any) -> dict[str, Any]:
    rest = {"payload": None, "key": None, "via": "shell", "late": False}
    return {"type": kind, "message": message, **rest, **values}


def environment_of(place: Workplace, *, then: str = "exit 0") -> tuple[str, dict[str, str]]:
    """A task whose child wrote down what it was given to report with, and that environment."""
    note = place.project / "given"
    task_id = place.submit(f"env >{note.name}.new && mv {note.name}.new {note.name}; {then}")
    wait_until(note.exists, 20, "the child writes")
    pairs = (line.partition("=") for line in note.read_text().splitlines())
    given = {name: value for name, _, value in pairs if name.startswith("CUEKIT_")}
    return task_id, {**place.env, **given}


def test_a_report_is_an_event_and_its_outcome_the_summary(workplace: Workplace) -> None:
    payload = shlex.quote('{"files": 2}')
    half = say("progress", "half", "--payload", payload)
    task_id = workplace.submit(f"{half} && {say('completed', 'all of it')}")
    task = workplace.ended(task_id)
    assert (task.status, task.summary) == (Status.COMPLETED, "all of it")
    assert told(workplace, task_id) == [
        plain("progress", "half", payload={"files": 2}),
        plain("completed", "all of it"),
    ]
    assert result(task_id, workplace.env)["summary"] == "all of it"


@pytest.mark.parametrize(
    ("kind", "code", "status", "error"),
    [
        ("failed", 0, Status.FAILED, "reported_failed"),
        ("blocked", 0, Status.BLOCKED, "reported_blocked"),
        ("completed", 3, Status.FAILED, "agent_failed"),
        ("blocked", 3, Status.FAILED, "agent_failed"),
        ("log", 0, Status.COMPLETED, None),
    ],
)
def test_a_report_makes_a_good_end_worse_and_no_bad_end_good(
    workplace: Workplace, kind: str, code: int, status: Status, error: str | None
) -> None:
    task = workplace.ended(workplace.submit(f"{say(kind, 'so it is')}; exit {code}"))
    assert (task.status, (task.error or {}).get("code")) == (status, error)


def test_who_asks_for_help_waits_until_steered(workplace: Workplace) -> None:
    task_id = workplace.submit(f"{say('help_requested', 'a or b?')}; read answer; echo got=$answer")
    waited = wait([task_id], workplace.env, timeout_s=20)
    (view,) = waited.views
    assert (waited.timed_out, view["status"]) == (False, "input_required")
    assert (view["reported"]["type"], view["reported"]["message"]) == ("help_requested", "a or b?")
    steer(home_from(workplace.env), workplace.env, task_id, "take b")
    task = workplace.ended(task_id)
    assert (task.status, task.reported) == (Status.COMPLETED, None)
    assert b"got=take b" in workplace.transcript(task_id)


def test_the_outcome_takes_a_request_for_help_back(workplace: Workplace) -> None:
    task_id = workplace.submit(f"{say('help_requested', 'how?')} && {say('blocked', 'no way')}")
    assert workplace.ended(task_id).status is Status.BLOCKED


def test_the_same_key_is_the_same_report(workplace: Workplace) -> None:
    one = say("progress", "once", "--key", "k1", "--format json")
    task_id = workplace.submit(f"{one}; {one}; {say('progress', 'twice', '--key', 'k2')}")
    workplace.ended(task_id)
    assert told(workplace, task_id) == [
        plain("progress", "once", key="k1"),
        plain("progress", "twice", key="k2"),
    ]
    assert workplace.transcript(task_id).count(b'"state": "duplicate"') == 1


def test_a_late_report_is_kept_and_changes_nothing(workplace: Workplace) -> None:
    task_id, child = environment_of(workplace)
    before = workplace.ended(task_id)
    done = report("failed", "too late", child)
    assert (done["state"], told(workplace, task_id)) == (
        "late",
        [plain("failed", "too late", late=True)],
    )
    assert workplace.task(task_id) == before


def test_only_the_tasks_own_child_reports(workplace: Workplace) -> None:
    first, child = environment_of(workplace, then="read stop")
    (workplace.project / "given").unlink()
    second, other = environment_of(workplace, then="read stop")
    for environ, code in (
        ({**child, "CUEKIT_CHILD_TOKEN": other["CUEKIT_CHILD_TOKEN"]}, "permission_denied"),
        ({**child, "CUEKIT_CHILD_TOKEN": "é" * 64}, "permission_denied"),
        ({**child, "CUEKIT_TASK_ID": "t_nonesuch"}, "task_not_found"),
        ({**child, "CUEKIT_CHILD_TOKEN": ""}, "no_child_token"),
        (workplace.env, "no_child_token"),
    ):
        with pytest.raises(CuekitError) as refused:
            report("completed", "it was me", environ)
        assert refused.value.code == code
    assert told(workplace, first) + told(workplace, second) == []


@pytest.mark.parametrize(
    ("kind", "message", "values"),
    [
        ("finished", "what", {}),
        ("progress", "  ", {}),
        ("progress", "x" * 70_000, {}),
        ("progress", "nul\0", {}),
        ("progress", "\udc80", {}),
        ("progress", "x", {"key": ""}),
        ("progress", "x", {"payload": "y" * 300_000}),
    ],
)
def test_a_bad_report_is_refused(kind: str, message: str, values: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        report(kind, message, {}, **values)
    assert refused.value.code == "bad_report"


def test_what_a_sandboxed_child_leaves_is_taken_up(workplace: Workplace) -> None:
    task_id, child = environment_of(workplace, then="read stop")
    done = report("help_requested", "let me out", {**child, "CUEKIT_HOME": "/proc/none"})
    assert (done["state"], done["seq"]) == ("left", None)
    folder = Path(child["CUEKIT_TASK_DIR"], "reports")
    wait_until(lambda: not os.listdir(folder), 20, "the supervisor takes it up")
    assert told(workplace, task_id) == [plain("help_requested", "let me out", via="file")]
    assert workplace.task(task_id).status is Status.INPUT_REQUIRED


def test_what_was_left_is_taken_up_after_the_end_as_well(workplace: Workplace) -> None:
    task_id, child = environment_of(workplace)
    workplace.ended(task_id)
    report("progress", "left behind", {**child, "CUEKIT_HOME": "/proc/none"})
    workplace.status(task_id)
    assert told(workplace, task_id) == [plain("progress", "left behind", via="file", late=True)]


def test_a_file_of_somebody_else_counts_for_nothing(workplace: Workplace, tmp_path: Path) -> None:
    task_id, child = environment_of(workplace)
    task = workplace.ended(task_id)
    word = Report(ReportType.COMPLETED, "believe me")
    child_reports.drop(task.task_dir, task_id, "0" * 64, word)
    child_reports.drop(task.task_dir, "t_another1", child["CUEKIT_CHILD_TOKEN"], word)
    folder = Path(task.task_dir, "reports")
    (folder / f"{'a' * 32}.json").write_text("{not json")
    own: dict[str, Any] = {
        "task_id": task_id,
        "token": child["CUEKIT_CHILD_TOKEN"],
        "type": "log",
        "key": None,
    }
    deep = "[" * 50_000 + "]" * 50_000
    wrong: list[dict[str, Any]] = [
        {"message": "\ud800"},
        {"message": "m", "key": "\udfff"},
        {"message": 7},
        {"type": "x"},
    ]
    for number, values in enumerate(wrong):
        (folder / f"{number:032x}.json").write_text(json.dumps({**own, **values}))
    (folder / f"{'d' * 32}.json").write_text(json.dumps({**own, "token": "\ud800"}))
    (folder / f"{'e' * 32}.json").write_text(
        json.dumps({**own, "message": "m"})[:-1] + f', "payload": {deep}}}'
    )
    secret = tmp_path / "secret"
    secret.write_text('{"type": "log"}')
    (folder / f"{'b' * 32}.json").symlink_to(secret)
    os.mkfifo(folder / f"{'c' * 32}.json")
    (folder / "notes.txt").write_text("the agent's own")
    workplace.status(task_id)
    assert told(workplace, task_id) == []
    assert (os.listdir(folder), secret.exists()) == (["notes.txt"], True)


def test_a_folder_that_leads_elsewhere_is_not_looked_into(
    workplace: Workplace, tmp_path: Path
) -> None:
    task_id, child = environment_of(workplace)
    task = workplace.ended(task_id)
    word = Report(ReportType.COMPLETED, "from elsewhere")
    child_reports.drop(str(tmp_path), task_id, child["CUEKIT_CHILD_TOKEN"], word)
    Path(task.task_dir, "reports").symlink_to(tmp_path / "reports")
    workplace.status(task_id)
    assert told(workplace, task_id) == []
    assert len(os.listdir(tmp_path / "reports")) == 1


def test_where_nothing_can_be_written_the_child_is_told(workplace: Workplace) -> None:
    _, child = environment_of(workplace)
    nowhere = {**child, "CUEKIT_HOME": "/proc/none", "CUEKIT_TASK_DIR": "/proc/none"}
    with pytest.raises(CuekitError) as refused:
        report("progress", "hello?", nowhere)
    assert (refused.value.code, "MCP" in str(refused.value.hint)) == ("cannot_report", True)


def test_the_token_is_nowhere_but_in_the_childs_environment(workplace: Workplace) -> None:
    task_id, child = environment_of(workplace, then=f"{say('log', 'x')}; read stop")
    wait_until(lambda: told(workplace, task_id) != [], 20, "it reports")
    token = child["CUEKIT_CHILD_TOKEN"]
    assert len(bytes.fromhex(token)) == 32
    (workplace.project / "given").unlink()
    holding = [
        str(path)
        for path in workplace.root.rglob("*")
        if path.is_file() and token.encode() in path.read_bytes()
    ]
    assert holding == []
    shown = workplace.server.run("show-environment", "-t", f"=cuekit-task-{task_id}:")
    assert token not in shown


def test_a_new_turn_takes_back_what_stood_before_it(workplace: Workplace) -> None:
    task_id, child = environment_of(workplace, then="read stop")
    report("help_requested", "?", child)
    with lookup.settled_store(workplace.env) as (_, db):
        at = workplace.task(task_id).reported["at"]  # type: ignore[index]
        assert reports.more_to_do(db, task_id, at - 0.001) is False
        assert workplace.task(task_id).status is Status.INPUT_REQUIRED
        assert reports.more_to_do(db, task_id, at + 0.001) is True
    assert workplace.task(task_id).status is Status.RUNNING


def test_a_child_may_not_report_with_a_task_that_is_gone(workplace: Workplace) -> None:
    from cuekit.service.cleanup import delete

    task_id, child = environment_of(workplace)
    workplace.ended(task_id)
    delete([task_id], workplace.env)
    with pytest.raises(CuekitError) as refused:
        report("progress", "hello?", child)
    assert not isinstance(refused.value, InvalidState)
    assert refused.value.code == "task_not_found"
