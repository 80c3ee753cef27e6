"""What the user's configuration says about approvals, as rules of the task that is submitted."""

import sqlite3
import time
from dataclasses import replace
from typing import Any

from cuekit.agents.inbox import HANDOVER, OPTION
from cuekit.config.effective import Effective
from cuekit.errors import CuekitError, InvalidInput
from cuekit.model.approval import RuleScope
from cuekit.model.event import Tool
from cuekit.model.rule import Effect, Rule

PREALLOWED = (Tool.READ, Tool.LIST, Tool.SEARCH)
"""Tools that only read; inside the working folder a built-in rule allows them."""


def configured(effective: Effective, cwd: str) -> tuple[Rule, ...]:
    """The rules of the configuration, for a task that has no id yet.

    Raises InvalidInput (`config_invalid`) with the place of the rules.
    """
    settings = effective.approvals
    source = effective.sources.get("approvals.rules", "the configuration")
    found = [_rule(said, number, source, cwd) for number, said in enumerate(settings.rules, 1)]
    if settings.preallow is not None:
        place = effective.sources.get("approvals.preallow", "the configuration")
        found += [
            _made(effect=Effect.ASK, tool=str(tool), made_by=place)
            for tool in PREALLOWED
            if tool not in settings.preallow
        ]
    return tuple(found)


def store(db: sqlite3.Connection, rules: tuple[Rule, ...], task_id: str) -> None:
    """Store those rules as a task's own, within the transaction that stores the task."""
    if rules:
        from cuekit.store.rules import insert_within, new_rule_id

        insert_within(
            db, [replace(rule, rule_id=new_rule_id(), scope_ref=task_id) for rule in rules]
        )


def hand_over(options: dict[str, Any], effective: Effective) -> dict[str, Any]:
    """Fill in how long an approval of a TUI stays in the inbox; what was filled in."""
    seconds = effective.approvals.handover_s
    if seconds is None or options.get(OPTION) != "inbox" or HANDOVER in options:
        return {}
    options[HANDOVER] = seconds
    source = effective.sources.get("approvals.handover", "the configuration")
    return {f"adapter_options.{HANDOVER}": {"value": seconds, "source": source}}


def _rule(said: Any, number: int, source: str, cwd: str) -> Rule:
    from cuekit.service import rules

    try:
        return _made(
            made_by=source,
            **rules.fields(
                effect=said["effect"],
                folder=cwd,
                **{name: text for name, text in said.items() if name != "effect"},
            ),
        )
    except CuekitError as error:
        raise InvalidInput(
            f"{source}: approvals.rules: rule {number}: {error.message}",
            code="config_invalid",
            hint=error.hint,
        ) from None


def _made(*, made_by: str, effect: Effect, **values: Any) -> Rule:
    empty = {"agent_kind": None, "tool": None, "command": None, "path": None, "risk": None}
    return Rule(
        rule_id="",
        effect=effect,
        scope=RuleScope.TASK,
        scope_ref="",
        made_by=made_by,
        made_at=time.time(),
        **{**empty, **values},
    )
