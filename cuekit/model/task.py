"""A task: what is asked of one child agent, and how it is to be run."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

ID_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
TASK_ID = re.compile(r"t_[a-z0-9]{8}\Z")


class Mode(StrEnum):
    """How the agent runs in its pane."""

    INTERACTIVE = "interactive"
    BATCH = "batch"
    SUPERVISED = "supervised"


@dataclass(frozen=True)
class TaskSpec:
    """One delegation: everything that its author said, and nothing learned about the machine."""

    agent_kind: str
    objective: str
    context: str | None = None
    constraints: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    expected_output: str | None = None
    role: str | None = None
    role_instructions: str | None = None
    cwd: str | None = None
    add_dirs: tuple[str, ...] = ()
    model: str | None = None
    timeout_s: float | None = None
    adapter_options: dict[str, Any] = field(default_factory=dict)
    reporting: bool = False  # whether the prompt ends with how to report back


def run_mode(spec: TaskSpec) -> Mode:
    """The mode that the options name; anything unknown is interactive, as designed."""
    named = spec.adapter_options.get("mode")
    try:
        return Mode(named) if isinstance(named, str) else Mode.INTERACTIVE
    except ValueError:
        return Mode.INTERACTIVE


def skips_permissions(spec: TaskSpec) -> bool:
    """Whether the agent runs without asking: so unless the option is given as a literal false."""
    return spec.adapter_options.get("dangerously_skip_permissions") is not False


def new_task_id() -> str:
    """A short random id, safe as a file name and as a tmux name."""
    import secrets  # costs 4 ms, and most commands make no id

    return "t_" + "".join(secrets.choice(ID_LETTERS) for _ in range(8))


def tmux_session_name(task_id: str) -> str:
    """The name of the tmux session that holds the task's pane."""
    return f"cuekit-task-{task_id}"
