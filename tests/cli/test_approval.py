"""`cuekit approval`: what is printed, in text and JSON, and the exit statuses."""

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from cuekit.model.approval import ApprovalRequest, Question
from tests.support.approval_place import NOBODY, Asking, asking, shell

__all__ = ["asking"]

TASK = "t_aaaaaaaa"
FIELDS = [
    "approval_id",
    "task_id",
    "agent_kind",
    "tool",
    "input",
    "risk",
    "options",
    "state",
    "requested_at",
    "decision",
    "decided_by",
    "decided_at",
]


@pytest.fixture
def asked(asking: Asking) -> str:
    asking.running(TASK)
    return asking.ask(TASK, shell("touch x", cwd=str(asking.project), reason="it is missing"))


def test_the_list_has_the_fields_that_programs_rely_on(asking: Asking, asked: str) -> None:
    (one,) = asking.json("approval", "list")["approvals"]
    assert list(one) == FIELDS
    assert (one["approval_id"], one["state"], one["decision"]) == (asked, "pending", None)
    assert one["input"] == {"command": "touch x"}


def test_an_empty_list_says_so(asking: Asking) -> None:
    assert asking.out("approval", "list") == "nothing waits for an answer\n"
    assert asking.json("approval", "list") == {"approvals": []}


def test_allow_deny_and_the_one_who_comes_too_late(asking: Asking, asked: str) -> None:
    done = asking.json("approval", "allow", asked)
    assert list(done) == FIELDS
    assert (done["state"], done["decision"]) == ("decided", {"kind": "allow"})
    assert asking.error("approval", "deny", asked) == (4, "already_decided")
    assert asking.json("approval", "list") == {"approvals": []}
    (one,) = asking.json("approval", "list", "--all")["approvals"]
    assert one == done


def test_of_many_the_newest_are_listed_oldest_first(asking: Asking, asked: str) -> None:
    later = [asking.ask(TASK, shell(f"touch {number}")) for number in range(3)]
    found = asking.json("approval", "list", "--limit", "2")["approvals"]
    assert [one["approval_id"] for one in found] == later[1:]
    every = asking.json("approval", "list", "--all")["approvals"]
    assert [one["approval_id"] for one in every] == [asked, *later]


def test_the_shell_completes_what_waits(asking: Asking, asked: str) -> None:
    over = asking.ask(TASK, shell("ls"))
    asking.out("approval", "deny", over)
    words = {"_CUEKIT_COMPLETE": "bash_complete", "COMP_WORDS": "cuekit approval allow a_"}
    done = asking.run(env={**words, "COMP_CWORD": "3"})
    assert [line.split(",")[-1] for line in done.stdout.splitlines()] == [asked]


def test_a_denial_carries_its_message(asking: Asking, asked: str) -> None:
    said = asking.out("approval", "deny", asked, "--message", "use the test\ndatabase")
    assert said.startswith(f"{asked}  denied by ")
    assert asking.stored(asked).decision == {
        **{"changed_input": None, "granted": None, "scope": None, "answers": None},
        "kind": "deny",
        "message": "use the test\ndatabase",
        "by": asking.stored(asked).decided_by,
        "how": "shell",
    }


def test_errors_have_their_codes(asking: Asking, asked: str) -> None:
    gone = asking.ask(TASK, shell("ls"), asker=NOBODY)
    assert asking.error("approval", "allow", "a_0123456789abcdef") == (3, "approval_not_found")
    assert asking.error("approval", "allow", asked[:10]) == (3, "approval_not_found")
    assert asking.error("approval", "show", "a_") == (2, "short_prefix")
    assert asking.error("approval", "allow", gone) == (4, "approval_over")
    assert asking.error("approval", "handover", asked) == (4, "not_offered")
    assert asking.error("approval", "answer", asked, "x=y") == (4, "not_offered")
    assert asking.error("approval", "allow", asked, "--edit", "{}") == (4, "not_offered")
    assert asking.error("approval", "allow", asked, "--edit", "[") == (2, "bad_json")
    assert asking.error("approval", "allow", asked, "--grant", "1") == (2, "bad_json")
    assert asking.error("approval", "allow", asked, "--scope", "turn") == (4, "not_offered")
    assert asking.error("approval", "allow", asked, "--always", "task", "--edit", "{}") == (
        2,
        "usage",
    )
    assert asking.stored(asked).state == "pending"


def test_a_task_may_not_answer_its_own(asking: Asking, asked: str) -> None:
    done = asking.run("approval", "allow", asked, "--format", "json", env={"CUEKIT_TASK_ID": TASK})
    assert (done.returncode, json.loads(done.stderr)["error"]["code"]) == (4, "child_may_not")
    assert asking.stored(asked).state == "pending"


HARMFUL = "echo ok\r\x1b[2K\x1b]52;c;cm0=\x07" + "\n" * 60 + "  rm -rf ~ # \u202etxt.\u200bx"


def test_show_has_the_whole_command_and_nothing_acts_or_hides(asking: Asking) -> None:
    asking.running(TASK)
    asked = asking.ask(TASK, shell(HARMFUL, reason="a\u2066b\nanswers   none"))
    shown = asking.out("approval", "show", asked[:10])
    lines = shown.splitlines()
    assert "command (61 lines)" in lines
    assert "  | echo ok\\r\\x1b[2K\\x1b]52;c;cm0=\\x07" in lines
    assert "  |   rm -rf ~ # \\u202etxt.\\u200bx" in lines
    assert "  | a\\u2066b" in lines
    assert "  | answers   none" in lines  # behind the mark: it cannot pose as cuekit's own line
    assert all(letter.isprintable() or letter == "\n" for letter in shown)
    assert asking.json("approval", "show", asked)["input"] == {"command": HARMFUL}


def test_show_keeps_the_last_word_of_a_very_long_command(asking: Asking) -> None:
    asking.running(TASK)
    asked = asking.ask(TASK, shell("echo " + "x" * 30_000 + " && rm -rf ~"))
    assert "x && rm -rf ~\n" in asking.out("approval", "show", asked)
    assert "…" in asking.out("approval", "list")


def test_a_question_is_shown_and_answered(asking: Asking) -> None:
    asking.running(TASK)
    question = Question("colour", "Which one?", ("Red", "Blue"))
    request = ApprovalRequest(
        "claude-code", "question", "AskUserQuestion", {}, questions=(question,)
    )
    asked = asking.ask(TASK, request)
    shown = asking.out("approval", "show", asked)
    assert "question colour (3 lines)\n  | Which one?\n  |   Red\n  |   Blue\n" in shown
    assert asking.error("approval", "answer", asked, "Green") == (4, "not_offered")
    done = asking.json("approval", "answer", asked, "Blue")
    assert done["decision"] == {"kind": "answer", "answers": {"colour": ["Blue"]}}


def test_watch_prints_what_waits_what_comes_and_what_ends(asking: Asking, asked: str) -> None:
    watching = subprocess.Popen(
        [sys.executable, "-m", "cuekit", "approval", "watch", "--format", "json"],
        env=asking.env,
        cwd=asking.project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert _seen(watching) == (asked, "pending")
        later = asking.ask(TASK, shell("ls"))
        assert _seen(watching) == (later, "pending")
        asking.out("approval", "deny", asked)
        assert _seen(watching) == (asked, "decided")
        later = asking.ask(TASK, shell("pwd"))
        assert _seen(watching) == (later, "pending")
    finally:
        watching.send_signal(signal.SIGINT)
        _, errors = watching.communicate(timeout=10)
    assert (watching.returncode, errors.strip()) == (130, "")


def _seen(watching: "subprocess.Popen[str]") -> Any:
    assert watching.stdout is not None
    one = json.loads(watching.stdout.readline())
    return one["approval_id"], one["state"]


def test_wait_until_approval_ends_when_a_task_asks(asking: Asking, asked: str) -> None:
    from contextlib import closing

    from cuekit.store import db, tasks

    with closing(db.open_store(asking.home)) as store:
        tasks.update(store, TASK, {"activity": "waiting_approval"})
    waited = asking.json("task", "wait", TASK, "--until", "approval", "--timeout", "5s")
    (one,) = waited.get("tasks", [waited])
    assert [entry["approval_id"] for entry in one["pending_approvals"]] == [asked]


def test_rules_are_made_listed_tried_and_removed(asking: Asking) -> None:
    made = asking.json("approval", "rules", "add", "allow", "--command", "git  diff *")
    assert (made["command"], made["tool"], made["scope"]) == ("git diff *", "shell", "project")
    assert made["scope_ref"] == os.path.realpath(asking.project)
    denied = asking.json("approval", "rules", "add", "deny", "--command", "git diff --cached")
    assert asking.json("approval", "rules", "list") == {"rules": [made, denied]}

    def says(command: str) -> tuple[str, list[str]]:
        said = asking.json("approval", "rules", "test", command)
        return said["decision"], said["rules"]

    assert says("git diff --stat") == ("allow", [made["rule_id"]])
    assert says("git diff --cached x") == ("deny", [denied["rule_id"]])
    assert says("git diff > x") == ("ask", [])
    assert says("git push") == ("ask", [])
    assert asking.json("approval", "rules", "test", "--path", "a.txt")["decision"] == "allow"
    assert asking.json("approval", "rules", "test", "--path", "/etc/passwd")["decision"] == "ask"
    assert asking.json("approval", "rules", "remove", made["rule_id"]) == {"removed": [made]}
    assert says("git diff --stat") == ("ask", [])


def test_rules_that_could_not_be_meant_are_refused(asking: Asking) -> None:
    add = ("approval", "rules", "add")
    assert asking.error(*add, "allow") == (2, "empty_rule")
    assert asking.error(*add, "allow", "--command", "sudo *") == (2, "command_not_judged")
    assert asking.error(*add, "allow", "--command", "ls > x") == (2, "command_not_judged")
    assert asking.error(*add, "allow", "--command", "cuekit task *") == (2, "command_not_judged")
    assert asking.error(*add, "allow", "--tool", "sheel") == (2, "wrong_tool")
    assert asking.error(*add, "allow", "--tool", "edit", "--command", "x") == (2, "wrong_tool")
    assert asking.error("approval", "rules", "remove", "r_00000000") == (3, "rule_not_found")
    assert asking.json("approval", "rules", "list") == {"rules": []}


def test_a_task_may_not_change_the_rules_of_its_project(asking: Asking) -> None:
    asking.running(TASK)
    env = {"CUEKIT_TASK_ID": TASK}
    for words in (("--task", TASK), ()):
        done = asking.run(
            *("approval", "rules", "add", "allow", "--command", "ls", "--format", "json"),
            *words,
            env=env,
        )
        assert (done.returncode, json.loads(done.stderr)["error"]["code"]) == (4, "child_may_not")
    made = asking.json("approval", "rules", "add", "allow", "--command", "ls")
    done = asking.run("approval", "rules", "remove", made["rule_id"], env=env)
    assert done.returncode == 4
