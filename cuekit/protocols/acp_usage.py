"""Where ACP agents tell what a prompt has used; each has a place of its own. Pure.

`usage_update` (opencode, claude's bridge), `usage` of the prompt's result (those two, codex's
bridge 2.6, and copilot, which counts the whole session), `_meta.quota` (gemini), `_meta.usage`
(grok). Some tell nothing at all.
"""

from typing import Any

from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols.acp_values import Json, object_of, present, whole_number


class Usage:
    """Keeps the cost that updates tell, for the tokens that come with the prompt's result."""

    def __init__(self) -> None:
        self._cost: float | None = None

    def update(self, update: Json) -> list[AgentEvent]:
        """How full the model's context is; and the session's cost so far, where it is told."""
        cost = object_of(update, "cost")
        amount = cost.get("amount")
        if cost.get("currency") == "USD" and isinstance(amount, int | float):
            self._cost = float(amount)
        values: dict[str, Any] = present(
            used=whole_number(update, "used"), size=whole_number(update, "size"), cost=cost or None
        )
        return [AgentEvent(EventKind.STATUS, {"what": "context", **values})]

    def of_prompt(self, result: Json) -> list[AgentEvent]:
        """The tokens of a prompt, from whichever place has them."""
        quota = object_of(result, "_meta", "quota", "token_count")
        for told in (object_of(result, "usage"), object_of(result, "_meta", "usage"), quota):
            inputs = whole_number(told, "inputTokens", "input_tokens")
            outputs = whole_number(told, "outputTokens", "output_tokens")
            if inputs is not None and outputs is not None:
                cached = whole_number(told, "cachedReadTokens", "cached_read_tokens")
                reasoning = whole_number(told, "thoughtTokens", "reasoningTokens")
                values = {
                    "input_tokens": inputs,
                    "output_tokens": outputs,
                    **present(cached_input_tokens=cached, reasoning_tokens=reasoning),
                    "cost_usd": self._cost,
                }
                return [AgentEvent(EventKind.USAGE, values)]
        return []
