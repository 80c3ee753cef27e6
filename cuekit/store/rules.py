"""The always-rules in the store."""

import os
import sqlite3
from collections.abc import Sequence
from dataclasses import astuple, fields

from cuekit.model.approval import RuleScope
from cuekit.model.rule import Effect, Rule
from cuekit.store.db import writing

_COLUMNS = tuple(field.name for field in fields(Rule))


def new_rule_id() -> str:
    """A random id."""
    return "r_" + os.urandom(4).hex()


def insert(db: sqlite3.Connection, rule: Rule) -> None:
    """Store a rule."""
    with writing(db):
        insert_within(db, [rule])


def insert_within(db: sqlite3.Connection, found: Sequence[Rule]) -> None:
    """Store rules within a transaction of the caller's."""
    marks = ", ".join("?" for _ in _COLUMNS)
    for rule in found:
        db.execute(
            f"INSERT INTO rule ({', '.join(_COLUMNS)}) VALUES ({marks})",  # noqa: S608
            astuple(rule),
        )


def remove(db: sqlite3.Connection, rule_id: str) -> bool:
    """Forget a rule; False when there is none of that id."""
    with writing(db):
        return db.execute("DELETE FROM rule WHERE rule_id = ?", (rule_id,)).rowcount == 1


def get(db: sqlite3.Connection, rule_id: str) -> Rule | None:
    """The rule of exactly that id."""
    row = db.execute("SELECT * FROM rule WHERE rule_id = ?", (rule_id,)).fetchone()
    return _rule(row) if row else None


def all_rules(db: sqlite3.Connection) -> list[Rule]:
    """Every rule, oldest first."""
    return [_rule(row) for row in db.execute("SELECT * FROM rule ORDER BY made_at, rowid")]


def for_task(db: sqlite3.Connection, task_id: str, project: str) -> list[Rule]:
    """The rules that hold for a task of a project, oldest first."""
    rows = db.execute(
        "SELECT * FROM rule WHERE (scope = 'task' AND scope_ref = ?)"
        " OR (scope = 'project' AND scope_ref = ?) ORDER BY made_at, rowid",
        (task_id, project),
    )
    return [_rule(row) for row in rows]


def _rule(row: sqlite3.Row) -> Rule:
    values = {name: row[name] for name in _COLUMNS}
    values["effect"] = Effect(values["effect"])
    values["scope"] = RuleScope(values["scope"])
    return Rule(**values)
