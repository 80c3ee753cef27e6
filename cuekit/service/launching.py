"""The making of a task, step by step; each step may be the last one, and nothing is then lost."""

import contextlib
import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cuekit import faults, files
from cuekit.agents.base import Launch, LaunchContext, with_arguments
from cuekit.errors import CuekitError
from cuekit.launch import child_reports, hooks, notify, processes, script, settlement
from cuekit.launch import plan as plans
from cuekit.launch.environment import child_environment
from cuekit.launch.plan import LaunchPlan, encode_environment
from cuekit.launch.words import plain_tail
from cuekit.model.lifecycle import Status
from cuekit.model.report import (
    COMMAND_VARIABLE,
    FOLDER_VARIABLE,
    TASK_VARIABLE,
    TOKEN_VARIABLE,
)
from cuekit.model.task import run_mode, tmux_session_name
from cuekit.paths import Home
from cuekit.service import standing_rules, supervising, task_folders, worktrees
from cuekit.store import tasks
from cuekit.store.tasks import Task

if TYPE_CHECKING:
    from cuekit.panes.tmux import Tmux
    from cuekit.service.submit import Resolved

START_SECONDS = 20.0
OWN_NAMES = (TASK_VARIABLE, TOKEN_VARIABLE, FOLDER_VARIABLE, COMMAND_VARIABLE)
SERVER_TRIES = 8
PROMPT_FILE = "prompt.md"
TOKEN_BYTES = 32
LAUNCH_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "launch")
SUPERVISOR = os.path.join(LAUNCH_FOLDER, "supervisor.py")
APPROVAL_HOOK = os.path.join(
    os.path.dirname(os.path.dirname(__file__)), "approvals", "approval_hook.py"
)
WRITER = os.path.join(LAUNCH_FOLDER, "transcript_writer.py")


def dry_run_view(resolved: "Resolved") -> dict[str, Any]:
    """What would be started, and what the defaults did; makes nothing."""
    context = _context(resolved, "t_dryrun00", "RUN_FOLDER", "TASK_FOLDER", hooks=False)
    launch = resolved.agent.launch(resolved.spec, context)
    return {
        "dry_run": True,
        "agent_kind": resolved.spec.agent_kind,
        "mode": str(run_mode(resolved.spec)),
        "cwd": resolved.cwd,
        "worktree": worktrees.dry_view(resolved.worktree),
        "command_line": resolved.agent.command_line(resolved.spec, context),
        "prompt_delivery": launch.prompt_delivery,
        "prompt": resolved.prompt,
        "warnings": [*resolved.warnings, *launch.warnings],
        "defaults_applied": dict(resolved.defaults),
        "hooks": resolved.hooks.hooks,
        "notifications": list(resolved.hooks.notify.get("events", ())),
    }


def launch(
    resolved: "Resolved",
    extra: Mapping[str, Any],
    home: Home,
    db: sqlite3.Connection,
    environ: Mapping[str, str],
) -> Task:
    """Make the task and start it; the task as it is once its child runs (or has ended).

    Raises CuekitError when it cannot be started, and `tasks.KeyTaken`; then nothing of it is left.
    """
    tmux = _multiplexer(resolved, environ)
    task_id = resolved.task_id
    run_dir = home.run(task_id)
    task_dir, warning = task_folders.choose(resolved.origin, task_id, home)
    context = _context(resolved, task_id, run_dir, task_dir, hooks=True)
    protocol = supervising.protocol_of(resolved.spec)
    if protocol is not None:
        started = supervising.launch(resolved, context, protocol)
        argv = list(started.argv)
    else:
        started = resolved.agent.launch(resolved.spec, context)
        argv = list(with_arguments(started.argv, resolved.binary.path, resolved.binary.arguments))
    warnings = [*resolved.warnings, *started.warnings, *([warning] if warning else [])]
    files.make_private_folder(home.runs)
    token = os.urandom(TOKEN_BYTES).hex()
    row = {
        "task_id": task_id,
        "agent_kind": resolved.spec.agent_kind,
        "model": resolved.spec.model,
        "mode": run_mode(resolved.spec),
        "cwd": resolved.cwd,
        "task_dir": task_dir,
        "spec": asdict(resolved.spec),
        "argv": _shown(argv, resolved.prompt),
        "binary_version": resolved.probe.version,
        "warnings": warnings,
        "timeout_s": resolved.spec.timeout_s,
        "socket_path": tmux.socket(),
        "token_sha256": child_reports.fingerprint(token),
        "submitter": processes.identity(os.getpid()),
        **extra,
    }
    if started.session_id is not None:
        row["agent_session_id"] = started.session_id
    tasks.insert(
        db,
        row,
        most_live=resolved.effective.limits.live_tasks,
        with_it=lambda: standing_rules.store(db, resolved.rules, task_id),
    )
    faults.point("submit.row_written")
    try:
        settlement.prepare_run_folder(run_dir)
        faults.point("submit.run_folder_made")
        task_folders.make(task_dir)
        faults.point("submit.task_folder_made")
        _prepare_repository(resolved, run_dir, environ)
        faults.point("submit.worktree_made")
        plan = _plan(resolved, started, argv, context, home, tmux, bool(extra.get("keep")))
        _write_files(plan, resolved, started, environ, token)
        faults.point("submit.files_written")
        _start_session(tmux, plan, resolved)
    except BaseException as error:
        kept = _take_back(db, tmux, resolved, run_dir, task_dir, environ)
        if kept and isinstance(error, CuekitError):
            error.details["worktree_kept"] = kept
        if isinstance(error, OSError):
            raise CuekitError(
                f"the task's files cannot be made: {error.strerror}: "
                f"{error.filename or f'{task_dir} or {run_dir}'}",
                code="cannot_write",
                hint="make room, or correct the folder's permissions",
            ) from None
        raise
    return _await_start(db, task_id, run_dir, tmux)


def _multiplexer(resolved: "Resolved", environ: Mapping[str, str]) -> "Tmux":
    from cuekit.panes.tmux import Tmux, default_socket, named_socket

    settings = resolved.effective.multiplexer
    if settings.socket_path:
        socket = settings.socket_path
    elif settings.socket_name:
        socket = named_socket(settings.socket_name, environ)
    else:
        socket = default_socket(environ)
    return Tmux(socket, environ=environ)


def _context(
    resolved: "Resolved", task_id: str, run_dir: str, task_dir: str, *, hooks: bool
) -> LaunchContext:
    return LaunchContext(
        binary=resolved.binary.path,
        version=resolved.probe.version,
        known_flags=resolved.probe.flags,
        task_id=task_id,
        run_dir=run_dir,
        task_dir=task_dir,
        cwd=os.path.realpath(resolved.cwd),  # the name under which agents record a folder
        prompt_file=os.path.join(task_dir, PROMPT_FILE),
        folder_trusted=resolved.trusted,
        hook_program=os.path.join(run_dir, plans.HOOK) if hooks else None,
        resume=resolved.request.resume,
        fork=resolved.request.fork,
        new_session=_new_session(),
        as_command=resolved.as_command,
        recorded_trust=resolved.recorded_trust,
    )


def _new_session() -> str:
    from uuid import uuid4

    return str(uuid4())


def _plan(
    resolved: "Resolved",
    started: Launch,
    argv: list[str],
    context: LaunchContext,
    home: Home,
    tmux: "Tmux",
    keep: bool,
) -> LaunchPlan:
    task_id = context.task_id
    mode = run_mode(resolved.spec)
    first_prompt: list[str] = []
    if started.prompt_delivery == "paste":
        first_prompt = [sys.executable, "-P", "-m", "cuekit.service.first_prompt", task_id]
    return LaunchPlan(
        task_id=task_id,
        agent_kind=resolved.spec.agent_kind,
        mode=mode,
        argv=argv,
        cwd=resolved.cwd,
        task_dir=context.task_dir,
        run_dir=context.run_dir,
        home=home.root,
        stdin=context.prompt_file if started.stdin == "prompt" else started.stdin,
        timeout_s=resolved.spec.timeout_s,
        keep=keep,
        tmux=tmux.binary,
        socket_path=tmux.socket(),
        session=tmux_session_name(task_id),
        expects_evidence=resolved.agent.capabilities(mode).supports_activity,
        sidecar=supervising.protocol_of(resolved.spec) is not None,
        last_message_file=started.last_message_file,
        end_mark=os.urandom(12).hex(),
        first_prompt=first_prompt,
        hooks=resolved.hooks.hooks,
        hook_limit_s=resolved.hooks.time_limit_s,
        notify=resolved.hooks.notify,
        own_environment=sorted({*started.environment, *OWN_NAMES}),
    )


def _write_files(
    plan: LaunchPlan,
    resolved: "Resolved",
    started: Launch,
    environ: Mapping[str, str],
    token: str,
) -> None:
    run, python = plan.run_dir, sys.executable
    prompt = resolved.prompt.encode("utf-8")
    files.replace_file(os.path.join(plan.task_dir, PROMPT_FILE), prompt)
    for name, content in started.files.items():
        files.replace_file(os.path.join(run, name), content.encode("utf-8"))
    added = {
        **started.environment,
        TASK_VARIABLE: plan.task_id,
        TOKEN_VARIABLE: token,
        FOLDER_VARIABLE: plan.task_dir,
        COMMAND_VARIABLE: os.path.join(run, plans.COMMAND),
        "CUEKIT_HOME": plan.home,
    }
    environment = child_environment(environ, added, plan.cwd)
    files.replace_file(os.path.join(run, plans.ENVIRONMENT), encode_environment(environment))
    died = script.pane_died_script(
        python, SUPERVISOR, run, plan.tmux, plan.socket_path, plan.session
    )
    for name, text in (
        ("launch.sh", script.launch_script(python, SUPERVISOR, run)),
        ("writer.sh", script.writer_script(python, WRITER, run)),
        ("pane-died.sh", died),
        (plans.COMMAND, script.command_script(python)),
        (plans.HOOK, script.hook_script(python, APPROVAL_HOOK)),
    ):
        files.replace_file(os.path.join(run, name), os.fsencode(text), 0o700)
    plan.write()


def _start_session(tmux: "Tmux", plan: LaunchPlan, resolved: "Resolved") -> None:
    from cuekit.panes.base import TmuxGone
    from cuekit.panes.octal import shell_hook, shell_path

    def run(name: str) -> str:
        return f"exec /bin/sh {shell_path(os.path.join(plan.run_dir, name))}"

    settings = resolved.effective.multiplexer
    settle_it = shell_hook(run("pane-died.sh"))
    faults.point("submit.before_session")
    for left in range(SERVER_TRIES - 1, -1, -1):
        try:
            tmux.start_session(
                plan.session,
                ["/bin/sh", "-c", run("launch.sh")],
                task_id=plan.task_id,
                pipe_command=run("writer.sh"),
                hooks={"pane-died": settle_it, "client-detached": settle_it},
                width=settings.width,
                height=settings.height,
            )
            break
        except TmuxGone:  # it was on its way out, since its last session had ended
            if not left:
                raise
            time.sleep(0.05)
    faults.point("submit.session_started")


def _await_start(db: sqlite3.Connection, task_id: str, run_dir: str, tmux: "Tmux") -> Task:
    deadline = time.monotonic() + START_SECONDS
    with notify.Waiter([run_dir]) as waiter:
        while True:
            task = tasks.get(db, task_id)
            if task is None:
                raise CuekitError(f"the task {task_id} was deleted", code="task_not_found")
            if task.status is not Status.QUEUED and (task.child or task.ended):
                faults.point("submit.child_seen")
                return task
            if not waiter.wait(1.0):
                _refuse_ended_pane(db, tmux, task_id, run_dir)
            if time.monotonic() >= deadline:
                raise CuekitError(
                    f"the pane of {task_id} was made, but its supervisor has not started the "
                    f"agent in {START_SECONDS:g} s",
                    code="start_unclear",
                    hint=f"cuekit task status {task_id}",
                    retryable=True,
                    details={"task_id": task_id},
                )


def _refuse_ended_pane(db: sqlite3.Connection, tmux: "Tmux", task_id: str, run_dir: str) -> None:
    """Fail a task whose pane is gone or dead without its supervisor ever having begun."""
    from cuekit.panes.base import TmuxGone

    said = None
    try:
        pane = tmux.pane(tmux_session_name(task_id))
        if pane is not None and not pane.dead:
            return
        if pane is not None:
            said = plain_tail(tmux.capture(pane.pane_id, history=50).encode())
    except TmuxGone:
        pane = None
    except CuekitError:
        return  # tmux does not say; the deadline decides
    what = "tmux closed the pane" if pane is None else "the pane's own program ended"
    failure = CuekitError(
        f"{what} before the agent was started" + (f": {said}" if said else ""),
        code="pane_vanished" if pane is None else "supervisor_failed",
        hint="cuekit doctor",
        retryable=True,
        details={"task_id": task_id},
    )
    values = {"error": failure.as_json()}
    if tasks.move(db, task_id, Status.FAILED, values, only_from=[Status.QUEUED]):
        plans.forget_environment(run_dir)
        with contextlib.suppress(CuekitError):
            tmux.kill_session(tmux_session_name(task_id))
        hooks.at_end(plans.read(run_dir), tasks.get(db, task_id))
        raise failure


def _prepare_repository(resolved: "Resolved", run_dir: str, environ: Mapping[str, str]) -> None:
    """Make the child's worktree, or note what a result will compare its folder with."""
    if resolved.worktree is not None:
        worktrees.make(resolved.worktree, environ, trusted=resolved.trusted)
    elif resolved.request.in_worktree is None and files.is_repository(
        files.project_root(resolved.cwd)
    ):
        from cuekit.service import changes

        changes.note_start(resolved.cwd, run_dir, environ)


def _take_back(
    db: sqlite3.Connection,
    tmux: "Tmux",
    resolved: "Resolved",
    run_dir: str,
    task_dir: str,
    environ: Mapping[str, str],
) -> str | None:
    """Undo a start that failed: first the state, so that a late supervisor starts nothing.

    The reason when the worktree had to stay.
    """
    tasks.move(db, resolved.task_id, Status.FAILED)
    with contextlib.suppress(CuekitError):
        tmux.kill_session(tmux_session_name(resolved.task_id))
    kept = worktrees.take_back(resolved.worktree, environ)
    for folder in (run_dir, task_dir):
        shutil.rmtree(folder, ignore_errors=True)
    tasks.delete(db, resolved.task_id)
    return kept


def _shown(argv: list[str], prompt: str) -> list[str]:
    """The argument vector as it is stored: with a name in the place of the whole prompt."""
    return ["<prompt>" if word == prompt else word for word in argv]
