"""What is known of each agent that speaks ACP, as one table. Pure.

Measured: grok 1.0.41, gemini 0.61.0, opencode 1.18.33, claude-agent-acp 0.101.0, codex-acp 2.6.0
and (by Zed) 0.16.0, qwen 0.24.4, copilot 1.0.102.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from cuekit.protocols.acp_values import Json, object_of, text_of


class FollowUp(StrEnum):
    """What an agent does with a prompt that comes while another one runs."""

    QUEUED = "queued"  # runs it afterwards
    JOINED = "joined"  # takes it into the running turn; all are answered together
    HELD = "held"  # drops one of the two, so it is kept here


@dataclass(frozen=True)
class AcpAgent:
    """How one agent is to be treated."""

    name: str
    asking_modes: tuple[str, ...] = ()  # the first is set; each of them asks
    has_modes: bool = True  # False: asks in the only mode that it has
    follow_up: FollowUp = FollowUp.HELD
    environment: Mapping[str, str] = field(default_factory=dict)  # makes it ask
    credentials: Mapping[str, str] = field(default_factory=dict)  # variable -> method of sign-in
    login: str = ""  # what a person runs to sign in
    title_is_command: bool = False
    replays_late: bool = False  # the history of a loaded session comes after the result
    load_within_minute: bool = True  # False: a load in the minute of the start destroys the session
    model_by_flag: bool = False  # else the session sets it


# opencode allows everything by default; no request was ever seen without this.
OPENCODE_ASKS = '{"bash":"ask","edit":"ask"}'

AGENTS = {
    "grok": AcpAgent(
        "grok",
        has_modes=False,
        follow_up=FollowUp.QUEUED,
        credentials={"XAI_API_KEY": "xai.api_key"},
        login="grok login",
        model_by_flag=True,
    ),
    "gemini": AcpAgent(
        "gemini",
        asking_modes=("default", "plan"),
        credentials={"GEMINI_API_KEY": "gemini-api-key"},
        login="gemini (once, to sign in)",
        title_is_command=True,
        replays_late=True,
        load_within_minute=False,
        model_by_flag=True,
    ),
    "opencode": AcpAgent(
        "opencode",
        has_modes=False,
        follow_up=FollowUp.JOINED,
        environment={"OPENCODE_PERMISSION": OPENCODE_ASKS},
        login="opencode auth login",
    ),
    "qwen": AcpAgent("qwen", asking_modes=("default", "plan"), login="qwen"),
    "claude-agent-acp": AcpAgent(
        "claude-agent-acp",
        asking_modes=("default", "plan"),
        follow_up=FollowUp.QUEUED,
        login="claude /login",
    ),
    "codex-acp": AcpAgent(
        "codex-acp",
        asking_modes=("read-only", "workspace-write"),
        login="codex login",
    ),
}
GENERIC_MODES = ("default", "ask", "manual", "read-only", "plan")
"""Names under which agents have a mode that asks."""

GENERIC = AcpAgent("the agent", asking_modes=GENERIC_MODES)
QUEUES_FROM = 1
"""codex-acp of the ACP project (1.0 and up) queues; that by Zed (0.x) never answers a second."""


def known(kind: str) -> AcpAgent:
    """What is known before the agent has said who it is."""
    return AGENTS.get(kind, replace(GENERIC, name=kind or GENERIC.name))


def recognised(agent: AcpAgent, kind: str, hello: Json) -> AcpAgent:
    """The same after `initialize`: a configured command may be one of the bridges."""
    if kind in AGENTS:
        return agent
    info = object_of(hello, "agentInfo")
    said = (text_of(info, "name") or "").lower()
    for name, entry in AGENTS.items():
        if name in said:
            version = text_of(info, "version") or "0"
            queues = name == "codex-acp" and _major(version) >= QUEUES_FROM
            return replace(entry, follow_up=FollowUp.QUEUED) if queues else entry
    return agent


def asking_in(agent: AcpAgent, mode: str) -> AcpAgent:
    """The same, asking in the mode that the user named."""
    return replace(agent, asking_modes=(mode,), has_modes=True)


def version_of(hello: Json) -> str | None:
    """The agent's own version: grok has no agentInfo and tells it elsewhere."""
    return text_of(object_of(hello, "agentInfo"), "version") or text_of(
        object_of(hello, "_meta"), "agentVersion"
    )


def steers(hello: Json) -> bool:
    """Whether the agent announces `_session/steering`."""
    places = (object_of(hello, "_meta"), object_of(hello, "agentCapabilities", "_meta"))
    return any(object_of(place, "steering").get("supported") is True for place in places)


def sign_in_method(agent: AcpAgent, hello: Json, environment: Mapping[str, str]) -> str | None:
    """A way to sign in that needs nobody: the agent offers it, and its variable is set."""
    methods = hello.get("authMethods")
    offered = [text_of(entry, "id") for entry in methods or () if isinstance(entry, dict)]
    for variable, method in agent.credentials.items():
        if method in offered and environment.get(variable):
            return method
    return None


def _major(version: str) -> int:
    first = version.split(".", 1)[0]
    return int(first) if first.isdecimal() else 0


def as_text(value: Any) -> str | None:
    """A text, or nothing."""
    return value if isinstance(value, str) and value else None
