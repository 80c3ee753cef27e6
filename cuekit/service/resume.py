"""`task resume`: a new run of an agent's own conversation, as a new task linked to the old one."""

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from cuekit import files
from cuekit.errors import CuekitError, InvalidState
from cuekit.model.task import Mode
from cuekit.paths import Home
from cuekit.service import agent_sessions, lookup
from cuekit.service.request import SubmitRequest
from cuekit.service.status import status
from cuekit.service.submit import submit
from cuekit.service.views import Json, capabilities_of
from cuekit.service.worktrees import origin_of
from cuekit.store import tasks
from cuekit.store.tasks import Task

MODES = (Mode.SUPERVISED, Mode.INTERACTIVE, Mode.BATCH)
LOCK_WAIT_S = 60.0
"""A start of an agent under load may take long, and another resume waits for it."""


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
    once: bool = False,
) -> Json:
    """Go on with the conversation of a task in a new pane; the new task's status view.

    Raises what `problem` tells of, InvalidState (`still_running`; with `once`
    `already_resumed`), and what `submit` raises.
    """
    with lookup.settled_store(environ) as (home, db), _one_at_a_time(home):
        old = lookup.resolve_one(db, ref)
        old = old._replace(agent_session_id=agent_sessions.known(db, old, environ))
        if once and (refusal := resumed_already(db, old)):
            raise refusal
        if not fork:
            _check_at_rest(db, old)
        if error := problem(old, mode or old.mode, environ, fork=fork):
            raise error
        request = _request(old, message, fork, mode or old.mode, trust)
        made = submit(replace(request, session=session or old.session_id, via=via), environ)
    return status([str(made["task_id"])], environ)[0]


def problem(
    old: Task, mode: str, environ: Mapping[str, str], *, fork: bool = False
) -> CuekitError | None:
    """Why the conversation of a task cannot go on in a mode; None when nothing is known against it.

    InvalidState: `resume_unsupported`, `fork_unsupported`, `resume_unknown` (the agent's own id is
    not known), `folder_gone`, `agent_session_gone`.
    """
    kind, session = old.agent_kind, old.agent_session_id
    able = capabilities_of(kind, mode)
    if able is None or not able.supports_resume:
        return InvalidState(
            f"{kind} cannot resume a conversation in mode {mode}",
            code="resume_unsupported",
            hint=_other_mode(old, mode, fork),
        )
    if fork and not able.supports_fork:
        return InvalidState(
            f"{kind} cannot fork a conversation in mode {mode}",
            code="fork_unsupported",
            hint=_other_mode(old, mode, fork),
        )
    own = agent_sessions.OWN_COMMANDS.get(kind)
    if session is None:
        return InvalidState(
            f"which conversation of {kind} was that of {old.task_id} is not known",
            code="resume_unknown",
            hint=f"look for it in {old.cwd} with: {own}" if own else "submit the task anew",
        )
    if not os.path.isdir(old.cwd):
        return InvalidState(
            f"the folder of {old.task_id} is gone: {old.cwd}",
            code="folder_gone",
            hint="bring it back under that name: the agent keeps its conversation by it",
        )
    if agent_sessions.is_there(kind, session, environ) is False:
        return InvalidState(
            f"{kind} has the conversation of {old.task_id} no more: {session}",
            code="agent_session_gone",
            hint="submit the task anew",
        )
    return None


def _other_mode(old: Task, mode: str, fork: bool) -> str:
    """The command by which the same agent can do it, in another mode; else where to look."""
    for other in MODES:
        able = capabilities_of(old.agent_kind, other)
        if other != mode and able is not None and able.supports_resume:
            if fork and not able.supports_fork:
                continue
            more = " --fork" if fork else ""
            return f"cuekit task resume {old.task_id} MESSAGE --mode {other}{more}"
    return "cuekit adapter list shows what can"


def resumed_already(db: sqlite3.Connection, old: Task) -> InvalidState | None:
    """The refusal of a second task that goes on with an old one (`already_resumed`)."""
    row = db.execute(
        "SELECT task_id FROM task WHERE resumed_from = ? ORDER BY created_at DESC", (old.task_id,)
    ).fetchone()
    if row is None:
        return None
    return InvalidState(
        f"the task {old.task_id} was gone on with already, in {row[0]}",
        code="already_resumed",
        hint=f"cuekit task status {row[0]}",
    )


@contextmanager
def _one_at_a_time(home: Home) -> Iterator[None]:
    """Between the look whether a conversation is at rest and its new task, nobody starts another.

    Two runs of one conversation would write into one file of the agent's.
    """
    with files.locked(os.path.join(home.root, "resume.lock"), LOCK_WAIT_S):
        yield


def _check_at_rest(db: sqlite3.Connection, old: Task) -> None:
    running = old if not old.ended else None
    if old.agent_session_id is not None:
        for task in tasks.active(db):
            if (task.agent_kind, task.agent_session_id) == (old.agent_kind, old.agent_session_id):
                running = task
    if running is None:
        return
    if running.task_id == old.task_id:
        said = f"the task {old.task_id} still runs: {old.status}"
    else:
        said = f"the conversation of {old.task_id} goes on in {running.task_id}: {running.status}"
    able = capabilities_of(old.agent_kind, running.mode)
    fork = ", or --fork" if able is not None and able.supports_fork else ""
    raise InvalidState(
        said, code="still_running", hint=f"cuekit task steer {running.task_id} MESSAGE{fork}"
    )


def _request(old: Task, message: str, fork: bool, mode: str, trust: bool) -> SubmitRequest:
    spec = old.spec
    given = spec.get("adapter_options") or {}
    options = {name: value for name, value in given.items() if name != "mode"}
    return SubmitRequest(
        objective=message,
        agent_kind=old.agent_kind,
        model=old.model,
        mode=Mode(mode),
        cwd=old.cwd if old.worktree is None else origin_of(old.cwd, old.worktree),
        in_worktree=old.worktree,
        add_dirs=tuple(spec.get("add_dirs") or ()),
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
