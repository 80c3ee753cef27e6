"""`cuekit approval rules`: what is always allowed, and what never."""

import os
from typing import Any

import click

from cuekit.cli import render
from cuekit.cli.groups import Entry, LazyGroup
from cuekit.cli.options import TASK, command, format_option
from cuekit.model.approval import Risk
from cuekit.model.visible import exact

COMMANDS = {
    "list": Entry("cuekit.cli.approval_rules", "list_rules", "List the rules."),
    "add": Entry("cuekit.cli.approval_rules", "add", "Make a rule."),
    "remove": Entry("cuekit.cli.approval_rules", "remove", "Forget rules."),
    "test": Entry("cuekit.cli.approval_rules", "test_rules", "See what the rules would say."),
}

group = LazyGroup(
    "rules",
    COMMANDS,
    help="See and change the always-rules.\n\nDeny comes before allow. A command that is more "
    "than plain words, or that runs another program, no rule allows: then a person is asked.",
    examples=(
        "cuekit approval rules list",
        "cuekit approval rules add allow --command 'git diff *'",
        "cuekit approval rules add deny --command 'git push'",
        "cuekit approval rules test 'git diff --stat && git push'",
    ),
)


@command(
    "list",
    help="List the rules of the project that you are in and of its tasks, oldest first.",
    short_help="List the rules.",
    examples=("cuekit approval rules list", "cuekit approval rules list --all --format json"),
)
@click.option("--all", "everything", is_flag=True, help="Those of other projects as well.")
@format_option
def list_rules(everything: bool, fmt: str) -> None:
    """Print a table, or `{rules: [...]}`."""
    from cuekit.service import rules

    found = rules.list_rules(os.environ, everything=everything)
    render.emit({"rules": found}, fmt, table)


@command(
    "add",
    help="Make a rule for the project that you are in, or for one task.\n\n"
    "A command is taken word for word; ' *' at its end lets further arguments follow, as long as "
    "they do not make it riskier. A path is exact; '/**' at its end means everything inside. With "
    "a command, the path is the folder that it runs in. A risk means: no worse than (deny: at "
    "least).",
    short_help="Make a rule.",
    examples=(
        "cuekit approval rules add allow --command 'npm test'",
        "cuekit approval rules add allow --command 'git diff *' --agent-kind codex",
        "cuekit approval rules add allow --tool edit --path 'src/**'",
        "cuekit approval rules add deny --command 'rm -r' --task @last",
    ),
)
@click.argument("effect", type=click.Choice(["allow", "deny"]))
@click.option("--task", type=TASK, metavar="ID", help="For this task alone.")
@click.option("--agent-kind", metavar="KIND", help="For this kind of agent alone.")
@click.option("--tool", metavar="TOOL", help="shell, read, write, edit, fetch, mcp:NAME, ...")
@click.option("--command", metavar="WORDS", help="A command, word for word.")
@click.option("--path", metavar="PATH", help="A file or folder; for fetch, an address.")
@click.option("--risk", type=click.Choice([str(risk) for risk in Risk]), help="How far it reaches.")
@format_option
def add(
    effect: str,
    task: str | None,
    agent_kind: str | None,
    tool: str | None,
    command: str | None,
    path: str | None,
    risk: str | None,
    fmt: str,
) -> None:
    """Store the rule and print it."""
    from cuekit.service import rules

    made = rules.add(
        os.environ,
        effect=effect,
        task=task,
        agent_kind=agent_kind,
        tool=tool,
        command=command,
        path=path,
        risk=risk,
    )
    render.emit(made, fmt, line)


@command(
    "remove",
    help="Forget rules.",
    short_help="Forget rules.",
    examples=("cuekit approval rules remove r_3c9d01aa",),
)
@click.argument("rules", metavar="ID...", nargs=-1, required=True)
@format_option
def remove(rules: tuple[str, ...], fmt: str) -> None:
    """Remove each, and print what it was."""
    from cuekit.service import rules as service

    removed = [service.remove(rule_id, os.environ) for rule_id in rules]
    render.emit({"removed": removed}, fmt, _removed)


@command(
    "test",
    help="See what the rules would say of a command, or of a path and a tool; nothing is run.",
    short_help="See what the rules would say.",
    examples=(
        "cuekit approval rules test 'git status -s'",
        "cuekit approval rules test --tool edit --path src/main.py --task @last",
    ),
)
@click.argument("command_line", metavar="[COMMAND]", required=False)
@click.option("--path", metavar="PATH", help="A file or folder instead of a command.")
@click.option("--tool", metavar="TOOL", help="With --path: read (the default), write, edit, ...")
@click.option("--agent-kind", metavar="KIND", help="As if this kind of agent asked.")
@click.option("--task", type=TASK, metavar="ID", help="As if this task asked.")
@format_option
def test_rules(
    command_line: str | None,
    path: str | None,
    tool: str | None,
    agent_kind: str | None,
    task: str | None,
    fmt: str,
) -> None:
    """Print what would be decided, by which rules."""
    from cuekit.service import rules

    said = rules.try_out(
        os.environ, command=command_line, path=path, tool=tool, agent_kind=agent_kind, task=task
    )
    render.emit(said, fmt, _tried)


def table(found: dict[str, Any]) -> str:
    """The rules as a table."""
    if not found["rules"]:
        return "there are no rules here"
    rows = [
        [one["rule_id"], one["effect"], _holds_for(one), _about(one), one["made_by"]]
        for one in found["rules"]
    ]
    return render.table(("RULE", "EFFECT", "FOR", "WHAT", "BY"), rows, render.screen_width())


def line(one: dict[str, Any]) -> str:
    """One rule as one line."""
    return f"{one['rule_id']}  {one['effect']}  {_holds_for(one)}  {_about(one)}"


def _holds_for(one: dict[str, Any]) -> str:
    if one["scope"] == "task":
        return str(one["scope_ref"])
    return f"project {exact(one['scope_ref'])}"


def _about(one: dict[str, Any]) -> str:
    said = [
        exact(one["command"]) if one["command"] else "",
        one["tool"] if one["tool"] and not one["command"] else "",
        ("in " if one["command"] else "") + exact(one["path"]) if one["path"] else "",
        f"risk {one['risk']}" if one["risk"] else "",
        f"({one['agent_kind']})" if one["agent_kind"] else "",
    ]
    return " ".join(part for part in said if part)


def _removed(done: dict[str, Any]) -> str:
    return "\n".join(f"removed {line(one)}" for one in done["removed"])


def _tried(said: dict[str, Any]) -> str:
    risk = f"risk {said['risk']}"
    if said["decision"] == "ask":
        why = "" if said["judged"] else ", since no rule can judge this command"
        return f"a person is asked{why} ({risk})"
    return f"{said['decision']} by {', '.join(said['rules'])} ({risk})"
