"""What rules decide, and what they never do."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuekit.approvals import rules
from cuekit.approvals.risk import risk_of
from cuekit.errors import CuekitError
from cuekit.model.approval import (
    ApprovalRequest,
    Decision,
    DecisionKind,
    Option,
    Question,
    RuleScope,
)
from cuekit.model.rule import Effect, Rule

ROOT = "/project"


def rule(rule_id: str = "r_1", effect: Effect = Effect.ALLOW, **values: Any) -> Rule:
    plain: dict[str, Any] = {
        "agent_kind": None,
        "tool": None,
        "command": None,
        "path": None,
        "risk": None,
    }
    return Rule(
        rule_id,
        effect,
        RuleScope.PROJECT,
        ROOT,
        **{**plain, **values},
        made_by="ann",
        made_at=1.0,
    )


def deny(**values: Any) -> Rule:
    return rule("r_no", Effect.DENY, **values)


def asked(tool: str, native: str = "", **values: Any) -> ApprovalRequest:
    return ApprovalRequest("codex", tool, native or tool, values)


def shell(command: str, cwd: str | None = None) -> ApprovalRequest:
    return ApprovalRequest("codex", "shell", "exec_command", {"command": command}, cwd=cwd)


def decide(
    request: ApprovalRequest, *standing: Rule, root: str = ROOT, links: dict[str, str] | None = None
) -> tuple[str, str] | None:
    def resolve(path: str) -> str:
        plain = os.path.normpath(path)
        return (links or {}).get(plain, plain)

    found = rules.decide(request, risk_of(request), standing, root=root, resolve=resolve)
    if found is None:
        return None
    assert found.how == "rule"
    return str(found.kind), found.by


ALLOWED = ("allow", "rule:r_1")
DENIED = ("deny", "rule:r_no")


@pytest.mark.parametrize(
    ("pattern", "command", "fits"),
    [
        ("git status", "git status", True),
        ("git status", "git 'status'", True),
        ("git status", "/bin/bash -lc 'git status'", True),
        ("git status", "git status -s", False),
        ("git status", "/usr/bin/git status", False),
        ("git status *", "git status", True),
        ("git status *", "git status -s src", True),
        ("git status *", "git statusx", False),
        ("git status *", "git push", False),
        ("git *", "git log --oneline", True),
        ("git *", "git push", False),  # riskier than the pattern's own words
        ("git push *", "git push origin main", True),
        ("git push *", "git push --force", False),
        ("find . *", "find . -name x", True),
        ("find . *", "find . -delete", False),
        ("find . *", "find . -exec rm {} +", False),
        ("npm test", "npm test && npm test", True),
        ("npm test", "npm test && rm -rf x", False),
        ("npm test", "npm test > out", False),
        ("npm test", "npm test $X", False),
        ("npm test", "A=1 npm test", False),
        ("npm test", "npm test &", False),
        ("npm test", "npm test; $(rm x)", False),
        ("npm test && npm run lint", "npm test && npm run lint", True),
        ("npm test && npm run lint", "npm test || npm run lint", False),
        ("npm test && npm run lint", "npm run lint", False),
        ("echo 'a b'", "echo 'a b'", True),
        ("echo 'a b'", "echo a b", False),
        ("ls '*'", "ls '*'", True),
        ("ls '*'", "ls x", False),
    ],
)
def test_a_command_fits_word_for_word(pattern: str, command: str, fits: bool) -> None:
    kept = rules.checked_command(pattern)
    assert decide(shell(command), rule(command=kept)) == (ALLOWED if fits else None)


def test_every_part_needs_a_rule_and_all_that_were_used_are_named() -> None:
    two = (rule("r_1", command="git status"), rule("r_2", command="wc *"))
    assert decide(shell("git status | wc -l"), *two) == ("allow", "rule:r_1+r_2")
    assert decide(shell("git status | wc -l | sort"), *two) is None


def test_deny_comes_before_allow_and_fits_any_part() -> None:
    standing = (rule(command="git push *"), deny(command="git push"))
    assert decide(shell("git push origin"), *standing) == DENIED
    for command in (
        "ls && git push",
        "git push > x",
        "/usr/bin/git push",
        "sudo git push",
        "bash -c 'git push'",
        "if true; then git push; fi",
        "echo $(git push)",
        "xargs git push",
    ):
        assert decide(shell(command), *standing) == DENIED
    assert decide(shell("git pushx"), *standing) is None


def test_what_a_deny_rule_names_beside_the_command_must_fit_too() -> None:
    assert decide(shell("rm x"), deny(command="rm", agent_kind="grok")) is None
    assert decide(shell("rm x"), deny(risk="destructive")) == DENIED
    assert decide(shell("ls"), rule(command="ls"), deny(risk="destructive")) == ALLOWED
    assert decide(asked("fetch", url="https://x.test/a"), deny(tool="fetch")) == DENIED
    assert decide(asked("write", path="a"), deny(path="/project/**")) == DENIED
    assert decide(asked("read", path="a"), deny(path="/project/a")) == DENIED


def test_the_folder_of_a_command_is_part_of_what_is_allowed() -> None:
    here = rule(command="./run.sh", path="/project/a")
    assert decide(shell("./run.sh", "/project/a"), here) == ALLOWED
    assert decide(shell("./run.sh", "/project/b"), here) is None
    assert decide(shell("./run.sh", "/project/a/b"), here) is None
    assert decide(shell("./run.sh", "/project/a/b"), replace(here, path="/project/**")) == ALLOWED
    elsewhere = ApprovalRequest(
        "codex", "shell", "x", {"command": "./run.sh", "cwd": "/other"}, cwd="/project/a"
    )
    assert decide(elsewhere, here) is None


def test_a_risk_bounds_what_is_allowed() -> None:
    harmless = rule(tool="shell", risk="read")
    assert decide(shell("ls -l | wc"), harmless) == ALLOWED
    assert decide(shell("touch x"), harmless) is None
    assert decide(shell("unknown-program"), harmless) is None
    assert decide(shell("ls > x"), harmless) is None


def test_reading_inside_the_task_is_allowed_by_a_built_in_rule() -> None:
    built_in = ("allow", "rule:built-in")
    for request in (
        asked("read", path="a.txt"),
        asked("read", path="/project/sub/a.txt"),
        asked("list", path="/project"),
        asked("list"),
        asked("search", pattern="x.*", path="src"),
        asked("search", pattern="**/*.py"),
    ):
        assert decide(request) == built_in


@pytest.mark.parametrize(
    "request_",
    [
        asked("read", path="../other"),
        asked("read", path="/project/../etc/passwd"),
        asked("read", path="/projectx/a"),
        asked("read", path="~/x"),
        asked("read"),
        asked("read", path=""),
        asked("read", path="a\0b"),
        asked("read", path=3),
        asked("read", paths=["a", "/etc/passwd"]),
        asked("list", path="/"),
        asked("search", pattern="../../**"),
        asked("search", pattern="/etc/*"),
        asked("search", pattern="x", path="/etc"),
        asked("search", pattern="x", glob="../*"),
        asked("read", path=".cuekit/tasks/t/prompt.md"),
        asked("read", path=".cuekit.yaml"),
        asked("write", path="a.txt"),
        asked("edit", path="a.txt"),
        asked("shell", command="cat a.txt"),
        asked("fetch", url="https://x.test"),
        asked("mcp", "mcp__x__y"),
        asked("other"),
    ],
)
def test_anything_else_is_asked_for(request_: ApprovalRequest) -> None:
    assert decide(request_) is None


def test_a_link_that_leads_out_is_followed() -> None:
    links = {"/project/out/x": "/etc/x"}
    assert decide(asked("read", path="out/x"), links=links) is None
    edits = rule(tool="edit", path="/project/**")
    assert decide(asked("edit", path="in/x"), edits) == ALLOWED
    assert decide(asked("edit", path="out/x"), edits, links=links) is None


def test_real_links_are_resolved_by_the_checker(tmp_path: Path) -> None:
    from cuekit.approvals.standing import checker
    from cuekit.paths import Home
    from cuekit.store import db

    (tmp_path / "project").mkdir()
    (tmp_path / "secret").write_text("x")
    (tmp_path / "project" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "project" / "plain").write_text("x")
    with db.opened(Home(str(tmp_path / "home"))) as store:
        check = checker(store, "t_aaaaaaaa", str(tmp_path / "project"))
        for path, expected in (("plain", True), ("link", False), ("../secret", False)):
            request = asked("read", path=path)
            assert (check(request, risk_of(request)) is not None) is expected


def test_a_worktree_below_our_own_folder_is_as_good_as_another() -> None:
    root = "/project/.cuekit/worktrees/t_1"
    assert decide(asked("read", path="a"), root=root) is not None
    assert decide(asked("read", path=".cuekit/x"), root=root) is None


EVERYTHING = [
    rule(tool=tool, risk="destructive")
    for tool in (
        "shell",
        "read",
        "write",
        "edit",
        "question",
        "plan",
        "permissions",
        "mcp",
        "other",
    )
]


@pytest.mark.parametrize(
    "request_",
    [
        asked("question", "AskUserQuestion"),
        asked("other", "AskUserQuestion"),
        replace(asked("other"), questions=(Question("k", "What?"),)),
        asked("plan", "ExitPlanMode"),
        asked("other", "ExitPlanMode"),
        asked("permissions"),
        asked("edit", path="a", grantRoot="/project"),
        replace(asked("edit", path="a"), native={"grantRoot": "/"}),
        replace(asked("edit", path="a"), native={"params": {"grantRoot": "/"}}),
        replace(shell("ls"), native={"params": {"additionalPermissions": {"network": True}}}),
        replace(shell("ls"), native={"networkApprovalContext": {"host": "x"}}),
    ],
)
def test_no_rule_decides_what_a_person_must(request_: ApprovalRequest) -> None:
    assert decide(request_, *EVERYTHING) is None
    assert decide(request_, *[replace(one, effect=Effect.DENY) for one in EVERYTHING]) is None


@pytest.mark.parametrize(
    "command",
    [
        "cuekit approval list",
        "/home/ann/.local/bin/cuekit task list",
        "./cuekit",
        "python -m cuekit approval list",
        "python3 /opt/cuekit/__main__.py",
        "CUEKIT x",
        "ls && cuekit task list",
        "./innocent",
        "cat .cuekit/tasks/x",
        "rm .cuekit.yaml",
    ],
)
def test_cuekit_itself_is_allowed_by_no_rule(command: str) -> None:
    links = {"/project/innocent": "/usr/bin/cuekit"}
    assert decide(shell(command), rule(tool="shell", risk="destructive"), links=links) is None
    assert decide(shell(command), deny(tool="shell"), links=links) == DENIED


def test_the_tools_of_cuekit_itself_are_allowed_by_no_rule() -> None:
    for request in (asked("mcp", "mcp__cuekit__approve"), asked("mcp", "x", server="cuekit")):
        assert decide(request, rule(tool="mcp")) is None
    assert decide(asked("mcp", "mcp__x__y"), rule(tool="mcp:mcp__x__y")) == ALLOWED
    assert decide(asked("mcp", "mcp__x__z"), rule(tool="mcp:mcp__x__y")) is None


def test_several_files_must_all_fit() -> None:
    inside = rule(tool="edit", path="/project/src/**")
    changes = [{"path": "src/a", "kind": "update"}, {"path": "src/b", "kind": "add"}]
    assert decide(asked("edit", changes=changes), inside) == ALLOWED
    assert decide(asked("edit", changes=[*changes, {"path": "b"}]), inside) is None
    moved = [{"path": "src/a", "move_path": "/etc/a"}]
    assert decide(asked("edit", changes=moved), inside) is None
    assert decide(asked("edit", changes=[{"kind": "add"}]), inside) is None


def from_request(request: ApprovalRequest) -> Rule:
    return rules.from_request(
        request,
        rule_id="r_1",
        scope=RuleScope.TASK,
        scope_ref="t_aaaaaaaa",
        made_by="ann",
        made_at=2.0,
        from_approval="a_1",
        root=ROOT,
        resolve=os.path.normpath,
    )


@pytest.mark.parametrize(
    "request_",
    [
        shell("git add 'a b' && git commit -m x", "/project/sub"),
        shell("/bin/bash -lc 'ls -la'"),
        shell("ls '*' a"),
        asked("edit", path="src/a.py"),
        asked("write", path="/elsewhere/b"),
        asked("fetch", url="https://x.test/a?b=c"),
        asked("mcp", "mcp__x__y", any=1),
        asked("web_search", query="x"),
    ],
)
def test_always_allows_exactly_this_again(request_: ApprovalRequest) -> None:
    made = from_request(request_)
    assert (made.scope, made.scope_ref, made.made_by, made.from_approval) == (
        "task",
        "t_aaaaaaaa",
        "ann",
        "a_1",
    )
    assert decide(request_, made) == ALLOWED
    for other in (
        shell("git add 'a b'", "/project/sub"),
        shell("ls"),
        asked("edit", path="src/b.py"),
        asked("fetch", url="https://x.test/a"),
        asked("mcp", "mcp__x__z"),
    ):
        assert decide(other, made) is None
    assert decide(replace(request_, agent_kind="claude-code"), made) is None


@pytest.mark.parametrize(
    "request_",
    [
        shell("ls > x"),
        shell("sudo ls"),
        shell("cuekit task list"),
        shell(""),
        asked("question", "AskUserQuestion"),
        asked("plan", "ExitPlanMode"),
        asked("permissions"),
        asked("edit", changes=[{"path": "a"}, {"path": "b"}]),
        asked("edit"),
        asked("edit", path="a", grantRoot="/project"),
    ],
)
def test_always_is_refused_where_a_rule_cannot_say_it(request_: ApprovalRequest) -> None:
    with pytest.raises(CuekitError) as caught:
        from_request(request_)
    assert (caught.value.exit_status, caught.value.code) == (4, "no_rule_possible")


def test_options_of_the_agent_change_nothing() -> None:
    request = replace(shell("ls"), options=(Option("x", "Always", "allow_always"),))
    found = rules.decide(
        request, risk_of(request), [rule(command="ls")], root=ROOT, resolve=os.path.normpath
    )
    assert found == Decision(DecisionKind.ALLOW, by="rule:r_1", how="rule")


def test_a_rule_that_asks_takes_the_built_in_leave_to_read_away() -> None:
    reading = asked("read", path="a.txt")
    ask = rule("r_ask", Effect.ASK, tool="read")
    assert decide(reading) is not None
    assert decide(reading, ask) is None
    assert decide(reading, ask, rule("r_yes", tool="read", path="/p/**")) is None
    assert decide(asked("list", path="."), ask) is not None
