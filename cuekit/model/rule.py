"""Always-rules: what a person has decided once and for a while, and who it was."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from cuekit.model.approval import RuleScope


class Effect(StrEnum):
    """What a rule does to what it fits."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"  # no rule allows it, the built-in one included: a person decides


@dataclass(frozen=True)
class Rule:
    """One rule; a field that is None fits everything. See docs/approvals.md for what each means."""

    rule_id: str
    effect: Effect
    scope: RuleScope
    scope_ref: str  # a task id, or the root folder of a project
    agent_kind: str | None
    tool: str | None  # a value of event.Tool, or it and the agent's own name: mcp:mcp__x__y
    command: str | None
    path: str | None
    risk: str | None
    made_by: str
    made_at: float  # Unix seconds
    from_approval: str | None = None

    def as_json(self) -> dict[str, Any]:
        """A JSON object of plain values, the time in Unix seconds."""
        return asdict(self) | {"effect": str(self.effect), "scope": str(self.scope)}
