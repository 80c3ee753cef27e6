"""The examples of docs/json-shapes.md are what the commands print."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from cuekit.launch import events
from cuekit.model.lifecycle import Status
from cuekit.paths import Home
from tests.support.command_line import CommandLine, cli
from tests.support.repository import mark_repository
from tests.support.tmux import TmuxServer, tmux_server

__all__ = ["cli", "tmux_server"]

DOCUMENT = Path(__file__).parents[2] / "docs" / "json-shapes.md"
EXAMPLE = re.compile(r"<!-- (.+?) -->\n```json\n(.*?)```", re.DOTALL)
EXAMPLES = dict(EXAMPLE.findall(DOCUMENT.read_text()))
AT = 1772359200.0  # 2026-03-01T10:00:00Z
LIVE, ENDED = "t_4f9k2m1x", "t_8c1d0p7q"


def example(name: str, cli: CommandLine) -> Any:
    """An example, with the places of this test in place of Ann's."""
    text = EXAMPLES[name].replace("/home/ann/project", str(cli.project))
    return json.loads(text.replace("/home/ann", str(cli.user)))


@pytest.fixture
def tasks(cli: CommandLine) -> CommandLine:
    """The two tasks of the document."""
    cli.task(
        LIVE,
        Status.RUNNING,
        agent_kind="codex",
        model="gpt-5",
        mode="interactive",
        activity="idle",
        activity_since=AT + 300.25,
        activity_source="hook",
        turn=2,
        last_turn="completed",
        summary="All 14 tests pass.",
        session_id="s_5b21e0d4",
        name="tester",
        labels=["nightly"],
        created_at=AT,
        started_at=AT + 0.5,
    )
    folder = cli.task(
        ENDED,
        Status.FAILED,
        session_id="s_5b21e0d4",
        created_at=AT - 1,
        started_at=AT,
        completed_at=AT + 61.25,
        exit_code=2,
        error={"code": "agent_failed", "message": "the agent exited with 2"},
    )
    (folder / "transcript.txt").write_bytes(b"make: *** [test] Error 1\r\n")
    return cli


def test_each_example_has_a_test() -> None:
    source = Path(__file__).read_text()
    assert [name for name in EXAMPLES if f'example("{name}"' not in source] == []


def test_error(cli: CommandLine) -> None:
    done = cli.run("task", "status", "t_zzzzzzzz", "--format", "json")
    assert json.loads(done.stderr) == example("error", cli)


def test_status(tasks: CommandLine) -> None:
    assert tasks.json("task", "status", LIVE) == example("task status", tasks)


def test_status_of_several(tasks: CommandLine) -> None:
    found = tasks.json("task", "status", ENDED, LIVE)
    assert [view["task_id"] for view in found["tasks"]] == [ENDED, LIVE]
    assert found["tasks"][1] == example("task status", tasks)


def test_wait_gives_the_same_view(tasks: CommandLine) -> None:
    assert tasks.json("task", "wait", LIVE) == example("task status", tasks)


def test_list(tasks: CommandLine) -> None:
    found = tasks.json("task", "list", "--session", "s_5b21e0d4", "--limit", "1")
    assert found == example("task list", tasks)


def test_result(tasks: CommandLine) -> None:
    assert tasks.json("task", "result", ENDED) == example("task result", tasks)


def test_transcript(tasks: CommandLine) -> None:
    assert tasks.json("task", "transcript", ENDED) == example("task transcript", tasks)


def test_events(tasks: CommandLine) -> None:
    folder = str(tasks.project / ".cuekit" / "tasks" / ENDED)
    events.append(folder, ENDED, "status", {"status": "running"}, at=AT + 0.5)
    assert tasks.json("task", "events", ENDED) == example("task events", tasks)


def test_delete(tasks: CommandLine) -> None:
    done = tasks.run("task", "delete", ENDED, LIVE, "--format", "json")
    assert done.returncode == 4
    assert json.loads(done.stdout) == example("task delete", tasks)


def test_dry_run(cli: CommandLine) -> None:
    submit = ("task", "submit", "--agent-kind", "shell", "--mode", "batch", "make test")
    found = cli.json(*submit, "--dry-run")
    assert found == example("task submit --dry-run", cli)


def test_completion(cli: CommandLine) -> None:
    found = cli.json("completion", "install", "--shell", "bash")
    assert found == example("completion install", cli)


def in_tmux(cli: CommandLine, server: TmuxServer) -> None:
    """Let the command line use a real tmux server."""
    cli.env |= {"CUEKIT_TMUX_SOCKET": str(server.socket), "TERM": "xterm"}


def test_submit_with_wait(cli: CommandLine, tmux_server: TmuxServer) -> None:
    in_tmux(cli, tmux_server)
    submit = ("task", "submit", "--agent-kind", "shell", "--mode", "batch")
    found = cli.json(*submit, "true", "--wait")
    assert set(found) == set(example("task submit", cli)) | set(example("task status", cli))
    assert (found["status"], found["exit_code"]) == ("completed", 0)


def test_submit_attach_and_steer(cli: CommandLine, tmux_server: TmuxServer) -> None:
    in_tmux(cli, tmux_server)
    submit = ("task", "submit", "--agent-kind", "shell", "--mode", "interactive")
    made = cli.json(*submit, "cat")
    task_id = made["task_id"]
    wanted = json.loads(json.dumps(example("task submit", cli)).replace(LIVE, task_id))
    hint = f"tmux -S {tmux_server.socket} attach-session -t cuekit-task-{task_id}"
    assert made == wanted | {"mode": "interactive", "attach_hint": hint}

    attach = cli.json("task", "attach", task_id)
    assert set(attach) == set(example("task attach", cli))
    assert attach["argv"][-1] == f"=cuekit-task-{task_id}"

    steered = cli.json("task", "steer", task_id, "hello")
    assert steered == json.loads(json.dumps(example("task steer", cli)).replace(LIVE, task_id)) | {
        "receipt": steered["receipt"],
        "warnings": steered["warnings"],
    }
    assert set(steered["receipt"]) == {"state", "turn", "evidence"}

    assert cli.json("task", "cancel", task_id)["status"] == "cancelled"
    assert not Path(Home(cli.home.root).run(task_id), "environment").exists()
    shutil.rmtree(made["task_dir"])


def test_sessions(tasks: CommandLine) -> None:
    wanted = example("session list", tasks)
    assert tasks.json("session", "list") == wanted
    shown = tasks.json("session", "show", "s_5b21e0d4")
    assert {name: shown[name] for name in wanted["sessions"][0]} == wanted["sessions"][0]
    assert [row["task_id"] for row in shown["task_list"]] == [LIVE, ENDED]
    deleted = tasks.run("session", "delete", "s_5b21e0d4", "--format", "json")
    gone = json.loads(deleted.stdout)
    assert (deleted.returncode, gone["removed"], len(gone["kept"])) == (4, [ENDED], 1)


def differences(wanted: Any, found: Any, place: str = "") -> list[str]:
    """Where the fields of a real object differ from those of an example."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        if not wanted:
            return []
        out = [f"{place}.{name}" for name in sorted(set(wanted) ^ set(found))]
        for name in set(wanted) & set(found):
            out += differences(wanted[name], found[name], f"{place}.{name}")
        return out
    if isinstance(wanted, list) and isinstance(found, list):
        return [it for item in found if wanted for it in differences(wanted[0], item, place + "[]")]
    same = isinstance(wanted, type(found)) or wanted is None or found is None
    return [] if same or place.endswith(".value") else [place]


def test_the_comparison_sees_a_difference() -> None:
    assert differences({"a": [{"b": 1}]}, {"a": [{"b": 1}, {"c": 1}]}) == [".a[].b", ".a[].c"]
    assert differences({"a": "x"}, {"a": 1}) == [".a"]


def test_setting_up(cli: CommandLine) -> None:
    mark_repository(cli.project)
    wanted = {
        "init": example("init", cli),
        "config show": example("config show", cli),
        "trust": example("trust", cli),
        "trust show": example("trust show", cli),
        "trust revoke": example("trust revoke", cli),
        "adapter list": example("adapter list", cli),
        "doctor": example("doctor", cli),
    }
    for command, shape in wanted.items():
        done = cli.run(*command.split(), "--format", "json")
        assert done.returncode == 0, (command, done.stderr)
        assert differences(shape, json.loads(done.stdout), command) == []


def test_each_command_is_in_the_document() -> None:
    from tests.cli.test_help import EVERY

    headings = re.findall(r"^## (.*)$|<!-- (.*) -->", DOCUMENT.read_text(), re.MULTILINE)
    words = {word for pair in headings for word in re.findall(r"[a-z-]+", " ".join(pair))}
    mine = [path for path, _ in EVERY if path.split()[0] != "approval"]  # not settled yet
    assert [path for path in mine if not set(path.split()) <= words] == []
