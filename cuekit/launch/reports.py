"""What the events of a task say about a signal. Pure."""

from typing import Any

from cuekit.model.activity import Progress, Signal, SignalKind

Report = tuple[str, dict[str, Any]]


def report(before: Progress, after: Progress, signal: Signal) -> list[Report]:
    """The events for one signal: kind and values, in order."""
    reports: list[Report] = []
    if signal.session_id and before.agent_session_id != after.agent_session_id:
        reports.append(("session_started", {"agent_session_id": signal.session_id}))
    if after.turn > before.turn:
        reports.append(("turn_started", {"turn": after.turn}))
    if signal.kind is SignalKind.PROMPT_ACCEPTED:
        reports.append(("prompt_accepted", {"turn": after.turn, "text": signal.text}))
    if signal.kind is SignalKind.APPROVAL_REQUESTED and before.activity is not after.activity:
        asked = {"tool": signal.tool, "text": signal.text, "source": str(signal.source)}
        reports.append(("approval_requested", asked))
    if (before.turn, before.last_turn, before.activity) != (
        after.turn,
        after.last_turn,
        after.activity,
    ) and signal.kind in (
        SignalKind.TURN_COMPLETED,
        SignalKind.TURN_FAILED,
        SignalKind.TURN_INTERRUPTED,
    ):
        ended = {"turn": after.turn, "outcome": after.last_turn, "message": signal.text}
        reports.append(("turn_completed", ended))
    if before.activity is not after.activity:
        moved = {
            "activity": str(after.activity),
            "source": str(after.source),
            "detail": after.detail,
        }
        reports.append(("status", moved))
    return reports
