"""`adapter_options.approvals: inbox`: the approvals of an agent's own TUI go to the inbox. Pure."""

import json

from cuekit.agents import base
from cuekit.model.approval import INBOX_LIMIT_S
from cuekit.model.inbox import INBOX_FILE
from cuekit.model.task import Mode, TaskSpec, run_mode

OPTION = "approvals"
HANDOVER = "approvals_handover_s"
VALUES = ("dialog", "inbox")
OPTIONS = {OPTION: VALUES, HANDOVER: base.SECONDS}


def wanted(spec: TaskSpec) -> bool:
    """Whether the agent's hook asks the inbox; only its TUI has a dialog to stand in for."""
    interactive = run_mode(spec) is Mode.INTERACTIVE
    return interactive and base.chosen(spec, OPTION, VALUES) == "inbox"


def limits(spec: TaskSpec) -> dict[str, int]:
    """How long the agent waits for the hook of an approval, where it is not as for every hook."""
    return {"approval_limit_s": INBOX_LIMIT_S} if wanted(spec) else {}


def files(spec: TaskSpec) -> dict[str, str]:
    """What the hook reads in the run folder; nothing when the agent's own dialog is to stand."""
    if not wanted(spec):
        return {}
    seconds = spec.adapter_options.get(HANDOVER)
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0
    return {INBOX_FILE: json.dumps({"handover_s": seconds if number else None}) + "\n"}


def problems(spec: TaskSpec, *, never_asks: bool, hint: str) -> list[base.OptionProblem]:
    """An inbox for an agent that would be started so that it never asks."""
    if not wanted(spec) or not never_asks:
        return []
    said = f"approvals: inbox, but {spec.agent_kind} would be started so that it never asks"
    return [base.OptionProblem(OPTION, said, hint, together=True)]
