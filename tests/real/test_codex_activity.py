"""The real codex in its own TUI: what its hooks, rollout, title and screen tell, and when."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from cuekit.activity import codex as activity
from cuekit.activity.base import Composer, Screen
from cuekit.agents import codex_hooks
from cuekit.launch.script import hook_script
from cuekit.model.activity import Activity, Progress, Signal, SignalKind, Source, reduce
from tests.support.model_server import HttpError, Say, Shell
from tests.support.real_agents import RealAgent
from tests.support.wait import wait_until

ASKING = ("-s", "read-only", "-a", "on-request")
NOTICE_SECONDS = 2.0
ESCALATED = {"sandbox_permissions": "require_escalated", "justification": "needed"}


class Session:
    """One TUI with our hooks, and everything that it has told so far."""

    def __init__(self, agent: RealAgent, folder: Path) -> None:
        self.agent = agent
        self.folder = folder
        self.spool = folder / "spool"
        self.spool.mkdir(parents=True)
        self.hook = folder / "hook"
        self.hook.write_text(hook_script(sys.executable, "/unused"), encoding="utf-8")
        self.hook.chmod(0o700)
        self.pane = ""
        self.hooks: list[Signal] = []
        self.signals: list[Signal] = []
        self.titles: list[SignalKind] = []
        self.progress = Progress()
        self._offset = 0

    def start(self, prompt: str, *more: str) -> None:
        hooks = codex_hooks.hook_arguments(str(self.hook))
        self.pane = self.agent.start_tui(*ASKING, *hooks, *more, "--", prompt)

    def screen(self) -> Screen:
        plain = self.agent.tmux.screen(self.pane)
        styled = self.agent.tmux.run("capture-pane", "-p", "-e", "-t", self.pane)
        return activity.read_screen(plain, styled)

    def look(self) -> Progress:
        """Take in what is new: the log before the hooks, for a hook ends before what it led to."""
        new = sorted([*self._from_log(), *self._from_hooks()], key=lambda signal: signal.at)
        for signal in new:
            self.signals.append(signal)
            self.progress = reduce(self.progress, signal)
        self._note_title()
        return self.progress

    def wait(self, what: Activity, turn: int, seconds: float = 20.0) -> None:
        wait_until(
            lambda: self.look().activity is what and self.progress.turn == turn,
            seconds,
            lambda: f"{what} in turn {turn}: {self.progress}\n{self.agent.tmux.screen(self.pane)}",
        )

    def paste(self, text: str, *, enter: bool = True) -> None:
        plan = activity.steer_plan(text, self.agent.version.version)
        assert plan.refusal is None
        for piece in plan.pieces if enter else (text,):
            time.sleep(plan.pause_s)  # the pause that the plan asks for
            subprocess.run(
                ["tmux", "-S", str(self.agent.tmux.socket), "load-buffer", "-b", "t", "-"],
                input=piece.encode(),
                env=self.agent.tmux.env,
                check=True,
                timeout=10,
            )
            self.agent.tmux.run("paste-buffer", "-p", "-r", "-d", "-b", "t", "-t", self.pane)
        if enter:
            time.sleep(plan.enter_delay_s)
            self.key("Enter")

    def key(self, name: str) -> None:
        self.agent.tmux.run("send-keys", "-t", self.pane, name)

    def told(self, *sources: Source) -> list[tuple[SignalKind, str | None]]:
        return [
            (signal.kind, signal.text or signal.tool)
            for signal in self.signals
            if signal.source in sources
        ]

    def _from_hooks(self) -> Iterator[Signal]:
        for path in sorted(self.spool.glob("*.json"), key=lambda path: path.stat().st_mtime_ns):
            event = path.name.split(".")[1]
            payload = json.loads(path.read_text(encoding="utf-8"))
            at = path.stat().st_mtime
            path.unlink()
            for signal in activity.hook_signals(event, payload, at):
                self.hooks.append(signal)
                yield signal

    def _from_log(self) -> Iterator[Signal]:
        path = next((signal.log_path for signal in self.hooks if signal.log_path), None)
        if path is None or not Path(path).exists():
            return
        data = Path(path).read_bytes()
        for line in data[self._offset : data.rfind(b"\n") + 1].splitlines():
            stamp = json.loads(line)["timestamp"].replace("Z", "+00:00")
            yield from activity.log_signals(line, datetime.fromisoformat(stamp).timestamp())
        self._offset = data.rfind(b"\n") + 1

    def _note_title(self) -> None:
        signal = activity.title_signal(self.agent.tmux.value(self.pane, "#{pane_title}"), 0.0)
        if signal and signal.kind not in self.titles[-1:]:
            self.titles.append(signal.kind)


@pytest.fixture
def session(codex: RealAgent, tmp_path: Path) -> Session:
    codex.trust()
    return Session(codex, tmp_path / 'it\'s a "run" \\ $x')


def is_newest(agent: RealAgent) -> bool:
    return agent.version.version == "0.171.0"


def test_a_session_is_told_from_start_to_failure(session: Session) -> None:
    agent, model = session.agent, session.agent.model
    model.queue("first answer")
    session.start("hello one")
    session.wait(Activity.IDLE, 1)
    assert session.progress.last_turn == "completed"
    assert session.progress.summary == "first answer"

    model.queue(Shell("touch x.txt", extra=ESCALATED))
    model.queue("ran it")
    session.paste("do a tool")
    session.wait(Activity.WAITING_APPROVAL, 2)
    wait_until(lambda: session.screen().dialog == "approval", 10, "the approval dialog")
    asked = SignalKind.APPROVAL_REQUESTED
    wait_until(lambda: session.look() and session.titles[-1] is asked, 5, "the title that asks")
    assert session.progress.activity is Activity.WAITING_APPROVAL
    assert not (agent.project / "x.txt").exists()
    session.key("y")
    session.wait(Activity.IDLE, 2)
    assert (session.progress.last_turn, session.progress.summary) == ("completed", "ran it")
    assert (agent.project / "x.txt").exists()

    gate = model.gate()
    model.queue(Say("slow"), gate)
    session.paste("be slow")
    gate.wait_reached()
    session.wait(Activity.WORKING, 3)
    wait_until(lambda: session.look() and session.titles[-1] is SignalKind.WORKING, 5, "a spinner")
    session.key("Escape")
    session.wait(Activity.IDLE, 3, NOTICE_SECONDS)
    assert session.progress.last_turn == "interrupted"
    at_rest = SignalKind.IDLE
    wait_until(lambda: session.look() and session.titles[-1] is at_rest, 2, "a title at rest")
    gate.release()

    model.queue(HttpError(500))
    session.paste("fail please")
    model.wait_for_message("fail please")
    session.wait(Activity.IDLE, 4, NOTICE_SECONDS)
    assert session.progress.last_turn == "failed"
    words = session.progress.turn_error or wait_until(lambda: session.screen().failure, 2, "words")
    assert "experiencing high demand" in str(words)
    assert (session.progress.turn_error is not None) == is_newest(agent)

    hooks = [(kind, text) for kind, text in session.told(Source.HOOK) if kind is not None]
    assert hooks == [
        (SignalKind.SESSION_STARTED, None),
        (SignalKind.PROMPT_ACCEPTED, "hello one"),
        (SignalKind.TURN_COMPLETED, "first answer"),
        (SignalKind.PROMPT_ACCEPTED, "do a tool"),
        (SignalKind.WORKING, "Bash"),
        (SignalKind.APPROVAL_REQUESTED, "Bash"),
        (SignalKind.WORKING, "Bash"),
        (SignalKind.TURN_COMPLETED, "ran it"),
        (SignalKind.PROMPT_ACCEPTED, "be slow"),
        *([(SignalKind.TURN_INTERRUPTED, None)] if is_newest(agent) else []),
        (SignalKind.PROMPT_ACCEPTED, "fail please"),
    ]
    assert [kind for kind, _ in session.told(Source.SESSION_LOG)] == [
        SignalKind.TURN_COMPLETED,
        SignalKind.TURN_COMPLETED,
        SignalKind.TURN_INTERRUPTED,
        SignalKind.TURN_FAILED,
    ]


def test_escape_at_an_approval_is_an_interruption(session: Session) -> None:
    session.agent.model.queue(Shell("touch x.txt", extra=ESCALATED))
    session.start("do a tool")
    session.wait(Activity.WAITING_APPROVAL, 1)
    wait_until(lambda: session.screen().dialog == "approval", 10, "the approval dialog")
    session.key("Escape")
    session.wait(Activity.IDLE, 1, NOTICE_SECONDS)
    assert session.progress.last_turn == "interrupted"
    assert not (session.agent.project / "x.txt").exists()


def test_an_empty_answer_is_not_a_failure(session: Session) -> None:
    session.agent.model.queue(Say(""))
    session.agent.model.queue("second")
    session.start("say nothing")
    session.wait(Activity.IDLE, 1)
    session.paste("go on")
    session.wait(Activity.IDLE, 2)
    assert (session.progress.last_turn, session.progress.summary) == ("completed", "second")


def test_the_users_own_hooks_run_beside_ours_and_no_trust_is_written(session: Session) -> None:
    agent = session.agent
    seen = session.folder.parent / "own-hook-ran"
    digest = _add_own_stop_hook(agent, f"touch '{seen}'")
    session.start("hello")
    session.wait(Activity.IDLE, 1)
    wait_until(seen.exists, 10, "the user's own hook")
    after = (agent.home / ".codex" / "config.toml").read_text(encoding="utf-8")
    assert "session-flags" not in after
    assert re.findall(r"trusted_hash = .*", after) == [f'trusted_hash = "{digest}"']


def test_a_turn_that_a_hook_of_the_users_prolongs_is_not_over(
    codex: RealAgent, tmp_path: Path
) -> None:
    codex.trust()
    once = tmp_path / "once"
    words = json.dumps({"decision": "block", "reason": "keep going"})
    _add_own_stop_hook(codex, f"test -e '{once}' || {{ touch '{once}'; echo '{words}'; }}")
    gate = codex.model.gate()
    codex.model.queue("one")
    codex.model.queue(gate, Say("two"))
    task = codex.cuekit("task", "submit", "--agent-kind", "codex", "hello")["task_id"]
    gate.wait_reached()
    early = codex.cuekit_result("task", "wait", task, "--until", "idle", "--timeout", "1s")
    assert early.returncode != 0
    assert codex.cuekit("task", "status", task)["activity"] == "working"
    gate.release()
    over = codex.cuekit("task", "wait", task, "--until", "idle", "--timeout", "20s")
    assert (over["turn"], over["last_turn"], over["summary"]) == (1, "completed", "two")


def test_an_empty_answer_ends_a_task_s_turn(codex: RealAgent) -> None:
    codex.trust()
    codex.model.queue(Say(""))
    task = codex.cuekit("task", "submit", "--agent-kind", "codex", "say nothing")["task_id"]
    over = codex.cuekit("task", "wait", task, "--until", "idle", "--timeout", "20s")
    assert (over["turn"], over["last_turn"], over["error"]) == (1, "completed", None)


def test_a_hook_that_is_not_trusted_is_seen_as_a_dialog(session: Session) -> None:
    session.start("hello", "-c", 'hooks.Stop=[{hooks=[{type="command",command="true"}]}]')
    wait_until(lambda: session.screen().dialog == "hooks_review", 15, "the review of hooks")
    assert session.agent.model.turns == []


def test_an_untrusted_folder_is_seen_as_a_dialog(codex: RealAgent, tmp_path: Path) -> None:
    session = Session(codex, tmp_path / "run")
    session.start("hello")
    wait_until(lambda: session.screen().dialog == "trust", 15, "the trust dialog")
    assert session.look() == Progress()
    assert codex.model.turns == []


def test_a_draft_is_told_from_the_grey_suggestion(session: Session) -> None:
    session.start("hello")
    session.wait(Activity.IDLE, 1)
    wait_until(lambda: session.screen().composer is Composer.EMPTY, 5, "an empty composer")
    session.paste("half a thought\nand more", enter=False)
    wait_until(
        lambda: session.screen().draft == "half a thought\nand more",
        5,
        lambda: session.screen(),
    )
    session.key("C-c")
    wait_until(lambda: session.screen().composer is Composer.EMPTY, 5, "an empty composer")


TEXTS = [
    "/tmp is full",
    "/status",
    "/model\nsecond line",
    "print $HOME",
    "see @README",
    "# title",
    "?",
    "-x --y",
    "a\tb\n    c  \n\td",
    'it\'s "q" `b` $(x) \\n \\ ; #{pane_id} %H',
    "e\u0301 \U0001f469\u200d\U0001f469\u200d\U0001f467 漢字 שלום \u200b x\ufe0f",
    "[Pasted Content 1500 chars] " + "w" * 1500,
    "/" + "z" * 1500,
    "line\n" * 20000 + "end",
]


def test_each_text_reaches_the_model_as_it_is(session: Session) -> None:
    agent = session.agent
    texts = [*TEXTS, _picture(agent.project)]
    if is_newest(agent):
        texts += ["!echo hi", "!" + "z" * 1500]
    session.start("hello")
    session.wait(Activity.IDLE, 1)
    for number, text in enumerate(texts, start=2):
        session.paste(text)
        agent.model.wait_for_message(text)
        session.wait(Activity.IDLE, number)
    assert agent.model.user_messages == ["hello", *texts]
    accepted = [
        text for kind, text in session.told(Source.HOOK) if text and kind == "prompt_accepted"
    ]
    assert accepted == ["hello", *texts]


def _add_own_stop_hook(agent: RealAgent, command: str) -> str:
    """A hook of the user's own, already trusted in the user's configuration; its hash."""
    config = agent.home / ".codex" / "config.toml"
    digest = _hash_of_default(command)
    with config.open("a", encoding="utf-8") as file:
        file.write(
            '\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\n'
            f"command = {json.dumps(command)}\n"
            f'[hooks.state.{json.dumps(f"{config}:stop:0:0")}]\ntrusted_hash = "{digest}"\n'
        )
    return digest


def _hash_of_default(command: str) -> str:
    """Codex's hash of a Stop hook that names no time-out: the default is 600 s."""
    hook = {"async": False, "command": command, "timeout": 600, "type": "command"}
    normal = {"event_name": "stop", "hooks": [hook]}
    text = json.dumps(normal, separators=(",", ":"), sort_keys=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _picture(folder: Path) -> str:
    """The path of a real image, which codex would attach if it came as one paste."""
    path = folder / "dot.png"
    path.write_bytes(
        base64.b64decode(
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
            "rkJggg=="
        )
    )
    return str(path)
