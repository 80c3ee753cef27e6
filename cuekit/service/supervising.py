"""Submits whose pane runs the sidecar: supervised mode, and batch whose events are wanted."""

import sys
from typing import TYPE_CHECKING

from cuekit.agents.base import (
    PROTOCOLS,
    STREAM_PROTOCOLS,
    Launch,
    LaunchContext,
    with_arguments,
)
from cuekit.agents.registry import KINDS
from cuekit.errors import InvalidInput
from cuekit.launch.sidecar_plan import FILE_NAME, SidecarPlan
from cuekit.model.task import Mode, TaskSpec, run_mode
from cuekit.service.request import SubmitRequest

if TYPE_CHECKING:
    from cuekit.service.submit import Resolved

BYPASSES = ("dangerously_skip_permissions", "approval_mode")


def protocol_of(spec: TaskSpec) -> str | None:
    """The protocol that a sidecar is to speak; None when the agent's own program fills the pane."""
    mode = run_mode(spec)
    if mode is Mode.SUPERVISED:
        own = "acp" if spec.agent_kind not in KINDS else None  # configured so, else not known
        return PROTOCOLS.get(spec.agent_kind, own)
    if mode is Mode.BATCH and spec.adapter_options.get("stream") is True:
        return STREAM_PROTOCOLS.get(spec.agent_kind)
    return None


def check(request: SubmitRequest, spec: TaskSpec) -> None:
    """Refuse what no sidecar can do, and what needs one but has none.

    Raises InvalidInput: `mode_not_supported`, `needs_supervised`, `bad_adapter_option`.
    """
    mode, protocol = run_mode(spec), protocol_of(spec)
    if spec.agent_kind not in KINDS and mode is not Mode.SUPERVISED:
        raise InvalidInput(
            f"{spec.agent_kind} speaks ACP and can only be supervised",
            code="mode_not_supported",
            hint="--mode supervised",
        )
    if mode is Mode.SUPERVISED and protocol is None:
        raise InvalidInput(
            f"{spec.agent_kind} has no protocol that cuekit can supervise",
            code="mode_not_supported",
            hint=f"--mode interactive, or one of: {', '.join(PROTOCOLS)}",
        )
    if mode is Mode.BATCH and spec.adapter_options.get("stream") is True and protocol is None:
        raise InvalidInput(
            f"{spec.agent_kind} gives no stream of events in batch",
            code="bad_adapter_option",
            hint=f"stream works with: {', '.join(STREAM_PROTOCOLS)}",
        )
    if mode is Mode.SUPERVISED and request.adapter_options.get(BYPASSES[0]) is True:
        raise InvalidInput(
            "a supervised agent asks; it cannot be told to skip permissions as well",
            code="bad_adapter_option",
            hint="--mode interactive, or leave dangerously_skip_permissions out",
        )
    needs = {
        "--append-system-prompt": request.append_system_prompt,
        "--output-schema": request.output_schema,
    }
    for option, value in needs.items():
        if value is not None and protocol is None:
            raise InvalidInput(
                f"{option} needs --mode supervised (or batch with adapter option stream)",
                code="needs_supervised",
            )


def launch(resolved: "Resolved", context: LaunchContext, protocol: str) -> Launch:
    """The start of a sidecar, with its plan as a file of the run folder."""
    spec, request = resolved.spec, resolved.request
    plan = SidecarPlan(
        agent_kind=spec.agent_kind,
        protocol=protocol,
        argv=_agent_argv(resolved, context, run_mode(spec)),
        version=resolved.probe.version,
        model=spec.model,
        options=dict(spec.adapter_options),
        append_system_prompt=request.append_system_prompt,
        add_dirs=list(spec.add_dirs),
        output_schema=request.output_schema,
        resume=request.resume,
        fork=request.fork,
        folder_trusted=context.folder_trusted,
        batch=run_mode(spec) is Mode.BATCH,
    )
    return Launch(
        argv=(sys.executable, "-P", "-m", "cuekit.sidecar", context.task_id),
        files={FILE_NAME: plan.text()},
    )


def _agent_argv(resolved: "Resolved", context: LaunchContext, mode: Mode) -> list[str]:
    """The agent's command in its machine mode; its session may add words of its own."""
    agent, binary = resolved.agent, resolved.binary
    name = "stream_arguments" if mode is Mode.BATCH else "supervised_arguments"
    build = getattr(agent, name, None)
    argv = build(resolved.spec, context) if build else (binary.path,)
    return list(with_arguments(argv, binary.path, binary.arguments))
