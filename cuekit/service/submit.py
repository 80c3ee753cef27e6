"""Starting a child: from what a caller asks to a supervised process in a pane."""

import os
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cuekit import faults
from cuekit.config import load, safety, trust
from cuekit.config.effective import Effective
from cuekit.errors import CuekitError, InvalidInput, InvalidState
from cuekit.model.rule import Rule
from cuekit.model.task import Mode, TaskSpec, new_task_id, run_mode
from cuekit.paths import Home, home_from
from cuekit.service import (
    adapters,
    agent_trust,
    hook_plan,
    idempotency,
    launching,
    lookup,
    retention,
    roles,
    settle,
    standing_rules,
    supervising,
    worktrees,
)
from cuekit.service.hook_plan import HookPlan
from cuekit.service.request import (
    Ask,
    SubmitRequest,
    added_folder,
    check_texts,
    working_folder,
)
from cuekit.service.views import Json, submit_view
from cuekit.store import db as store
from cuekit.store import tasks

MOST_DEPTH = 2


@dataclass(frozen=True)
class Resolved:
    """A request with every default filled in, and the agent found; nothing is made yet."""

    spec: TaskSpec
    agent: Any  # the agent's module
    binary: adapters.Binary
    probe: adapters.Probe
    prompt: str
    cwd: str  # where the child works
    origin: str  # the folder that counts for configuration, trust, session and the task's files
    task_id: str
    worktree: worktrees.Plan | None  # that is to be made
    trusted: bool
    effective: Effective
    request: SubmitRequest
    warnings: tuple[str, ...]
    defaults: Mapping[str, Any]
    hooks: HookPlan
    rules: tuple[Rule, ...]  # the user's own, as configured; not those of one task or project
    recorded_trust: bool | None = None  # the agent's own record on the folder
    as_command: bool = False


def submit(request: SubmitRequest, environ: Mapping[str, str], ask: Ask | None = None) -> Json:
    """Start a child agent on a task and return the submit view.

    Raises InvalidInput for what cannot be run, CuekitError when the start fails; then nothing of
    the task is left.
    """
    check_texts(request)
    home = home_from(environ)
    try:
        resolved = resolve(request, home, environ, ask)
    except InvalidState:  # the worktree of the first submit with this key may be what is in the way
        earlier = idempotency.repeated(request, home, environ)
        if earlier is None:
            raise
        return submit_view(earlier, environ, {}, reused=True)
    faults.point("submit.resolved")
    if request.dry_run:
        return launching.dry_run_view(resolved)
    with store.opened(home) as db:
        settle.reconcile(home, db, environ)
        parent, depth = _parent(db, environ)
        extra = {
            "session_id": idempotency.session_of(request, resolved.effective, resolved.origin),
            "name": request.name,
            "labels": list(request.labels),
            "keep": int(request.keep or bool(resolved.effective.submit.keep)),
            "parent_task_id": parent,
            "resumed_from": request.resumed_from,
            "agent_session_id": None if request.fork else request.resume,
            "depth": depth,
            "worktree": resolved.worktree.row() if resolved.worktree else request.in_worktree,
            **idempotency.columns(request, resolved.origin),
        }
        while True:
            earlier = idempotency.earlier(db, extra)
            if earlier is not None:
                return submit_view(earlier, environ, dict(resolved.defaults), reused=True)
            try:
                task = launching.launch(resolved, extra, home, db, environ)
            except (tasks.KeyTaken, InvalidInput):  # by another process, in this moment
                if idempotency.earlier(db, extra) is None:
                    raise
                continue
            break
        retention.after_submit(home, db, resolved.effective.retention, environ)
        return submit_view(task, environ, dict(resolved.defaults))


def submit_all(requests: Sequence[SubmitRequest], environ: Mapping[str, str]) -> Json:
    """Start several tasks: `{tasks: [submit view or null], failed: [{index, error}]}`.

    All are checked before the first starts, and what is wrong then is raised, with the place of
    the task in `details.index`; a start that fails later leaves the others as they are.
    """
    home = home_from(environ)
    names: dict[str, int] = {}
    limit = None
    for index, request in enumerate(requests):
        try:
            check_texts(request)
            _check_name(request.name, index, names)
            limit = resolve(request, home, environ, None).effective.limits.live_tasks
        except CuekitError as error:
            error.details["index"] = index
            raise
    if limit is not None and not all(request.dry_run for request in requests):
        with store.opened(home) as db:
            settle.reconcile(home, db, environ)
            tasks.check_quota(db, limit, len(requests))
    made: list[Json | None] = []
    failed: list[Json] = []
    for index, request in enumerate(requests):
        try:
            made.append(submit(request, environ))
        except CuekitError as error:
            made.append(None)
            failed.append({"index": index, "error": error.as_json()})
    return {"tasks": made, "failed": failed}


def _check_name(name: str | None, index: int, names: dict[str, int]) -> None:
    """Raises InvalidInput (`name_taken`) for a name that an earlier task of the list has."""
    if name is not None and names.setdefault(name, index) != index:
        raise InvalidInput(
            f"the name {name!r} is that of tasks[{names[name]}] already", code="name_taken"
        )


def resolve(
    request: SubmitRequest, home: Home, environ: Mapping[str, str], ask: Ask | None
) -> Resolved:
    """Fill in what the caller left open, and refuse what cannot be run. Makes nothing."""
    origin = working_folder(request.cwd)
    effective = load.effective(origin, home, environ)
    defaults: dict[str, Any] = {}
    request, role = roles.apply(request, origin, home, defaults, effective.profile_folders)
    kind = _agent_kind(request, effective, environ, defaults)
    _check_over_mcp(request, kind, effective, home)
    agent = adapters.module(kind, effective.adapter(kind).protocol)
    caller = _caller_options(request, agent.capabilities(Mode.INTERACTIVE).default_mode)
    options, applied = safety.apply({}, kind, effective, caller_options=caller)
    defaults.update(applied)
    defaults.update(standing_rules.hand_over(options, effective))
    task_id = new_task_id() if not request.dry_run else "t_dryrun00"
    worktree = worktrees.wanted(request, origin, task_id, home, environ)
    cwd = worktree.cwd if worktree else worktrees.folder_of(request, origin)
    spec = TaskSpec(
        agent_kind=kind,
        objective=request.objective,
        context=request.context,
        constraints=request.constraints,
        inputs=request.inputs,
        expected_output=request.expect,
        role=role.name if role else None,
        role_instructions=role.instructions if role else None,
        cwd=cwd,
        add_dirs=tuple(added_folder(folder) for folder in request.add_dirs),
        model=_model(request, kind, effective, defaults),
        timeout_s=_default(
            request.timeout_s, effective.submit.timeout_s, "timeout", effective, defaults
        ),
        adapter_options=options,
        reporting=_reporting(request, effective, defaults),
    )
    supervising.check(request, spec)
    binary = adapters.find(kind, environ, effective.adapter(kind).command)
    probe = adapters.probe(kind, binary, home, environ)
    warnings = [*effective.warnings, *safety.caller_warnings(kind, effective, caller)]
    if effective.ignored:
        warnings.append(effective.ignored)
    rules = standing_rules.configured(effective, cwd)
    hooks = hook_plan.planned(effective.hooks, environ)
    warnings += hooks.warnings
    warnings += _option_warnings(agent.option_problems(spec, probe.version), request.lenient)
    _check_root(agent, spec, environ)
    prompt = agent.prompt_text(spec)
    _check_prompt(agent, spec, prompt, probe.version, request.as_command)
    trusted = _is_trusted(request, kind, origin, home, environ, ask)
    warnings += worktree.remarks(trusted=trusted) if worktree else []
    return Resolved(
        spec=spec,
        agent=agent,
        binary=binary,
        probe=probe,
        prompt=prompt,
        cwd=cwd,
        origin=origin,
        task_id=task_id,
        worktree=worktree,
        trusted=trusted,
        effective=effective,
        request=request,
        warnings=tuple(warnings),
        defaults=defaults,
        hooks=hooks,
        rules=rules,
        recorded_trust=agent_trust.recorded(kind, cwd, environ),
        as_command=request.as_command,
    )


def _agent_kind(
    request: SubmitRequest,
    effective: Effective,
    environ: Mapping[str, str],
    defaults: dict[str, Any],
) -> str:
    if request.agent_kind:
        return request.agent_kind
    if effective.submit.agent_kind:
        source = effective.sources.get("submit.agent_kind", "the configuration")
        defaults["agent_kind"] = {"value": effective.submit.agent_kind, "source": source}
        return effective.submit.agent_kind
    installed = adapters.installed_kinds(environ)
    if len(installed) == 1:
        defaults["agent_kind"] = {"value": installed[0], "source": "the one agent installed"}
        return installed[0]
    found = ", ".join(installed) or "none is installed"
    raise InvalidInput(
        f"no agent kind was named, and there is no single one to take: {found}",
        code="agent_kind_needed",
        hint="--agent-kind KIND; cuekit adapter list shows them",
    )


def _caller_options(request: SubmitRequest, default_mode: Mode) -> dict[str, Any]:
    options = dict(request.adapter_options)
    if request.mode is not None:
        options["mode"] = request.mode
    elif "mode" not in options and default_mode is not Mode.INTERACTIVE:
        options["mode"] = str(default_mode)
    return options


def _default(
    given: Any, configured: Any, name: str, effective: Effective, defaults: dict[str, Any]
) -> Any:
    if given is not None or configured is None:
        return given
    source = effective.sources.get(f"submit.{name}", "the configuration")
    defaults[name] = {"value": configured, "source": source}
    return configured


def _reporting(request: SubmitRequest, effective: Effective, defaults: dict[str, Any]) -> bool:
    """Whether the prompt tells how to report: unless it is said, only to a parent over MCP."""
    configured = effective.submit.reporting
    told = _default(request.reporting, configured, "reporting", effective, defaults)
    return request.via == "mcp" if told is None else bool(told)


def _check_over_mcp(request: SubmitRequest, kind: str, effective: Effective, home: Home) -> None:
    """Raises InvalidState (`shell_not_allowed`): an agent may not start commands as it likes."""
    if request.via == "mcp" and kind == "shell" and effective.parents.shell != "allow":
        raise InvalidState(
            "tasks of the kind shell are not allowed over MCP",
            code="shell_not_allowed",
            hint=f"the user may set mcp: {{shell: allow}} in {home.config}",
        )


def _model(
    request: SubmitRequest, kind: str, effective: Effective, defaults: dict[str, Any]
) -> str | None:
    """The model; a configured one counts for the configured agent alone."""
    meant_for = effective.submit.agent_kind
    configured = effective.submit.model if meant_for in (None, kind) and kind != "shell" else None
    model: str | None = _default(request.model, configured, "model", effective, defaults)
    return model


def _is_trusted(
    request: SubmitRequest,
    kind: str,
    cwd: str,
    home: Home,
    environ: Mapping[str, str],
    ask: Ask | None,
) -> bool:
    """Whether the user trusts the folder; asked at a terminal where the agent itself would ask."""
    if request.trust:
        if environ.get("CUEKIT_TASK_ID"):
            raise InvalidState(
                "a child agent may not give trust",
                code="child_may_not",
                hint="leave --trust out; the user can run cuekit trust",
            )
        return True
    if trust.folder_trusted(home, cwd):
        return True
    interactive = request.mode in (None, Mode.INTERACTIVE)
    if ask is None or request.dry_run or not interactive or not agent_trust.asks(kind):
        return False
    if agent_trust.recorded(kind, cwd, environ) is not None:
        return False  # the agent has its own answer
    if not ask(f"{cwd}: {kind} may read and run what is there. Do you trust this folder?"):
        return False
    trust.give(home, lookup.project_root(cwd))
    return True


def _option_warnings(problems: list[Any], lenient: bool) -> list[str]:
    fatal = [problem for problem in problems if problem.fatal]
    if fatal and not lenient:
        first = fatal[0]
        raise InvalidInput(
            first.message,
            code="bad_adapter_option",
            hint=first.hint or "--lenient takes the designed fall-back instead",
            details={"option": first.name},
        )
    return [
        f"{problem.message}" + (f" ({problem.hint})" if problem.hint else "")
        for problem in problems
    ]


def _check_root(agent: Any, spec: TaskSpec, environ: Mapping[str, str]) -> None:
    if os.getuid() != 0 or environ.get("IS_SANDBOX") == "1":
        return
    if problem := agent.root_problem(spec):
        raise InvalidState(
            problem,
            code="refused_as_root",
            hint="IS_SANDBOX=1 cuekit task submit ..., where this machine is a sandbox",
        )


def _check_prompt(
    agent: Any, spec: TaskSpec, prompt: str, version: str | None, as_command: bool
) -> None:
    from cuekit.agents.prompt import text_problem

    if problem := text_problem(prompt):
        raise InvalidInput(
            f"the task's text holds {problem}", code="control_character", hint="take it out"
        )
    if as_command:
        return
    if problem := agent.first_prompt_problem(prompt, run_mode(spec), version):
        raise InvalidInput(
            problem,
            code="special_first_character",
            hint="begin with another character, or --as-command if a command is meant",
        )


def _parent(db: sqlite3.Connection, environ: Mapping[str, str]) -> tuple[str | None, int]:
    """The task that submits, when the caller is itself a child, and the new task's depth."""
    parent_id = environ.get("CUEKIT_TASK_ID")
    if not parent_id:
        return None, 0
    parent = tasks.get(db, parent_id)
    depth = (parent.depth if parent else 0) + 1
    if depth > MOST_DEPTH:
        raise InvalidState(
            f"a task at depth {depth} may not be made: delegation is {MOST_DEPTH} deep at most",
            code="too_deep",
            hint="do the work in this task, or report back to its parent",
        )
    return parent_id, depth
