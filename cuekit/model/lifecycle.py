"""The states of a task, the one table of moves between them, and the verdict on an ended child."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple


class Status(StrEnum):
    """Where a task is in its life."""

    QUEUED = "queued"
    RUNNING = "running"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    BLOCKED = "blocked"


ENDS = frozenset(
    {Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.TIMED_OUT, Status.BLOCKED}
)
NEXT: dict[Status, frozenset[Status]] = {
    Status.QUEUED: frozenset({Status.RUNNING, Status.FAILED, Status.CANCELLED}),
    Status.RUNNING: ENDS | {Status.INPUT_REQUIRED},
    Status.INPUT_REQUIRED: (ENDS - {Status.BLOCKED}) | {Status.RUNNING},
    **{end: frozenset() for end in ENDS},
}
ACTIVE = tuple(status for status in Status if status not in ENDS)


def may_move(old: Status, new: Status) -> bool:
    """Whether the table allows the move."""
    return new in NEXT[old]


class EndCause(StrEnum):
    """Why the supervisor (or a later command) says that the child is over."""

    EXITED = "exited"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    FINISHED = "finished"
    PANE_LOST = "pane_lost"
    SUPERVISOR_LOST = "supervisor_lost"
    NEVER_STARTED = "never_started"


class Evidence(NamedTuple):
    """What is known when a child has ended.

    `turn_ended_well` is the agent's own word on its last turn: True, False, or None when this
    agent gives no such word in this mode (then the exit status alone decides).
    """

    cause: EndCause
    exit_code: int | None = None
    exit_signal: int | None = None
    turn_ended_well: bool | None = None
    agent_words: str | None = None


class Verdict(NamedTuple):
    """How a task ended: the status, and the error of one that did not complete."""

    status: Status
    error_code: str | None = None
    error_message: str | None = None
    error_hint: str | None = None


def judge(evidence: Evidence) -> Verdict:
    """The end that the evidence allows; a doubt is a failure, never a success."""
    match evidence.cause:
        case EndCause.CANCELLED:
            return Verdict(Status.CANCELLED)
        case EndCause.TIMED_OUT:
            return Verdict(
                Status.TIMED_OUT,
                "task_timed_out",
                "the task's own time limit was reached",
                "submit it again with a longer --timeout",
            )
        case EndCause.FINISHED:
            return Verdict(Status.COMPLETED)
        case EndCause.PANE_LOST:
            return Verdict(
                Status.FAILED,
                "pane_lost",
                "the pane was closed from outside while the agent was in it",
            )
        case EndCause.SUPERVISOR_LOST:
            return Verdict(
                Status.FAILED,
                "supervisor_lost",
                "the task's supervisor was killed, so how the agent ended is not known",
            )
        case EndCause.NEVER_STARTED:
            return Verdict(
                Status.FAILED,
                "never_started",
                "the submit was broken off before the agent was started",
                "submit it again",
            )
        case EndCause.EXITED:
            return _judge_exit(evidence)


def _judge_exit(evidence: Evidence) -> Verdict:
    words = f": {evidence.agent_words}" if evidence.agent_words else ""
    if evidence.exit_signal is not None:
        return Verdict(
            Status.FAILED,
            "agent_killed",
            f"the agent was ended by signal {evidence.exit_signal}{words}",
        )
    if evidence.exit_code in (126, 127) and not evidence.turn_ended_well:
        return Verdict(
            Status.FAILED,
            "agent_not_started",
            f"the agent could not be started (exit {evidence.exit_code}){words}",
            "cuekit doctor",
        )
    if evidence.exit_code != 0:
        return Verdict(
            Status.FAILED, "agent_failed", f"the agent exited with {evidence.exit_code}{words}"
        )
    if evidence.turn_ended_well is False:
        return Verdict(
            Status.FAILED,
            "turn_not_completed",
            f"the agent exited with 0, but its last turn did not end well{words}",
        )
    return Verdict(Status.COMPLETED)


def with_report(verdict: Verdict, reported: Mapping[str, Any] | None) -> Verdict:
    """The end as the child's own standing report has it.

    A report can make a good end a worse one, never the other way round: that needs evidence.
    """
    if reported is None or verdict.status is not Status.COMPLETED:
        return verdict
    match reported.get("type"):
        case "failed":
            return Verdict(Status.FAILED, "reported_failed", str(reported.get("message")))
        case "blocked":
            return Verdict(
                Status.BLOCKED,
                "reported_blocked",
                str(reported.get("message")),
                "cuekit task resume goes on with it, once the way is clear",
            )
    return verdict
