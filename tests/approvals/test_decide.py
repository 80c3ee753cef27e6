"""Deciding approvals: who may, what is taken, and that the first decision is the only one."""

import subprocess
import sys
from contextlib import closing
from dataclasses import asdict
from typing import Any

import pytest

from cuekit.errors import CuekitError
from cuekit.model.approval import ApprovalState, Decision, DecisionKind, Option, Question
from cuekit.service import approvals as service
from cuekit.service.acting import user_name
from cuekit.store import approvals, db, rules
from tests.support.approval_place import NOBODY, Asking, asking, shell

__all__ = ["asking"]

ALLOW = Decision(DecisionKind.ALLOW)
DENY = Decision(DecisionKind.DENY, message="no")
ALWAYS = Decision(DecisionKind.ALLOW_ALWAYS, scope="task")
QUESTION = Question(key="colour", text="Which?", options=("Red", "Blue"))


def refusal(place: Asking, approval_id: str, decision: Decision, **env: str) -> tuple[int, str]:
    with pytest.raises(CuekitError) as caught:
        service.decide(approval_id, decision, {**place.env, **env})
    return caught.value.exit_status, caught.value.code


def test_a_decision_is_stored_with_who_and_how(asking: Asking) -> None:
    asked = asking.ask(asking.running("t_aaaaaaaa"), shell("touch x"))
    after = service.decide(asked, ALLOW, asking.env)
    stored = asking.stored(asked)
    assert (after["state"], after["decision"]) == ("decided", {"kind": "allow"})
    assert stored.decided_by == user_name()
    assert stored.decided_how == "shell"
    assert approvals.decision_of(stored) == Decision(
        DecisionKind.ALLOW, by=user_name(), how="shell"
    )


def test_the_second_decision_is_told_who_was_first(asking: Asking) -> None:
    asked = asking.ask(asking.running("t_aaaaaaaa"), shell("touch x"))
    service.decide(asked, DENY, asking.env)
    with pytest.raises(CuekitError) as caught:
        service.decide(asked, ALLOW, asking.env)
    error = caught.value
    assert (error.exit_status, error.code) == (4, "already_decided")
    assert f"denied by {user_name()}" in error.message
    assert error.details["decision"] == {"kind": "deny", "message": "no"}
    assert asking.stored(asked).decision == asdict(
        Decision(DecisionKind.DENY, message="no", by=user_name(), how="shell")
    )


RACER = """
import sys
from cuekit.errors import CuekitError
from cuekit.model.approval import Decision, DecisionKind
from cuekit.service import approvals
import os
kind = DecisionKind(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    try:
        approvals.decide(line.strip(), Decision(kind, message="no"), os.environ)
        print("won", flush=True)
    except CuekitError as error:
        print(error.code, flush=True)
"""


def test_of_two_deciders_in_the_same_moment_one_wins_and_the_other_is_told(asking: Asking) -> None:
    task = asking.running("t_aaaaaaaa")
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, kind],
            env={**asking.env, "PYTHONPATH": ":".join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for kind in ("allow", "deny")
    ]
    wins = {"allow": 0, "deny": 0}
    try:
        assert [_line(racer) for racer in racers] == ["ready", "ready"]
        for number in range(200):
            asked = asking.ask(task, shell(f"touch {number}"))
            for racer in racers if number % 2 else reversed(racers):
                assert racer.stdin is not None
                racer.stdin.write(asked + "\n")
                racer.stdin.flush()
            said = {kind: _line(racer) for kind, racer in zip(wins, racers, strict=True)}
            assert sorted(said.values()) == ["already_decided", "won"]
            stored = approvals.decision_of(asking.stored(asked))
            assert stored is not None
            assert said[str(stored.kind)] == "won"
            wins[str(stored.kind)] += 1
    finally:
        for racer in racers:
            racer.communicate()
    assert sum(wins.values()) == 200


def _line(racer: "subprocess.Popen[str]") -> str:
    assert racer.stdout is not None
    return racer.stdout.readline().strip()


@pytest.mark.parametrize("state", ["withdrawn", "expired", "abandoned"])
def test_what_is_over_cannot_be_decided(asking: Asking, state: str) -> None:
    asked = asking.ask(asking.running("t_aaaaaaaa"), shell("touch x"))
    with closing(db.open_store(asking.home)) as store:
        approvals.close(store, asked, ApprovalState(state), "why it ended")
    assert refusal(asking, asked, ALLOW) == (4, "approval_over")


def test_a_request_whose_asker_is_gone_is_abandoned_and_never_allowed(asking: Asking) -> None:
    task = asking.running("t_aaaaaaaa")
    asked = asking.ask(task, shell("touch x"), asker=NOBODY)
    assert service.list_approvals(asking.env) == []
    assert refusal(asking, asked, ALLOW) == (4, "approval_over")
    assert asking.stored(asked).decided_how == "the process that asked is gone"
    kinds = [
        event["kind"]
        for event in map(_json, asking.out("task", "events", task, "--format", "json").splitlines())
    ]
    assert kinds == ["approval_resolved"]


def _json(line: str) -> Any:
    import json

    return json.loads(line)


def test_a_request_of_a_task_that_has_ended_is_abandoned(asking: Asking) -> None:
    task = asking.running("t_aaaaaaaa")
    asked = asking.ask(task, shell("touch x"))
    asking.end(task)
    assert refusal(asking, asked, ALLOW) == (4, "approval_over")
    assert asking.stored(asked).state == "abandoned"


def test_an_unknown_id_and_a_prefix_are_not_found(asking: Asking) -> None:
    asked = asking.ask(asking.running("t_aaaaaaaa"), shell("touch x"))
    assert refusal(asking, "a_0000000000000000", ALLOW) == (3, "approval_not_found")
    assert refusal(asking, asked[:8], ALLOW) == (3, "approval_not_found")
    assert asking.stored(asked).state == "pending"


def test_a_child_decides_for_its_descendants_alone(asking: Asking) -> None:
    asking.running("t_parent00")
    asking.running("t_child000", parent_task_id="t_parent00")
    asking.running("t_grand000", parent_task_id="t_child000")
    asking.running("t_other000")
    acting = {"CUEKIT_TASK_ID": "t_child000"}
    for other in ("t_parent00", "t_child000", "t_other000"):
        asked = asking.ask(other, shell("touch x"))
        assert refusal(asking, asked, ALLOW, **acting) == (4, "child_may_not")
        assert refusal(asking, asked, DENY, **acting) == (4, "child_may_not")
        assert asking.stored(asked).state == "pending"
    asked = asking.ask("t_grand000", shell("touch x"))
    assert refusal(
        asking, asked, Decision(DecisionKind.ALLOW_ALWAYS, scope="project"), **acting
    ) == (
        4,
        "child_may_not",
    )
    after = service.decide(asked, ALLOW, {**asking.env, **acting})
    assert after["decided_by"] == "parent:t_child000"


def test_a_task_that_is_not_in_the_store_may_decide_nothing(asking: Asking) -> None:
    asked = asking.ask(asking.running("t_aaaaaaaa"), shell("touch x"))
    assert refusal(asking, asked, ALLOW, CUEKIT_TASK_ID="t_unknown0") == (4, "child_may_not")


def test_always_makes_a_rule_of_exactly_this(asking: Asking) -> None:
    task = asking.running("t_aaaaaaaa")
    asked = asking.ask(task, shell("/bin/bash -lc 'git add a.txt'", cwd=str(asking.project)))
    service.decide(asked, ALWAYS, asking.env)
    with closing(db.open_store(asking.home)) as store:
        (rule,) = rules.for_task(store, task, "/elsewhere")
    assert (rule.effect, rule.command, rule.path, rule.tool, rule.agent_kind) == (
        "allow",
        "git add a.txt",
        str(asking.project),
        "shell",
        "codex",
    )
    assert (rule.made_by, rule.from_approval) == (user_name(), asked)


@pytest.mark.parametrize("command", ["touch x > y", "sudo ls", "cuekit approval list", "ls $X"])
def test_always_is_refused_where_no_rule_can_say_it(asking: Asking, command: str) -> None:
    asked = asking.ask(asking.running("t_aaaaaaaa"), shell(command))
    assert refusal(asking, asked, ALWAYS) == (4, "no_rule_possible")
    assert asking.stored(asked).state == "pending"


def test_what_the_agent_does_not_take_is_not_offered(asking: Asking) -> None:
    task = asking.running("t_aaaaaaaa")
    plain = asking.ask(task, shell("touch x"))
    edited = Decision(DecisionKind.ALLOW, changed_input={"command": "ls"})
    for decision in (
        edited,
        Decision(DecisionKind.ALLOW, granted={"network": True}),
        Decision(DecisionKind.ANSWER, answers={"x": ["y"]}),
        Decision(DecisionKind.HANDOVER),
    ):
        assert refusal(asking, plain, decision) == (4, "not_offered")
    changeable = asking.ask(task, shell("touch x", can_change_input=True))
    assert service.decide(changeable, edited, asking.env)["decision"] == {
        "kind": "allow",
        "changed_input": {"command": "ls"},
    }
    only_no = asking.ask(task, shell("touch x", options=(Option("n", "No", "reject_once"),)))
    assert refusal(asking, only_no, ALLOW) == (4, "not_offered")
    assert service.decide(only_no, DENY, asking.env)["state"] == "decided"


def test_a_question_takes_its_own_answers_only(asking: Asking) -> None:
    task = asking.running("t_aaaaaaaa")
    question = shell("", tool="question", input={}, questions=(QUESTION,))
    asked = asking.ask(task, question)
    assert refusal(asking, asked, ALLOW) == (4, "not_offered")
    for answers, error in (
        ({"colour": ["Green"]}, (4, "not_offered")),
        ({"colour": ["Red", "Blue"]}, (4, "not_offered")),
        ({"shape": ["Red"]}, (2, "wrong_answer")),
        ({}, (2, "wrong_answer")),
    ):
        assert refusal(asking, asked, Decision(DecisionKind.ANSWER, answers=answers)) == error
    after = service.decide(
        asked, Decision(DecisionKind.ANSWER, answers={"colour": ["red"]}), asking.env
    )
    assert after["decision"] == {"kind": "answer", "answers": {"colour": ["Red"]}}


def test_a_secret_answer_is_stored_for_the_agent_and_shown_to_nobody(asking: Asking) -> None:
    secret = Question(key="token", text="Token?", secret=True)
    task = asking.running("t_aaaaaaaa")
    asked = asking.ask(task, shell("", tool="question", input={}, questions=(secret,)))
    decision = Decision(DecisionKind.ANSWER, answers={"token": ["hunter2"]})
    assert service.decide(asked, decision, asking.env)["decision"]["answers"] == {
        "token": ["(secret)"]
    }
    assert "hunter2" not in str(service.show(asked, asking.env))
    stored = approvals.decision_of(asking.stored(asked))
    assert stored is not None
    assert stored.answers == {"token": ["hunter2"]}


def test_a_grant_is_a_part_of_what_was_asked(asking: Asking) -> None:
    task = asking.running("t_aaaaaaaa")
    wanted = {"fileSystem": {"write": ["/a", "/b"]}, "network": {"enabled": True}}
    request = shell("", tool="permissions", input={"permissions": wanted}, can_grant_subset=True)
    asked = asking.ask(task, request)
    for granted in (
        {"fileSystem": {"write": ["/c"]}},
        {"fileSystem": {"read": ["/a"]}},
        {"other": True},
        {"network": {"enabled": 1}},
    ):
        grant = Decision(DecisionKind.ALLOW, granted=granted)
        assert refusal(asking, asked, grant) == (4, "not_offered")
    assert refusal(asking, asked, ALWAYS) == (4, "not_offered")
    part = {"fileSystem": {"write": ["/a"]}}
    after = service.decide(asked, Decision(DecisionKind.ALLOW, granted=part), asking.env)
    assert after["decision"] == {"kind": "allow", "granted": part, "scope": "turn"}


def test_the_status_view_names_what_waits(asking: Asking) -> None:
    task = asking.running("t_aaaaaaaa")
    asked = asking.ask(task, shell("touch x"))
    (waiting,) = asking.json("task", "status", task)["pending_approvals"]
    assert (waiting["approval_id"], waiting["tool"], waiting["risk"]) == (asked, "shell", "write")
    service.decide(asked, DENY, asking.env)
    assert asking.json("task", "status", task)["pending_approvals"] == []
