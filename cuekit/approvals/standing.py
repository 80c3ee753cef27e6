"""The rules that stand for one task, as the coordinator and the hook of a pane ask them."""

import os
import sqlite3
from collections.abc import Callable

from cuekit.approvals import rules
from cuekit.files import project_root
from cuekit.model.approval import ApprovalRequest, Decision, Risk
from cuekit.store import rules as stored


def checker(
    db: sqlite3.Connection, task_id: str, cwd: str
) -> Callable[[ApprovalRequest, Risk], Decision | None]:
    """What decides a request of a task by rule; it reads the rules anew each time.

    `cwd` is the task's working directory.
    """

    def check(request: ApprovalRequest, risk: Risk) -> Decision | None:
        standing = stored.for_task(db, task_id, project_root(cwd))
        return rules.decide(request, risk, standing, root=cwd, resolve=os.path.realpath)

    return check
