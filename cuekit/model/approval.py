"""Approvals: what an agent asks leave for, what may be answered, and how it ended."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

INBOX_LIMIT_S = 86400
"""Seconds that an agent is told to wait for its hook: claude and codex take as much as that."""


class Risk(StrEnum):
    """How far an action reaches, the worst part of it deciding."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"
    DESTRUCTIVE = "destructive"
    UNKNOWN = "unknown"


class ApprovalState(StrEnum):
    """Where a request is: only a pending one can be decided, and each ends once."""

    PENDING = "pending"
    DECIDED = "decided"
    WITHDRAWN = "withdrawn"  # the agent took it back
    EXPIRED = "expired"  # a limit of the agent's own was reached
    ABANDONED = "abandoned"  # whoever asked is gone


class DecisionKind(StrEnum):
    """The answers there are."""

    ALLOW = "allow"
    ALLOW_ALWAYS = "allow_always"
    DENY = "deny"
    ANSWER = "answer"
    CANCEL_RUN = "cancel_run"
    HANDOVER = "handover"  # back to the agent's own dialog (interactive panes only)


class RuleScope(StrEnum):
    """How long an always-rule holds."""

    TASK = "task"
    PROJECT = "project"


@dataclass(frozen=True)
class Option:
    """One answer that the agent itself offers, shown by its name."""

    option_id: str
    name: str
    kind: str  # allow_once, allow_always, reject_once, reject_always, or the agent's own word


@dataclass(frozen=True)
class Question:
    """One question of an agent to its user. `options` may be empty: then any text answers it."""

    key: str
    text: str
    options: tuple[str, ...] = ()
    several: bool = False
    secret: bool = False


@dataclass(frozen=True)
class ApprovalRequest:
    """A gated action or a question, normalised. `native` is what the agent sent, whole."""

    agent_kind: str
    tool: str  # a value of event.Tool
    native_tool: str
    input: dict[str, Any]  # in the vocabulary of event.Tool where it fits, else the native input
    reason: str | None = None  # the agent's own justification
    cwd: str | None = None
    tool_id: str | None = None  # correlates with tool_call_started
    options: tuple[Option, ...] = ()
    questions: tuple[Question, ...] = ()
    can_change_input: bool = False
    can_grant_subset: bool = False  # permissions: some of what is asked may be granted
    can_hand_over: bool = False
    can_cancel_run: bool = True
    native: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """What was decided. `by` and `how` are recorded; adapters map the rest to their wire."""

    kind: DecisionKind
    message: str | None = None  # of a denial: the agent gets it, as the next user text if need be
    changed_input: dict[str, Any] | None = None
    granted: dict[str, Any] | None = None  # the subset of permissions
    scope: str | None = None  # allow_always: task, project; a grant: turn, session
    answers: dict[str, list[str]] | None = None
    by: str = "nobody"  # user, rule:<id>, parent:<task id>, supervisor
    how: str = ""  # pane, shell, mcp, rule, end


def fail_closed(why: str) -> Decision:
    """The answer to a request that nobody can answer any more."""
    return Decision(DecisionKind.DENY, message=why, by="cuekit", how="end")
