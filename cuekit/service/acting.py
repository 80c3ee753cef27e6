"""Who gives a decision, and on which tasks: a child never acts on itself or on its elders."""

import sqlite3
from collections.abc import Mapping

from cuekit.errors import InvalidState
from cuekit.store import tasks

TASK_VARIABLE = "CUEKIT_TASK_ID"
DEEPEST = 16


def actor(environ: Mapping[str, str]) -> str:
    """The name under which a decision is recorded: the user, or the task that acts as parent."""
    acting = environ.get(TASK_VARIABLE)
    return f"parent:{acting}" if acting else user_name()


def user_name() -> str:
    """The name of the user of this process, else the number."""
    import os
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def check_may_act_on(
    db: sqlite3.Connection, task_id: str, environ: Mapping[str, str], what: str
) -> None:
    """Raises InvalidState (`child_may_not`) for a task that acts on one not of its own making."""
    acting = environ.get(TASK_VARIABLE)
    if not acting or _is_descendant(db, task_id, acting):
        return
    own = task_id == acting
    raise InvalidState(
        f"the task {acting} may not {what} {'its own' if own else f'those of {task_id}'}: "
        "a task acts on the tasks that it started, and on no other",
        code="child_may_not",
        hint="ask the person or the task that started this one",
        details={"task_id": task_id, "acting": acting},
    )


def check_no_child(environ: Mapping[str, str], what: str) -> None:
    """Raises InvalidState (`child_may_not`) where a person's own word is needed."""
    acting = environ.get(TASK_VARIABLE)
    if acting:
        raise InvalidState(
            f"the task {acting} may not {what}",
            code="child_may_not",
            hint="ask the person who started it",
            details={"acting": acting},
        )


def _is_descendant(db: sqlite3.Connection, task_id: str, elder: str) -> bool:
    current = tasks.get(db, task_id)
    for _ in range(DEEPEST):
        if current is None or current.parent_task_id is None:
            return False
        if current.parent_task_id == elder:
            return True
        current = tasks.get(db, current.parent_task_id)
    return False
