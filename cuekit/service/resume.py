"""`task resume`: a new run of an agent's own conversation, as a new task linked to the old one."""

from collections.abc import Mapping
from dataclasses import replace

from cuekit.errors import InvalidState
from cuekit.model.task import Mode
from cuekit.service import lookup
from cuekit.service.request import SubmitRequest
from cuekit.service.status import status
from cuekit.service.submit import submit
from cuekit.service.views import Json, capabilities_of
from cuekit.service.worktrees import origin_of
from cuekit.store.tasks import Task


def resume(
    ref: str,
    message: str,
    environ: Mapping[str, str],
    *,
    fork: bool = False,
    mode: str | None = None,
    trust: bool = False,
    session: str | None = None,
    via: str = "shell",
) -> Json:
    """Go on with the conversation of a task in a new pane; the new task's status view.

    Raises InvalidState: `still_running`, `no_session` (the agent's own id is not known),
    `resume_unsupported`, `fork_unsupported`; and what `submit` raises.
    """
    with lookup.settled_store(environ) as (_, db):
        old = lookup.resolve_one(db, ref)
    _check(old, fork, mode or old.mode)
    request = _request(old, message, fork, mode or old.mode, trust)
    made = submit(replace(request, session=session or old.session_id, via=via), environ)
    return status([str(made["task_id"])], environ)[0]


def _check(old: Task, fork: bool, mode: str) -> None:
    if not old.ended and not fork:
        raise InvalidState(
            f"the task {old.task_id} still runs: {old.status}",
            code="still_running",
            hint=f"cuekit task steer {old.task_id} MESSAGE, or --fork",
        )
    if old.agent_session_id is None:
        raise InvalidState(
            f"the agent of {old.task_id} never told the id of its conversation",
            code="no_session",
            hint="submit the task anew",
        )
    able = capabilities_of(old.agent_kind, mode)
    if able is None or not able.supports_resume:
        raise InvalidState(
            f"{old.agent_kind} cannot resume a conversation in mode {mode}",
            code="resume_unsupported",
            hint="cuekit adapter list shows what can",
        )
    if fork and not able.supports_fork:
        raise InvalidState(f"{old.agent_kind} cannot fork a conversation", code="fork_unsupported")


def _request(old: Task, message: str, fork: bool, mode: str, trust: bool) -> SubmitRequest:
    spec = old.spec
    options = {name: value for name, value in spec["adapter_options"].items() if name != "mode"}
    return SubmitRequest(
        objective=message,
        agent_kind=old.agent_kind,
        model=old.model,
        mode=Mode(mode),
        cwd=old.cwd if old.worktree is None else origin_of(old.cwd, old.worktree),
        in_worktree=old.worktree,
        add_dirs=tuple(spec["add_dirs"]),
        adapter_options=options,
        timeout_s=old.timeout_s,
        labels=tuple(old.labels),
        trust=trust,
        keep=bool(old.keep),
        resume=old.agent_session_id,
        fork=fork,
        resumed_from=old.task_id,
        reporting=bool(spec.get("reporting")),
    )
