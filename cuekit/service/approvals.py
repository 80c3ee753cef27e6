"""The inbox of approvals: listing, showing, deciding. The first decision wins, once."""

import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from cuekit.errors import InvalidInput, InvalidState, NotFound
from cuekit.model.approval import ApprovalState, Decision, DecisionKind, RuleScope
from cuekit.model.times import rfc3339
from cuekit.paths import Home
from cuekit.service import acting, lookup
from cuekit.store import approvals
from cuekit.store.approvals import Approval

Json = dict[str, Any]
WATCH_SECONDS = 1.0
SHORTEST_PREFIX = 4
HIDDEN = "(secret)"
VERBS = {
    DecisionKind.ALLOW: "allowed",
    DecisionKind.ALLOW_ALWAYS: "always allowed",
    DecisionKind.DENY: "denied",
    DecisionKind.ANSWER: "answered",
    DecisionKind.CANCEL_RUN: "answered by ending the run",
    DecisionKind.HANDOVER: "handed to the pane",
}


def list_approvals(
    environ: Mapping[str, str],
    *,
    task: str | None = None,
    everything: bool = False,
    most: int = 1000,
) -> list[Json]:
    """The approvals that wait, oldest first; with `everything` the ended ones as well.

    `most`: of more than so many, only the newest are given.
    """
    with lookup.settled_store(environ) as (_, db):
        task_id = lookup.resolve_one(db, task).task_id if task is not None else None
        state = None if everything else str(ApprovalState.PENDING)
        return [view(one) for one in approvals.listed(db, state=state, task_id=task_id, most=most)]


def show(ref: str, environ: Mapping[str, str]) -> Json:
    """All that is known of one approval; here a unique prefix of its id will do."""
    with lookup.settled_store(environ) as (_, db):
        return full_view(_by_prefix(db, ref))


def decide(ref: str, decision: Decision, environ: Mapping[str, str]) -> Json:
    """Decide a pending approval; the approval after it. `ref` is the full id.

    Raises NotFound (`approval_not_found`), InvalidState (`already_decided`, `approval_over`,
    `not_offered`, `no_rule_possible`, `child_may_not`) and InvalidInput for values that do not
    fit the request. `by` and `how` of the decision are set here unless they are given.
    """
    with lookup.settled_store(environ) as (home, db):
        approval = _exact(db, ref)
        acting.check_may_act_on(db, approval.task_id, environ, "decide")
        if decision.scope == RuleScope.PROJECT:
            acting.check_no_child(environ, "make a rule for a project")
        _refuse_over(approval)
        from cuekit.service import offers

        checked = offers.checked(approval, decision)
        by = checked.by if checked.by != "nobody" else acting.actor(environ)
        return decide_here(home, db, approval, replace(checked, by=by, how=checked.how or "shell"))


def decide_here(home: Home, db: sqlite3.Connection, approval: Approval, decision: Decision) -> Json:
    """Store a checked decision, make its rule, wake the asker; the approval after it."""
    from cuekit.launch import notify

    rule = None
    if decision.kind is DecisionKind.ALLOW_ALWAYS:
        from cuekit.approvals.standing import rule_of

        rule = rule_of(db, approval, decision)
    if not approvals.decide(db, approval.approval_id, decision):
        _refuse_over(_exact(db, approval.approval_id))
    if rule is not None:  # before the agent hears of it, so that its next request is covered
        from cuekit.store import rules

        rules.insert(db, rule)
    notify.wake(home.run(approval.task_id))
    return view(_exact(db, approval.approval_id))


def handover(ref: str, environ: Mapping[str, str]) -> Json:
    """Give an approval back to the agent's own dialog in its pane."""
    return decide(ref, Decision(DecisionKind.HANDOVER), environ)


def watch(environ: Mapping[str, str], *, task: str | None = None) -> Iterator[Json]:
    """The approvals that wait, then each new one and each end of one, for ever."""
    from cuekit.launch.notify import Waiter
    from cuekit.service import pending, settle
    from cuekit.store import tasks

    with lookup.settled_store(environ) as (home, db):
        wanted = lookup.resolve_one(db, task).task_id if task is not None else None
        shown: dict[str, str] = {}
        since = time.time()
        while True:
            live = [one.task_id for one in tasks.active(db) if wanted in (None, one.task_id)]
            with Waiter([home.run(task_id) for task_id in live]) as waiter:
                for one in _changed(db, wanted, since, shown):
                    shown[one.approval_id] = one.state
                    yield view(one)
                waiter.wait(WATCH_SECONDS)
            settle.reconcile(home, db, environ)
            pending.settle(home, db)


def _changed(
    db: sqlite3.Connection, task_id: str | None, since: float, shown: Mapping[str, str]
) -> list[Approval]:
    """What is new or has ended, in the order in which it was asked."""
    waiting = {one.approval_id: one for one in approvals.listed(db, state="pending", most=10_000)}
    known = [approvals.get(db, one) for one, state in shown.items() if state == "pending"]
    ended = {one.approval_id: one for one in approvals.ended_since(db, since)}
    every = {**ended, **{one.approval_id: one for one in known if one}, **waiting}
    return sorted(
        (
            one
            for one in every.values()
            if shown.get(one.approval_id) != one.state and task_id in (None, one.task_id)
        ),
        key=lambda one: one.requested_at,
    )


def completions(prefix: str, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Ids of approvals that wait, each with a word about it; for the shell's TAB.

    Reads only: nothing is made, nothing is settled, and nothing is ever raised.
    """
    import os

    from cuekit.errors import CuekitError
    from cuekit.paths import home_from
    from cuekit.store.db import opened

    try:
        home = home_from(environ)
        if not os.path.exists(home.database):
            return []
        with opened(home) as db:
            waiting = approvals.listed(db, state=str(ApprovalState.PENDING))
    except (CuekitError, sqlite3.Error, OSError):
        return []
    return [
        (one.approval_id, f"{one.task_id}, {one.tool}, {one.risk}")
        for one in reversed(waiting)
        if one.approval_id.startswith(prefix)
    ]


def view(approval: Approval) -> Json:
    """The object of `approval list`, and of each decision."""
    return {
        "approval_id": approval.approval_id,
        "task_id": approval.task_id,
        "agent_kind": approval.agent_kind,
        "tool": approval.tool,
        "input": approval.input,
        "risk": approval.risk,
        "options": approval.options,
        "state": approval.state,
        "requested_at": rfc3339(approval.requested_at),
        "decision": _decision_view(approval),
        "decided_by": approval.decided_by,
        "decided_at": _time(approval.decided_at),
    }


def full_view(approval: Approval) -> Json:
    """The object of `approval show`."""
    return view(approval) | {
        "native_tool": approval.native_tool,
        "reason": approval.reason,
        "cwd": approval.cwd,
        "questions": approval.questions,
        "may": _may(approval),
        "how": approval.decided_how,
        "delivered_at": _time(approval.delivered_at),
    }


def _may(approval: Approval) -> list[str]:
    """The answers that it takes."""
    from cuekit.service import offers

    return [str(kind) for kind in offers.offered(approval)]


def _decision_view(approval: Approval) -> Json | None:
    """What was decided, without what was not said, and without secrets."""
    if approval.decision is None:
        return None
    said = {
        name: value
        for name, value in approval.decision.items()
        if value is not None and name not in ("by", "how")
    }
    secret = {question["key"] for question in approval.questions if question.get("secret")}
    if "answers" in said:
        said["answers"] = {
            key: [HIDDEN] if key in secret else values for key, values in said["answers"].items()
        }
    return said


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else rfc3339(seconds)


def _exact(db: sqlite3.Connection, ref: str) -> Approval:
    approval = approvals.get(db, ref)
    if approval is None:
        raise NotFound(
            f"no approval has the id {ref!r}",
            code="approval_not_found",
            hint="cuekit approval list --all; a decision takes the full id",
        )
    return approval


def _by_prefix(db: sqlite3.Connection, ref: str) -> Approval:
    if len(ref) < SHORTEST_PREFIX:
        raise InvalidInput(
            f"{ref!r} is too short: give {SHORTEST_PREFIX} characters or more of the id",
            code="short_prefix",
            hint="cuekit approval list",
        )
    found = approvals.with_prefix(db, ref)
    if len(found) > 1:
        raise InvalidInput(
            f"{ref!r} fits more than one approval: {', '.join(found)}",
            code="ambiguous_id",
            hint="give more of the id",
            details={"candidates": found},
        )
    return _exact(db, found[0] if found else ref)


def _refuse_over(approval: Approval) -> None:
    """Raises InvalidState for an approval that waits no more, and says who or what ended it."""
    if approval.state == ApprovalState.PENDING:
        return
    details = {
        "approval_id": approval.approval_id,
        "state": approval.state,
        "decision": _decision_view(approval),
        "decided_by": approval.decided_by,
        "decided_at": _time(approval.decided_at),
    }
    if approval.state != ApprovalState.DECIDED or approval.decision is None:
        why = f": {approval.decided_how}" if approval.decided_how else ""
        raise InvalidState(
            f"the approval {approval.approval_id} was {approval.state}{why}",
            code="approval_over",
            hint="cuekit approval list",
            details=details,
        )
    verb = VERBS.get(DecisionKind(approval.decision["kind"]), "decided")
    raise InvalidState(
        f"the approval {approval.approval_id} was {verb} by {approval.decided_by} "
        f"at {details['decided_at']} already",
        code="already_decided",
        hint=f"cuekit approval show {approval.approval_id}",
        details=details,
    )
