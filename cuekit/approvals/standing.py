"""The rules that stand for one task: asked by whoever waits, added to by what is always allowed."""

import os
import sqlite3
import time
from collections.abc import Callable

from cuekit.approvals import rules
from cuekit.files import project_of
from cuekit.model.approval import ApprovalRequest, Decision, Risk, RuleScope
from cuekit.model.rule import Rule
from cuekit.store import rules as stored
from cuekit.store import tasks
from cuekit.store.approvals import Approval, request_of


def checker(
    db: sqlite3.Connection, task_id: str, cwd: str
) -> Callable[[ApprovalRequest, Risk], Decision | None]:
    """What decides a request of a task by rule; it reads the rules anew each time.

    `cwd` is the task's working directory.
    """

    def check(request: ApprovalRequest, risk: Risk) -> Decision | None:
        standing = stored.for_task(db, task_id, project_of(cwd))
        return rules.decide(request, risk, standing, root=cwd, resolve=os.path.realpath)

    return check


def rule_of(db: sqlite3.Connection, approval: Approval, decision: Decision) -> Rule:
    """The rule that an always-decision makes. Raises InvalidState (`no_rule_possible`)."""
    task = tasks.get(db, approval.task_id)
    root = task.cwd if task else approval.cwd or "/"
    scope = RuleScope(decision.scope or RuleScope.TASK)
    return rules.from_request(
        request_of(approval),
        rule_id=stored.new_rule_id(),
        scope=scope,
        scope_ref=approval.task_id if scope is RuleScope.TASK else project_of(root),
        made_by=decision.by,
        made_at=time.time(),
        from_approval=approval.approval_id,
        root=root,
        resolve=os.path.realpath,
    )
