"""The session that speaks a plan's protocol."""

from collections.abc import Callable
from importlib import import_module

from cuekit.errors import CuekitError
from cuekit.launch.sidecar_plan import SidecarPlan
from cuekit.protocols.base import AgentSession, Links, SessionSetup

SESSIONS = {
    "claude": ("claude_stream", "ClaudeStream"),
    "codex": ("codex_appserver", "CodexAppServer"),
    "codex-exec": ("codex_exec", "CodexExec"),
    "claude-batch": ("claude_batch", "ClaudeBatch"),
    "acp": ("acp", "AcpSession"),
}


def open_session(plan: SidecarPlan, setup: SessionSetup, links: Links) -> AgentSession:
    """The session object of the plan's protocol; nothing is started yet."""
    try:
        module, name = SESSIONS[plan.protocol]
    except KeyError:
        raise CuekitError(
            f"this cuekit does not speak {plan.protocol!r}", code="unknown_protocol"
        ) from None
    make: Callable[[SessionSetup, Links], AgentSession] = getattr(
        import_module(f"cuekit.protocols.{module}"), name
    )
    return make(setup, links)
