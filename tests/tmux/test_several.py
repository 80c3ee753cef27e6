"""Several tasks at once: one file, a limit, a key that makes a submit safe to repeat, sessions."""

import json
from pathlib import Path
from typing import Any

import pytest

from cuekit.errors import CuekitError, InvalidInput, InvalidState, NotFound
from cuekit.service import sessions
from cuekit.service.request import SubmitRequest
from cuekit.service.submit import submit
from tests.support.repository import mark_repository
from tests.support.wait import wait_until
from tests.support.workplace import Workplace


def run(workplace: Workplace, *words: str) -> tuple[int, Any, str]:
    """A command with JSON: its exit status, its object, its standard error."""
    done = workplace.command(*words, "--format", "json")
    out, err = done.communicate(timeout=60)
    return done.returncode, json.loads(out) if out.strip() else None, err


def written(workplace: Workplace, text: str) -> str:
    path = workplace.project / "tasks.yaml"
    path.write_text(text)
    return str(path)


def configure(workplace: Workplace, values: dict[str, Any]) -> None:
    Path(workplace.home.root).mkdir(mode=0o700, exist_ok=True)
    Path(workplace.home.config).write_text(json.dumps(values))


def request(workplace: Workplace, objective: str, **values: Any) -> SubmitRequest:
    return SubmitRequest(objective, agent_kind="shell", cwd=str(workplace.project), **values)


def test_a_file_of_tasks_starts_them_all_and_waits(workplace: Workplace) -> None:
    mark_repository(workplace.project)
    (workplace.project / "long.sh").write_text("echo from a file")
    (workplace.project / "below").mkdir()
    file = written(
        workplace,
        "defaults: {agent_kind: shell, label: nightly}\n"
        "tasks:\n"
        "  - echo one\n"
        "  - {objective: 'pwd; exit 3', cwd: below, name: second, labels: [a, b]}\n"
        "  - file: long.sh\n",
    )
    status, made, err = run(
        workplace, "task", "submit", "--from", file, "--mode", "batch", "--wait"
    )
    assert (status, made["failed"]) == (6, []), err
    one, two, three = made["tasks"]
    assert [view["status"] for view in made["tasks"]] == ["completed", "failed", "completed"]
    assert (two["name"], two["labels"], two["exit_code"]) == ("second", ["a", "b"], 3)
    assert (one["labels"], two["cwd"]) == (["nightly"], str(workplace.project / "below"))
    assert b"from a file" in workplace.transcript(three["task_id"])
    assert len({view["session_id"] for view in made["tasks"]}) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "tasks.yaml:1: expected a list of tasks"),
        ("[]", "tasks.yaml:1: there is no task in it"),
        ("tasks: [{objective: x}, {objetive: y}]", ":1: objetive: unknown name; did you mean 'obj"),
        ("tasks:\n - a\n - objective: b\n   timeout: 5\n", ":4: timeout: expected text"),
        ("tasks:\n - a\n - {keep: maybe}\n", ":3: keep: expected true or false"),
        ("tasks:\n - a\n - {model: x}\n", ":3: objective: is missing"),
        ("defaults: {name: x}\ntasks: [a]\n", ":1: name: can be said of one task"),
        ("tasks: [a]\nmore: 1\n", ":2: more: there is defaults and tasks"),
        ("tasks:\n - {objective: a, label: x, labels: y}\n", ":2: labels: was given already"),
        ("tasks:\n - a\n - {file: gone.md}\n", "gone.md cannot be read: No such file"),
        ("tasks:\n - a\n - {objective: ''}\n", ":3: task 2: the objective is empty"),
        ("tasks:\n - a\n - {objective: b, cwd: gone}\n", ":3: task 2: the working directory"),
        ("tasks:\n - a\n - {objective: b, agent_kind: codx}\n", ":3: task 2: "),
        ("- {objective: a, name: n}\n- {objective: b, name: n}\n", ":2: task 2: the name 'n' is"),
        ("a: &x [*x]", "anchors (&) and aliases (*) are not taken"),
        ("tasks: [" + "a, " * 101 + "]", "101 tasks; at most 100 are taken"),
        ("- \udcff\n", "is not UTF-8 text"),
        ("tasks: [a", "is not YAML"),
    ],
)
def test_nothing_starts_when_one_is_wrong(workplace: Workplace, text: str, said: str) -> None:
    path = workplace.project / "tasks.yaml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    status, made, err = run(
        workplace, "task", "submit", "--agent-kind", "shell", "--from", str(path)
    )
    assert (status in (2, 4), made) == (True, None), err
    assert said in json.loads(err)["error"]["message"]
    assert workplace.tasks() == []


@pytest.mark.parametrize("more", [["an objective"], ["--file", "x"], ["--name", "x"], ["--attach"]])
def test_what_is_said_of_one_task_does_not_go_with_a_file(
    workplace: Workplace, more: list[str]
) -> None:
    status, made, err = run(workplace, "task", "submit", "--from", "x.yaml", *more)
    assert (status, made, json.loads(err)["error"]["code"]) == (2, None, "usage")


def test_a_dry_run_of_a_file_shows_each_command_line(workplace: Workplace) -> None:
    file = written(workplace, "[echo one, echo two]")
    status, made, _ = run(
        workplace, "task", "submit", "--from", file, "--agent-kind", "shell", "--dry-run"
    )
    lines = [view["command_line"] for view in made["tasks"]]
    assert (status, ["echo one" in lines[0], "echo two" in lines[1]]) == (0, [True, True])
    assert workplace.tasks() == []


def test_the_limit_holds_however_many_ask_at_once(workplace: Workplace) -> None:
    configure(workplace, {"limits": {"live_tasks": 3}})
    words = ("task", "submit", "--agent-kind", "shell", "--format", "json", "sleep 60")
    asking = [workplace.command(*words) for _ in range(10)]
    done = [(one.communicate(timeout=60), one.returncode) for one in asking]
    started = [json.loads(out)["task_id"] for (out, _), status in done if status == 0]
    assert len(started) == 3
    errors = [json.loads(err)["error"] for (_, err), status in done if status == 4]
    assert len(errors) == 7
    assert {error["code"] for error in errors} == {"quota_exceeded"}
    assert all(error["retryable"] and error["details"]["limit"] == 3 for error in errors)
    late = run(workplace, "task", "submit", "--agent-kind", "shell", "true")
    assert sorted(json.loads(late[2])["error"]["details"]["running"]) == sorted(started)
    file = written(workplace, "[a, b]")
    whole = run(workplace, "task", "submit", "--agent-kind", "shell", "--from", file)
    assert json.loads(whole[2])["error"]["code"] == "quota_exceeded"
    assert len(workplace.tasks()) == 3
    workplace.cancel(*started)
    assert run(workplace, "task", "submit", "--agent-kind", "shell", "true")[0] == 0


def test_a_project_may_lower_the_limit_but_not_raise_it(workplace: Workplace) -> None:
    configure(workplace, {"limits": {"live_tasks": 2}})
    (workplace.project / ".cuekit.yaml").write_text("limits: {live_tasks: 3}\n")
    view = submit(request(workplace, "sleep 60"), workplace.env)
    assert "limits.live_tasks" in str(view["warnings"])
    (workplace.project / ".cuekit.yaml").write_text("limits: {live_tasks: 1}\n")
    with pytest.raises(InvalidState, match="at most 1 tasks"):
        submit(request(workplace, "sleep 60"), workplace.env)
    workplace.cancel(view["task_id"])


def test_a_key_gives_the_same_task_again(workplace: Workplace) -> None:
    first = submit(request(workplace, "echo one", idempotency_key="k"), workplace.env)
    assert first["reused"] is False
    workplace.ended(first["task_id"])
    again = submit(request(workplace, "echo one", idempotency_key="k"), workplace.env)
    assert (again["task_id"], again["reused"]) == (first["task_id"], True)
    with pytest.raises(InvalidInput) as error:
        submit(request(workplace, "echo two", idempotency_key="k"), workplace.env)
    assert (error.value.code, first["task_id"] in error.value.message) == (
        "idempotency_conflict",
        True,
    )
    other = submit(request(workplace, "echo one", idempotency_key="k", session="s"), workplace.env)
    assert other["task_id"] != first["task_id"]  # a session has its own keys
    assert len(workplace.tasks()) == 2


def test_a_key_that_twenty_use_at_once_starts_one_task(workplace: Workplace) -> None:
    words = ("task", "submit", "--agent-kind", "shell", "--idempotency-key", "k", "--name", "n")
    asking = [workplace.command(*words, "--format", "json", "sleep 60") for _ in range(20)]
    done = [(one.communicate(timeout=90), one.returncode) for one in asking]
    assert [status for _, status in done] == [0] * 20, [err for (_, err), _ in done if err]
    made = [json.loads(out) for (out, _), _ in done]
    assert len({one["task_id"] for one in made}) == 1
    assert [one["reused"] for one in made].count(False) == 1
    workplace.cancel(made[0]["task_id"])


def test_a_start_that_fails_gives_its_key_back(workplace: Workplace) -> None:
    env = {**workplace.env, "CUEKIT_TMUX_SOCKET": f"/tmp/{'x' * 150}"}
    with pytest.raises(CuekitError):
        submit(request(workplace, "true", idempotency_key="k"), env)
    made = submit(request(workplace, "true", idempotency_key="k"), workplace.env)
    assert made["reused"] is False


def test_sessions_are_listed_shown_and_emptied(workplace: Workplace) -> None:
    live = workplace.submit("sleep 60", session="nightly")
    ended = workplace.submit("true", session="nightly")
    alone = workplace.submit("true")
    for one in (ended, alone):
        workplace.ended(one)
    found = {one["session_id"]: one for one in sessions.listed(workplace.env)["sessions"]}
    assert (found["nightly"]["tasks"], found["nightly"]["active"]) == (2, 1)
    assert found["nightly"]["folders"] == [str(workplace.project)]
    status, shown, _ = run(workplace, "session", "show", "@here")
    assert (status, [row["task_id"] for row in shown["task_list"]]) == (0, [alone])
    status, gone, _ = run(workplace, "session", "delete", "nightly")
    assert (status, gone["removed"]) == (4, [ended])
    assert [kept["task_id"] for kept in gone["kept"]] == [live]
    workplace.cancel(live)
    text = workplace.command("session", "show", "nightly").communicate(timeout=30)[0]
    assert live in text
    assert run(workplace, "session", "delete", "nightly")[1]["removed"] == [live]
    with pytest.raises(NotFound, match="no session has the id 'nightly'"):
        sessions.shown("nightly", workplace.env)


def test_wait_first_gives_the_one_that_is_done(workplace: Workplace) -> None:
    slow, quick = workplace.submit("sleep 60"), workplace.submit("sleep 0.5; exit 2")
    status, view, err = run(workplace, "task", "wait", slow, quick, "--first", "--timeout", "30s")
    assert (status, [one["task_id"] for one in view["tasks"]]) == (6, [quick]), err
    assert workplace.status(slow)["status"] == "running"
    workplace.cancel(slow)


def test_old_tasks_go_as_the_user_has_configured_it(workplace: Workplace) -> None:
    old = workplace.submit("true")
    workplace.ended(old)
    configure(workplace, {"retention": {"keep_for": "1h"}})
    assert run(workplace, "task", "cleanup")[1] == {"removed": [], "kept": []}
    configure(workplace, {"retention": {"keep_for": "1ms", "auto": True}})
    live = workplace.submit("sleep 60")
    wait_until(lambda: [task.task_id for task in workplace.tasks()] == [live], 10)
    (workplace.project / ".cuekit.yaml").write_text("retention: {keep_for: 1ms, auto: true}\n")
    configure(workplace, {})
    workplace.cancel(live)
    view = submit(request(workplace, "true"), workplace.env)
    assert "retention.keep_for, retention.auto" in str(view["warnings"])
    assert len(workplace.tasks()) == 2
    workplace.ended(view["task_id"])
    assert run(workplace, "task", "cleanup", "--older-than", "1h")[1]["removed"] == []
    assert len(run(workplace, "task", "cleanup")[1]["removed"]) == 2
