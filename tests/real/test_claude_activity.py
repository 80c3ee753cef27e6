"""The real claude in cuekit's panes: what is known of it and when, and what reaches its model."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from cuekit.model.task import tmux_session_name
from tests.support.model_server import Call, HttpError, Say, Shell
from tests.support.real_agents import RealAgent
from tests.support.wait import wait_until

NOTICE_SECONDS = 2.0
ASKING = ("--adapter-options", '{"dangerously_skip_permissions": false}')
WRITES = "touch made-by-claude"


class Job:
    """One interactive task in a trusted folder."""

    def __init__(self, agent: RealAgent, prompt: str, *more: str) -> None:
        self.agent = agent
        agent.trust()
        submitted = agent.cuekit(
            "task", "submit", "--agent-kind", agent.kind, "--trust", *more, prompt
        )
        self.task_id: str = submitted["task_id"]
        self.pane = f"={tmux_session_name(self.task_id)}:"

    def view(self) -> dict[str, Any]:
        view: dict[str, Any] = self.agent.cuekit("task", "status", self.task_id)
        return view

    def key(self, name: str) -> None:
        """Press a key as a person at the pane does."""
        self.agent.tmux.key(self.pane, name)

    def until(self, seconds: float = 30, **expected: object) -> dict[str, Any]:
        """Wait until the status shows these values; that status."""
        seen: list[dict[str, Any]] = []

        def as_expected() -> bool:
            seen[:] = [self.view()]
            return all(seen[0][name] == value for name, value in expected.items())

        wait_until(as_expected, seconds, lambda: f"{expected}\n{seen}\n{self.screen()}")
        return seen[0]

    def idle_within(self, seconds: float, act: Callable[[], object]) -> dict[str, Any]:
        """Do something that ends the turn; a waiting command must come back in time."""
        act()
        began = time.monotonic()
        limit = ("--until", "idle", "--timeout", "20s")
        done = self.agent.cuekit_result("task", "wait", self.task_id, *limit)
        took = time.monotonic() - began
        assert done.returncode == 0, f"{done.stderr}\n{self.screen()}"
        assert took < seconds + 1.0, (
            f"known only after {took:.1f} s"
        )  # 1 s: the command's own start
        return self.view()

    def steer(self, text: str) -> dict[str, Any]:
        """Send a message by standard input, which carries every text."""
        receipt: dict[str, Any] = self.agent.cuekit(
            "task", "steer", self.task_id, "-", stdin=text, timeout=110
        )
        return receipt

    def screen(self) -> str:
        return self.agent.tmux.try_run("capture-pane", "-p", "-t", self.pane).stdout


def test_a_turn_with_an_approval_is_followed_by_hooks(claude: RealAgent) -> None:
    claude.model.when("make a file", Say("I will"), Shell(WRITES))
    claude.model.default("It is made.")
    before = (claude.home / ".claude.json").read_text(encoding="utf-8")
    job = Job(claude, "make a file", *ASKING)
    asked = job.until(activity="waiting_approval")
    assert (asked["activity_detail"], asked["activity_source"]) == ("Bash", "hook")
    time.sleep(1.5)  # what is tested is that the title, which is at rest now, changes nothing
    assert job.view()["activity"] == "waiting_approval"
    job.key("Enter")
    done = job.until(activity="idle")
    assert (done["turn"], done["last_turn"], done["summary"], done["activity_source"]) == (
        1,
        "completed",
        "It is made.",
        "hook",
    )
    assert (claude.project / "made-by-claude").exists()
    assert not (claude.home / ".claude" / "settings.local.json").exists()
    assert "hooks" not in before
    settings = claude.home / ".claude" / "settings.json"
    assert not settings.exists() or "hooks" not in settings.read_text(encoding="utf-8")


def test_a_question_of_the_model_is_told_as_one(claude: RealAgent) -> None:
    option = {"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}
    question = {"question": "Which?", "header": "Colour", "multiSelect": False, "options": option}
    claude.model.when("ask me", Call("AskUserQuestion", {"questions": [question]}))
    job = Job(claude, "ask me")
    asked = job.until(activity="waiting_input")
    assert (asked["activity_detail"], asked["activity_source"]) == ("question", "hook")
    refused = claude.cuekit_result("task", "steer", job.task_id, "--", "2")
    assert "question" in refused.stderr
    job.key("Enter")
    assert job.until(activity="idle")["last_turn"] == "completed"


@pytest.mark.parametrize("moment", ["before the first word", "while it answers", "at a dialog"])
def test_an_escape_is_known_in_time(claude: RealAgent, moment: str) -> None:
    gate = claude.model.gate()
    if moment == "at a dialog":
        claude.model.when("be slow", Say("so"), Shell(WRITES))
    elif moment == "while it answers":
        claude.model.when("be slow", Say("so"), gate, Say(" it goes"))
    else:
        claude.model.when("be slow", gate, Say("late"))
    job = Job(claude, "be slow", *ASKING)
    if moment == "at a dialog":
        job.until(activity="waiting_approval")
    else:
        gate.wait_reached()
        job.until(activity="working")
        time.sleep(1.0)  # claude shows its work first; an Escape at once is not an interruption
    view = job.idle_within(NOTICE_SECONDS, lambda: job.key("Escape"))
    assert (view["activity"], view["turn"], view["last_turn"]) == ("idle", 1, "interrupted")
    assert view["activity_source"] in ("session_log", "title")


def test_a_failing_server_is_known_in_time_in_claudes_own_words(claude: RealAgent) -> None:
    claude.model.when("fail", HttpError(500, "out of order"))
    job = Job(claude, "hello")
    job.until(activity="idle", turn=1)
    view = job.idle_within(NOTICE_SECONDS, lambda: job.steer("now fail"))
    assert (view["last_turn"], view["turn"]) == ("failed", 2)
    assert "out of order" in view["error"]["message"]


def test_a_message_to_a_busy_agent_is_taken_up_by_itself(claude: RealAgent) -> None:
    gate = claude.model.gate()
    claude.model.when("be slow", Say("so"), gate, Say(" it goes"))
    claude.model.when("second", Say("to the second"))
    job = Job(claude, "be slow")
    gate.wait_reached()
    job.until(activity="working")
    job.steer("the second\nmessage")
    gate.release()
    view = job.until(activity="idle", turn=2)
    assert (view["last_turn"], view["summary"]) == ("completed", "to the second")
    assert claude.model.user_messages == ["be slow", "the second\nmessage"]


LINES = "\n".join(
    f'{number}: it\'s; "done" \\ $HOME `x` 日本 👩\u200d👩\u200d👧' for number in range(60)
)

EXACT = (
    "plain",
    'it\'s; "q" | $x `y` \\n;',
    "- dash",
    "# memo",
    "/etc/hosts is a path",
    "look at @README.md",
    "@",
    "  blanks in front",
    "ends in a backslash\\",
    "a\nb\n\nc\\\nd",
    "שלום مرحبا 日本 👩\u200d👩\u200d👧 ❤\ufe0f",
    LINES,
    "word " * 500 + "end",
)

REWRITTEN = {
    "!echo hi": " !echo hi",
    "a\tb": "a    b",
    "blanks behind   ": "blanks behind",
    "e\u0301": "\xe9",
}


def test_each_message_reaches_the_model_as_it_is_or_as_is_told(
    claude: RealAgent, record_property: Callable[[str, object], None]
) -> None:
    record_property(
        "cannot",
        "take in its TUI exactly: a first `!`, a tab, blanks at the end, letters that are not "
        "composed; the receipt says what it gets",
    )
    job = Job(claude, "hello")
    job.until(activity="idle", turn=1)
    for number, text in enumerate(EXACT, start=2):
        receipt = job.steer(text)
        assert receipt["receipt"]["state"] == "submitted", (text, receipt, job.screen())
        assert receipt["warnings"] == []
        job.until(activity="idle", turn=number)
    for number, text in enumerate(REWRITTEN, start=2 + len(EXACT)):
        assert job.steer(text)["warnings"] != []
        job.until(activity="idle", turn=number)
    assert claude.model.user_messages == ["hello", *EXACT, *REWRITTEN.values()]


def test_a_message_never_runs_a_command(claude: RealAgent) -> None:
    job = Job(claude, "hello")
    job.until(activity="idle", turn=1)
    sent = claude.cuekit_result("task", "steer", job.task_id, "-", stdin="/help me")
    if sent.returncode == 0:  # up to 2.1.197 a space in front makes it text
        job.until(activity="idle", turn=2)
        assert claude.model.user_messages == ["hello", " /help me"]
    else:
        assert "as a command" in sent.stderr
        assert job.view()["turn"] == 1


def test_a_large_message_reaches_the_model_whole(claude: RealAgent) -> None:
    text = ("a line of the text that is fairly long, as lines go; " * 4 + "\n") * 480
    text = text[: 100 * 1024 - 1] + "."
    job = Job(claude, "hello")
    job.until(activity="idle", turn=1)
    job.steer(text)
    job.until(activity="idle", turn=2)
    assert claude.model.user_messages[1] == text


def test_a_batch_task_has_claudes_word_on_its_end(claude: RealAgent) -> None:
    mark = claude.home / "users-own-hook"
    own = {"type": "command", "command": f"touch {mark}"}
    (claude.home / ".claude" / "settings.json").write_text(
        json.dumps({"hooks": {"Stop": [{"hooks": [own]}]}}), encoding="utf-8"
    )
    claude.model.default("The answer.")
    task = claude.cuekit(
        "task", "submit", "--agent-kind", claude.kind, "--mode", "batch", "what is it?"
    )
    claude.cuekit_result("task", "wait", task["task_id"], "--timeout", "30s")
    view = claude.cuekit("task", "status", task["task_id"])
    assert (view["status"], view["summary"], view["last_turn"]) == (
        "completed",
        "The answer.",
        "completed",
    )
    assert mark.exists()
