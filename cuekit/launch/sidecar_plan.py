"""What submit tells the sidecar: `sidecar.json` in the private run folder. No secrets in it."""

import os
from dataclasses import asdict, dataclass, field
from typing import Any

from cuekit import files

FILE_NAME = "sidecar.json"


@dataclass(frozen=True)
class SidecarPlan:
    """The agent to speak to and how; the conversation's first prompt is the task's prompt file."""

    agent_kind: str
    protocol: str  # claude, codex, codex-exec, claude-batch, or acp
    argv: list[str]  # the agent's command without the protocol's own flags
    version: str | None = None
    model: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    append_system_prompt: str | None = None
    add_dirs: list[str] = field(default_factory=list)
    output_schema: dict[str, Any] | None = None
    resume: str | None = None  # the agent's own session id
    fork: bool = False
    folder_trusted: bool = False
    batch: bool = False  # one prompt, then the end

    def text(self) -> str:
        """The content of the file."""
        import json

        return json.dumps(asdict(self))


def read(run_dir: str) -> SidecarPlan | None:
    """The plan in a run folder, or None when there is none that can be read."""
    values: Any = files.read_json(os.path.join(run_dir, FILE_NAME))
    if not isinstance(values, dict):
        return None
    known = SidecarPlan.__dataclass_fields__
    try:
        return SidecarPlan(**{name: value for name, value in values.items() if name in known})
    except TypeError:
        return None
