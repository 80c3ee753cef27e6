"""What an agent can do in one mode."""

from dataclasses import asdict, dataclass
from typing import Any

from cuekit.model.task import Mode


@dataclass(frozen=True)
class Capabilities:
    """True for the mode they are given for, not for the agent at its best."""

    agent_kind: str
    mode: Mode
    supports_steering: bool
    supports_attach: bool
    supports_model_selection: bool
    supports_artifacts: bool
    supports_live_progress: bool
    supports_approvals: bool
    supports_resume: bool
    supports_fork: bool
    supports_interrupt: bool
    supports_activity: bool
    can_modify_tool_input: bool
    partial_message_streaming: bool
    follow_up_while_running: bool
    emits_file_change_events: bool
    default_mode: Mode
    supported_modes: tuple[Mode, ...]

    def as_json(self) -> dict[str, Any]:
        """A JSON object of plain values."""
        return asdict(self) | {"supported_modes": list(self.supported_modes)}
