"""The always-rules: listing, adding, removing, and trying one out."""

import os
import sqlite3
import time
from collections.abc import Mapping
from typing import Any

from cuekit.errors import InvalidInput, NotFound
from cuekit.model.approval import ApprovalRequest, Risk, RuleScope
from cuekit.model.event import Tool
from cuekit.model.rule import Effect, Rule
from cuekit.model.times import rfc3339
from cuekit.service import acting, lookup
from cuekit.store import rules, tasks

Json = dict[str, Any]


def list_rules(environ: Mapping[str, str], *, everything: bool = False) -> list[Json]:
    """The rules of the project that the caller stands in and of its tasks, or all of them."""
    with lookup.settled_store(environ) as (_, db):
        found = rules.all_rules(db)
        if not everything:
            here = lookup.project_of(lookup.current_folder())
            found = [rule for rule in found if _project_of(db, rule) == here]
        return [view(rule) for rule in found]


def add(
    environ: Mapping[str, str],
    *,
    effect: str,
    task: str | None = None,
    agent_kind: str | None = None,
    tool: str | None = None,
    command: str | None = None,
    path: str | None = None,
    risk: str | None = None,
) -> Json:
    """Make a rule for a task, or for the project that the caller stands in.

    Raises InvalidInput (`empty_rule`, `command_not_judged`, `wrong_tool`, `wrong_path`).
    """
    with lookup.settled_store(environ) as (_, db):
        if task is None:
            acting.check_no_child(environ, "make a rule for a project")
            scope, ref = RuleScope.PROJECT, lookup.project_of(lookup.current_folder())
            folder = lookup.current_folder()
        else:
            found = lookup.resolve_one(db, task)
            acting.check_may_act_on(db, found.task_id, environ, "make rules that change")
            scope, ref, folder = RuleScope.TASK, found.task_id, found.cwd
        rule = Rule(
            rule_id=rules.new_rule_id(),
            scope=scope,
            scope_ref=ref,
            made_by=acting.actor(environ),
            made_at=time.time(),
            **fields(
                effect=effect,
                folder=folder,
                agent_kind=agent_kind,
                tool=tool,
                command=command,
                path=path,
                risk=risk,
            ),
        )
        rules.insert(db, rule)
        return view(rule)


def fields(
    *,
    effect: str,
    folder: str,
    agent_kind: str | None = None,
    tool: str | None = None,
    command: str | None = None,
    path: str | None = None,
    risk: str | None = None,
) -> dict[str, Any]:
    """What a rule fits, checked; relative paths start at `folder`. Raises as `add`."""
    _refuse_empty(tool, command, path, risk)
    return {
        "effect": Effect(effect),
        "agent_kind": _kind(agent_kind),
        "tool": _tool(tool, command),
        "command": _command(command, Effect(effect)),
        "path": _path(path, folder, tool),
        "risk": risk,
    }


def remove(rule_id: str, environ: Mapping[str, str]) -> Json:
    """Forget a rule; the rule as it was. Raises NotFound (`rule_not_found`)."""
    with lookup.settled_store(environ) as (_, db):
        rule = rules.get(db, rule_id)
        if rule is None:
            raise NotFound(
                f"no rule has the id {rule_id!r}",
                code="rule_not_found",
                hint="cuekit approval rules list --all",
            )
        if rule.scope is RuleScope.TASK:
            acting.check_may_act_on(db, rule.scope_ref, environ, "remove rules that change")
        else:
            acting.check_no_child(environ, "remove a rule of a project")
        rules.remove(db, rule_id)
        return view(rule)


def try_out(
    environ: Mapping[str, str],
    *,
    command: str | None = None,
    path: str | None = None,
    tool: str | None = None,
    agent_kind: str | None = None,
    task: str | None = None,
) -> Json:
    """What the rules would say: `{decision, rules, risk, judged}`; nothing is changed."""
    from cuekit.approvals import risk as risks
    from cuekit.approvals import rules as judge
    from cuekit.approvals import shellwords

    if (command is None) == (path is None):
        raise InvalidInput("give a command, or --path with --tool", code="usage")
    with lookup.settled_store(environ) as (_, db):
        found = lookup.resolve_one(db, task) if task is not None else None
        folder = found.cwd if found else lookup.current_folder()
        standing = rules.for_task(db, found.task_id if found else "", lookup.project_of(folder))
    asked_tool = str(Tool.SHELL) if command is not None else _tool(tool, None) or str(Tool.READ)
    plain_tool, _, native = asked_tool.partition(":")
    request = ApprovalRequest(
        agent_kind=_kind(agent_kind) or (found.agent_kind if found else ""),
        tool=plain_tool,
        native_tool=native,
        input={"command": command} if command is not None else _place(plain_tool, path or ""),
        cwd=folder,
    )
    risk = risks.risk_of(request)
    decision = judge.decide(request, risk, standing, root=folder, resolve=os.path.realpath)
    judged = command is None or shellwords.parts(command) is not None
    return {
        "decision": str(decision.kind) if decision else "ask",
        "rules": decision.by.removeprefix("rule:").split("+") if decision else [],
        "risk": str(risk),
        "judged": judged,
    }


def view(rule: Rule) -> Json:
    """The object of `approval rules list`."""
    return rule.as_json() | {"made_at": rfc3339(rule.made_at)}


def _project_of(db: sqlite3.Connection, rule: Rule) -> str | None:
    if rule.scope is RuleScope.PROJECT:
        return rule.scope_ref
    task = tasks.get(db, rule.scope_ref)
    return lookup.project_of(task.cwd) if task else None


def _kind(agent_kind: str | None) -> str | None:
    if agent_kind is None:
        return None
    from cuekit.agents import registry

    return str(registry.get(agent_kind).KIND)


def _tool(tool: str | None, command: str | None) -> str | None:
    if command is not None and tool not in (None, Tool.SHELL):
        raise InvalidInput("a rule with a command is about the tool 'shell'", code="wrong_tool")
    plain = (tool or "").partition(":")[0]
    if tool is not None and plain not in list(Tool):
        raise InvalidInput(
            f"no tool {tool!r}", code="wrong_tool", hint=f"there is {', '.join(Tool)}"
        )
    return str(Tool.SHELL) if command is not None else tool


def _command(command: str | None, effect: Effect) -> str | None:
    if command is None:
        return None
    if effect is Effect.DENY:  # it fits by the first words, also inside of longer commands
        import shlex

        try:
            words = shlex.split(command)
        except ValueError:
            words = []
        if not words:
            raise InvalidInput(
                f"{command!r} is no command", code="command_not_judged", hint="for example: rm -r"
            )
        return command
    from cuekit.approvals.rules import checked_command

    return checked_command(command)


def _path(path: str | None, folder: str, tool: str | None) -> str | None:
    if path is None or tool == Tool.FETCH:
        return path
    if not path or "\0" in path:
        raise InvalidInput(f"{path!r} is no path", code="wrong_path")
    inside = path.endswith("/**") or path == "**"
    plain = path.removesuffix("**").rstrip("/") if inside else path
    base = (
        "/"
        if not plain and path.startswith("/")
        else os.path.join(folder, os.path.expanduser(plain))
    )
    resolved = os.path.realpath(base)
    return resolved.rstrip("/") + "/**" if inside else resolved


def _place(tool: str, path: str) -> Json:
    return {"url": path} if tool == Tool.FETCH else {"path": path}


def _refuse_empty(*what: str | None) -> None:
    """An allow rule must name something: without it, everything would be allowed."""
    risk = what[-1]
    if risk is not None and risk not in list(Risk):
        raise InvalidInput(f"no risk {risk!r}", code="wrong_risk", hint=", ".join(Risk))
    if all(value is None for value in what):
        raise InvalidInput(
            "a rule needs a command, a path, a tool or a risk",
            code="empty_rule",
            hint="cuekit approval rules add --help",
        )
