"""Waiting for decisions: who was first, and that a request without one fails closed."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuekit.approvals.coordinator import Coordinator
from cuekit.approvals.standing import checker
from cuekit.errors import InvalidState
from cuekit.launch import processes
from cuekit.model.approval import ApprovalRequest, Decision, DecisionKind, Risk
from cuekit.model.event import AgentEvent
from cuekit.service import approvals as service
from cuekit.store import approvals, db, rules
from tests.support.approval_place import Asking, asking, shell

__all__ = ["asking"]

TASK = "t_aaaaaaaa"
ALLOW = Decision(DecisionKind.ALLOW, by="ann", how="pane")
DENY = Decision(DecisionKind.DENY, message="no", by="ann", how="pane")
BOUND = 10.0


class Desk:
    """A coordinator of one running task, with the events that it tells."""

    def __init__(self, place: Asking, store: sqlite3.Connection) -> None:
        self.place = place
        self.store = store
        self.events: list[AgentEvent] = []
        self.ruled: Decision | None = None
        self.rule_error: Exception | None = None
        self.changed = asyncio.Event()
        self.coordinator = Coordinator(
            store,
            TASK,
            place.home.run(TASK),
            emit=self.events.append,
            rule_for=self._rule,
            risk_of=lambda request: Risk.WRITE,
            asker=processes.identity(os.getpid()),
            on_change=self.changed.set,
        )

    def _rule(self, request: ApprovalRequest, risk: Risk) -> Decision | None:
        if self.rule_error is not None:
            raise self.rule_error
        return self.ruled

    def ask(self, command: str = "touch x") -> "asyncio.Task[Decision]":
        return asyncio.create_task(self.coordinator.await_decision(shell(command)))

    async def waiting(self, count: int = 1) -> list[str]:
        """The ids of the requests, once so many wait."""
        async with asyncio.timeout(BOUND):
            while len(self.coordinator.pending) < count:
                self.changed.clear()
                await self.changed.wait()
        return self.coordinator.pending

    def told(self) -> list[tuple[str, Any, Any]]:
        """Kind, state and decision of each event."""
        return [
            (str(event.kind), event.values.get("state"), event.values.get("decision"))
            for event in self.events
        ]

    def stored(self, approval_id: str) -> approvals.Approval:
        found = approvals.get(self.store, approval_id)
        assert found is not None
        return found


REQUESTED = ("approval_requested", None, None)


def at_desk(place: Asking, scene: Callable[[Desk], Awaitable[None]]) -> Desk:
    """Play a scene at the desk of a running task, within a bound of time."""
    if not os.path.exists(place.home.run(TASK)):
        place.running(TASK)

    async def play() -> Desk:
        with closing(db.open_store(place.home)) as store:
            desk = Desk(place, store)
            async with asyncio.timeout(60):
                async with desk.coordinator:
                    await scene(desk)
            return desk

    return asyncio.run(play())


def test_a_local_decision_is_what_the_agent_gets(asking: Asking) -> None:
    async def scene(desk: Desk) -> None:
        answer = desk.ask()
        (approval_id,) = await desk.waiting()
        assert desk.stored(approval_id).state == "pending"
        assert desk.coordinator.decide(approval_id, ALLOW)
        assert not desk.coordinator.decide(approval_id, DENY)
        assert await answer == ALLOW
        assert desk.coordinator.pending == []
        desk.coordinator.delivered(approval_id)
        assert desk.stored(approval_id).delivered_at is not None

    desk = at_desk(asking, scene)
    assert desk.told() == [REQUESTED, ("approval_resolved", "decided", "allow")]


def test_a_command_in_another_process_is_heard(asking: Asking) -> None:
    async def scene(desk: Desk) -> None:
        answers = [desk.ask("touch a"), desk.ask("touch b")]
        first, second = await desk.waiting(2)
        done = await asyncio.to_thread(asking.json, "approval", "deny", second, "-m", "not b")
        assert done["state"] == "decided"
        denied = await answers[1]
        assert (denied.kind, denied.message, denied.how) == (DecisionKind.DENY, "not b", "shell")
        assert desk.coordinator.pending == [first]
        await asyncio.to_thread(asking.json, "approval", "allow", first)
        assert (await answers[0]).kind is DecisionKind.ALLOW

    at_desk(asking, scene)


DECIDER = """
import os, sys
from cuekit.errors import CuekitError
from cuekit.model.approval import Decision, DecisionKind
from cuekit.service import approvals
for line in sys.stdin:
    try:
        approvals.decide(line.strip(), Decision(DecisionKind.DENY, message="shell"), os.environ)
        print("won", flush=True)
    except CuekitError as error:
        print(error.code, flush=True)
"""


def test_the_pane_and_a_shell_in_the_same_moment_one_wins(asking: Asking) -> None:
    won = {"pane": 0, "shell": 0}

    async def scene(desk: Desk) -> None:
        decider = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", DECIDER),
            env={**asking.env, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert decider.stdin is not None
        assert decider.stdout is not None
        for number in range(100):
            answer = desk.ask(f"touch {number}")
            (approval_id,) = await desk.waiting()
            decider.stdin.write(approval_id.encode() + b"\n")
            await decider.stdin.drain()
            await asyncio.sleep(number % 20 / 2000)  # varies who comes first; proves nothing
            here = desk.coordinator.decide(approval_id, ALLOW)
            there = (await decider.stdout.readline()).decode().strip()
            decision = await answer
            assert there == ("already_decided" if here else "won")
            assert decision.kind is (DecisionKind.ALLOW if here else DecisionKind.DENY)
            won["pane" if here else "shell"] += 1
        decider.stdin.close()
        await decider.wait()

    at_desk(asking, scene)
    assert sum(won.values()) == 100
    assert won["pane"] > 0


@pytest.mark.parametrize(
    ("words", "state"),
    [(("withdrawn",), "withdrawn"), (("expired",), "expired"), ((), "abandoned")],
)
def test_a_request_that_is_cancelled_ends_as_it_says(
    asking: Asking, words: tuple[str, ...], state: str
) -> None:
    async def scene(desk: Desk) -> None:
        answer = desk.ask()
        (approval_id,) = await desk.waiting()
        answer.cancel(*words)
        with pytest.raises(asyncio.CancelledError):
            await answer
        assert desk.stored(approval_id).state == state
        assert desk.coordinator.pending == []
        assert not desk.coordinator.decide(approval_id, ALLOW)
        with pytest.raises(InvalidState) as caught:
            service.decide(approval_id, ALLOW, asking.env)
        assert caught.value.code == "approval_over"

    desk = at_desk(asking, scene)
    assert desk.told() == [REQUESTED, ("approval_resolved", state, None)]


def test_a_decision_in_the_moment_of_the_cancellation_is_told(asking: Asking) -> None:
    async def scene(desk: Desk) -> None:
        answer = desk.ask()
        (approval_id,) = await desk.waiting()
        approvals.decide(desk.store, approval_id, ALLOW)  # stored; nobody is woken yet
        answer.cancel("withdrawn")
        with pytest.raises(asyncio.CancelledError):
            await answer
        assert desk.stored(approval_id).state == "decided"

    desk = at_desk(asking, scene)
    assert desk.told() == [REQUESTED, ("approval_resolved", "decided", "allow")]


def test_at_the_end_whatever_waits_is_denied_and_abandoned(asking: Asking) -> None:
    answers: list[asyncio.Task[Decision]] = []
    ids: list[str] = []

    async def scene(desk: Desk) -> None:
        answers.extend([desk.ask("touch a"), desk.ask("touch b")])
        ids.extend(await desk.waiting(2))

    async def after(desk: Desk) -> None:
        await scene(desk)
        await desk.coordinator.__aexit__()
        for answer in answers:
            decision = await asyncio.wait_for(answer, BOUND)
            assert (decision.kind, decision.by) == (DecisionKind.DENY, "cuekit")
        await desk.coordinator.__aenter__()

    desk = at_desk(asking, after)
    assert [asking.stored(one).state for one in ids] == ["abandoned", "abandoned"]
    assert desk.told().count(("approval_resolved", "abandoned", None)) == 2


def test_a_rule_decides_without_waiting(asking: Asking) -> None:
    async def scene(desk: Desk) -> None:
        desk.ruled = Decision(DecisionKind.ALLOW, by="rule:r_1", how="rule")
        assert await desk.coordinator.await_decision(shell("ls")) == desk.ruled
        (one,) = approvals.listed(desk.store, task_id=TASK)
        assert (one.state, one.decided_by, one.decided_how) == ("decided", "rule:r_1", "rule")

    desk = at_desk(asking, scene)
    assert desk.told() == [REQUESTED, ("approval_resolved", "decided", "allow")]


def test_always_at_the_pane_makes_the_rule_and_is_not_asked_again(asking: Asking) -> None:
    always = Decision(DecisionKind.ALLOW_ALWAYS, scope="task", by="ann", how="pane")

    async def scene(desk: Desk) -> None:
        answer = desk.ask("git add a")
        (approval_id,) = await desk.waiting()
        assert desk.coordinator.decide(approval_id, always)
        assert await answer == always
        (rule,) = rules.for_task(desk.store, TASK, "/elsewhere")
        assert (rule.command, rule.made_by, rule.from_approval) == ("git add a", "ann", approval_id)
        check = checker(desk.store, TASK, str(asking.project))
        decided = check(shell("git add a"), Risk.WRITE)
        assert decided is not None
        assert decided.by == f"rule:{rule.rule_id}"

    at_desk(asking, scene)


def test_always_is_once_where_no_rule_can_say_it(asking: Asking) -> None:
    async def scene(desk: Desk) -> None:
        answer = desk.ask("make > log")
        (approval_id,) = await desk.waiting()
        assert desk.coordinator.decide(approval_id, replace(ALLOW, kind=DecisionKind.ALLOW_ALWAYS))
        decision = await answer
        assert decision.kind is DecisionKind.ALLOW
        assert "cannot be allowed for ever" in str(decision.message)
        assert rules.all_rules(desk.store) == []

    at_desk(asking, scene)


def test_a_rule_that_cannot_be_applied_asks_a_person(asking: Asking) -> None:
    async def scene(desk: Desk) -> None:
        desk.ruled = ALLOW
        desk.rule_error = RuntimeError("broken")
        answer = desk.ask("ls")
        (approval_id,) = await desk.waiting()
        assert desk.stored(approval_id).risk == "unknown"
        desk.coordinator.decide(approval_id, DENY)
        assert await answer == DENY

    at_desk(asking, scene)


def test_a_request_that_cannot_be_stored_is_denied(asking: Asking) -> None:
    async def scene(desk: Desk) -> None:
        desk.ruled = ALLOW
        desk.store.execute("PRAGMA busy_timeout = 50")
        with closing(sqlite3.connect(asking.home.database, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            decision = await desk.coordinator.await_decision(shell("ls"))
            other.execute("ROLLBACK")
        assert (decision.kind, decision.by) == (DecisionKind.DENY, "cuekit")
        assert approvals.listed(desk.store, task_id=TASK) == []

    assert at_desk(asking, scene).told() == []


def test_a_full_disk_denies_what_cannot_be_stored(asking: Asking) -> None:
    async def scene(desk: Desk) -> None:
        desk.ruled = ALLOW
        (pages,) = desk.store.execute("PRAGMA page_count").fetchone()
        desk.store.execute(f"PRAGMA max_page_count = {pages}")  # SQLite's own "disk is full"
        decision = await desk.coordinator.await_decision(shell("x" * 1_000_000))
        assert (decision.kind, decision.by) == (DecisionKind.DENY, "cuekit")

    assert at_desk(asking, scene).told() == []


def test_a_decision_that_cannot_be_stored_is_none(asking: Asking) -> None:
    async def scene(desk: Desk) -> None:
        answer = desk.ask()
        (approval_id,) = await desk.waiting()
        (pages,) = desk.store.execute("PRAGMA page_count").fetchone()
        desk.store.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(sqlite3.Error):
            desk.coordinator.decide(approval_id, replace(DENY, message="x" * 1_000_000))
        assert desk.stored(approval_id).state == "pending"
        assert not answer.done()
        assert desk.coordinator.decide(approval_id, DENY)  # a short one has room
        assert await answer == DENY

    at_desk(asking, scene)


def test_a_locked_store_delays_a_decision_and_loses_nothing(asking: Asking) -> None:
    async def scene(desk: Desk) -> None:
        answer = desk.ask()
        (approval_id,) = await desk.waiting()
        with closing(sqlite3.connect(asking.home.database, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            deciding = asyncio.create_task(
                asyncio.to_thread(asking.json, "approval", "allow", approval_id)
            )
            await asyncio.sleep(0.5)  # the command is at the lock, or soon will be
            assert not answer.done()
            other.execute("ROLLBACK")
        assert (await deciding)["state"] == "decided"
        assert (await asyncio.wait_for(answer, BOUND)).kind is DecisionKind.ALLOW

    at_desk(asking, scene)


def test_a_task_that_is_deleted_under_a_request_denies_it(asking: Asking) -> None:
    async def scene(desk: Desk) -> None:
        answer = desk.ask()
        (approval_id,) = await desk.waiting()
        with db.writing(desk.store):
            desk.store.execute("DELETE FROM approval")
        desk.coordinator.decide(approval_id, ALLOW)
        decision = await asyncio.wait_for(answer, BOUND)
        assert (decision.kind, decision.by) == (DecisionKind.DENY, "cuekit")

    at_desk(asking, scene)


@pytest.mark.parametrize("broken", ["{}", "[]", "null", '"x"', '{"kind": "allowed"}'])
def test_a_decision_that_cannot_be_read_is_a_denial(asking: Asking, broken: str) -> None:
    async def scene(desk: Desk) -> None:
        answer = desk.ask()
        (approval_id,) = await desk.waiting()
        with db.writing(desk.store):
            desk.store.execute("UPDATE approval SET state = 'decided', decision = ?", (broken,))
        desk.coordinator.decide(approval_id, ALLOW)
        decision = await asyncio.wait_for(answer, BOUND)
        assert (decision.kind, decision.by) == (DecisionKind.DENY, "cuekit")

    at_desk(asking, scene)


HOLDER = """
import asyncio, os, sys
from cuekit.approvals.coordinator import Coordinator
from cuekit.launch import processes
from cuekit.model.approval import ApprovalRequest, Risk
from cuekit.store import db
from cuekit.paths import Home
async def main():
    home = Home(os.environ["CUEKIT_HOME"])
    with db.opened(home) as store:
        async with Coordinator(
            store, "t_aaaaaaaa", home.run("t_aaaaaaaa"), emit=lambda event: None,
            rule_for=lambda request, risk: None, risk_of=lambda request: Risk.WRITE,
            asker=processes.identity(os.getpid()),
            on_change=lambda: print("waits", flush=True),
        ) as desk:
            await desk.await_decision(ApprovalRequest("codex", "shell", "x", {"command": "ls"}))
asyncio.run(main())
"""


def test_a_killed_asker_leaves_nothing_that_could_be_allowed(asking: Asking) -> None:
    asking.running(TASK)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        env={**asking.env, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "waits\n"
    (one,) = asking.json("approval", "list")["approvals"]
    holder.kill()
    holder.communicate()
    assert asking.error("approval", "allow", one["approval_id"]) == (4, "approval_over")
    (after,) = asking.json("approval", "list", "--all")["approvals"]
    assert (after["state"], after["decision"]) == ("abandoned", None)


def test_the_fifo_is_private_and_gone_at_the_end(asking: Asking) -> None:
    folder = Path(asking.home.run(TASK), "waiters")

    async def scene(desk: Desk) -> None:
        (fifo,) = folder.iterdir()
        assert (fifo.is_fifo(), fifo.stat().st_mode & 0o777) == (True, 0o600)

    at_desk(asking, scene)
    assert list(folder.iterdir()) == []
