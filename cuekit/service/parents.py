"""What a parent that is an agent may do: with what it submitted itself, and as the user lets it."""

from collections.abc import Mapping, Sequence

from cuekit.config import load
from cuekit.errors import InvalidState
from cuekit.model.approval import Decision
from cuekit.paths import home_from
from cuekit.service import acting, approvals, lookup
from cuekit.service.views import Json
from cuekit.store import approvals as stored


def check_may_act(refs: Sequence[str], environ: Mapping[str, str], what: str) -> None:
    """Raises InvalidState (`child_may_not`) where a task acts on one that is not its own child."""
    if not environ.get(acting.TASK_VARIABLE):
        return
    with lookup.settled_store(environ) as (_, db):
        for task in lookup.resolve_all(db, refs):
            acting.check_may_act_on(db, task.task_id, environ, what)


def decide(ref: str, decision: Decision, session_id: str, environ: Mapping[str, str]) -> Json:
    """Decide an approval of a task that this session submitted; the approval after it.

    Raises InvalidState (`parents_may_not`, `not_of_this_session`) and as `approvals.decide`.
    """
    home = home_from(environ)
    if load.effective("/", home, environ).parents.approvals != "allow":
        raise InvalidState(
            "parents may not decide approvals here",
            code="parents_may_not",
            hint=f"the user decides with cuekit approval; or sets approvals: {{parents: allow}} "
            f"in {home.config}",
        )
    with lookup.settled_store(environ) as (_, db):
        approval = stored.get(db, ref)
        task = lookup.resolve_one(db, approval.task_id) if approval is not None else None
        if task is not None and task.session_id != session_id:
            raise InvalidState(
                f"the task {task.task_id} was not submitted over this connection",
                code="not_of_this_session",
                hint="the user decides with cuekit approval",
                details={"task_id": task.task_id},
            )
    return approvals.decide(ref, decision, environ)
