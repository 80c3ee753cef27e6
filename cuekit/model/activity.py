"""What an agent does at this moment, and the pure reduction of its signals to that."""

from enum import StrEnum
from typing import NamedTuple


class Activity(StrEnum):
    """What the agent does, beside the task's status."""

    WORKING = "working"
    IDLE = "idle"
    WAITING_APPROVAL = "waiting_approval"
    WAITING_INPUT = "waiting_input"
    UNKNOWN = "unknown"


class Source(StrEnum):
    """Where that is known from, the most exact first."""

    SUPERVISOR = "supervisor"
    PROTOCOL = "protocol"
    HOOK = "hook"
    SESSION_LOG = "session_log"
    TITLE = "title"
    SCREEN = "screen"


EXACT = frozenset({Source.SUPERVISOR, Source.PROTOCOL, Source.HOOK, Source.SESSION_LOG})


class SignalKind(StrEnum):
    """One thing that an agent's hook, log, title or screen tells."""

    SESSION_STARTED = "session_started"  # the agent is up; session_id is its own
    PROMPT_ACCEPTED = "prompt_accepted"  # text: the prompt as the agent took it
    WORKING = "working"  # a tool runs, a model answers
    APPROVAL_REQUESTED = "approval_requested"  # tool, text: what is asked for
    DIALOG = "dialog"  # text: name of a start-up or other dialog that waits for a person
    TURN_COMPLETED = "turn_completed"  # text: the agent's last message
    TURN_FAILED = "turn_failed"  # text: the agent's own words
    TURN_INTERRUPTED = "turn_interrupted"
    IDLE = "idle"  # title or screen: nothing runs, without a word on how the turn ended
    AT_REST = "at_rest"  # a title that is the same for an idle agent and for one that waits
    SESSION_ENDED = "session_ended"


class Signal(NamedTuple):
    """A signal with its source; `at` is Unix seconds."""

    kind: SignalKind
    source: Source
    at: float
    text: str | None = None
    session_id: str | None = None
    tool: str | None = None
    log_path: str | None = None  # the agent's own live session file, when the signal names it


class Progress(NamedTuple):
    """What is known of a task's activity; stored with the task."""

    activity: Activity = Activity.UNKNOWN
    since: float = 0.0
    source: Source = Source.SUPERVISOR
    detail: str | None = None  # name of the dialog, tool that waits for approval
    turn: int = 0  # turns begun, counted from 1
    last_turn: str | None = None  # completed, failed, interrupted; None while the first one runs
    summary: str | None = None  # the agent's last message
    turn_error: str | None = None  # the agent's own words about the last failed turn
    agent_session_id: str | None = None


def reduce(progress: Progress, signal: Signal) -> Progress:
    """The progress after a signal. A guess (title, screen) never overrides how a turn ended."""
    if signal.session_id:
        progress = progress._replace(agent_session_id=signal.session_id)
    match signal.kind:
        case SignalKind.SESSION_STARTED:
            if progress.activity in (Activity.WAITING_INPUT, Activity.UNKNOWN):
                return _now(progress, Activity.IDLE, signal)
            return progress
        case SignalKind.PROMPT_ACCEPTED:
            if progress.activity in (Activity.WORKING, Activity.WAITING_APPROVAL):
                return progress  # taken into the running turn
            begun = _now(progress, Activity.WORKING, signal)
            return begun._replace(turn=progress.turn + 1, turn_error=None)
        case SignalKind.WORKING:
            return _working(progress, signal)
        case SignalKind.APPROVAL_REQUESTED:
            return _now(progress, Activity.WAITING_APPROVAL, signal, signal.tool or signal.text)
        case SignalKind.DIALOG:
            return _now(progress, Activity.WAITING_INPUT, signal, signal.text)
        case SignalKind.TURN_COMPLETED:
            return _turn_over(progress, signal, "completed", summary=signal.text)
        case SignalKind.TURN_FAILED:
            return _turn_over(progress, signal, "failed", error=signal.text)
        case SignalKind.TURN_INTERRUPTED:
            return _turn_over(progress, signal, "interrupted")
        case SignalKind.IDLE:
            return _now(progress, Activity.IDLE, signal)
        case SignalKind.AT_REST:
            return _at_rest(progress, signal)
        case SignalKind.SESSION_ENDED:
            return progress


def _at_rest(progress: Progress, signal: Signal) -> Progress:
    """The end of a turn that an exact source began and none told the end of: an interruption."""
    if progress.activity is not Activity.WORKING:
        return progress
    if progress.source in EXACT:
        return _turn_over(progress, signal, "interrupted")
    return _now(progress, Activity.IDLE, signal)


def _now(
    progress: Progress, activity: Activity, signal: Signal, detail: str | None = None
) -> Progress:
    if progress.activity is activity and progress.detail == detail:
        return progress
    return progress._replace(
        activity=activity, since=signal.at, source=signal.source, detail=detail
    )


def _working(progress: Progress, signal: Signal) -> Progress:
    moved = _now(progress, Activity.WORKING, signal)
    at_rest = progress.activity in (Activity.IDLE, Activity.UNKNOWN, Activity.WAITING_INPUT)
    if at_rest and (progress.last_turn is not None or signal.source not in EXACT):
        # A message that had been queued is taken up, of which no other signal tells.
        return moved._replace(turn=progress.turn + 1, turn_error=None)
    return moved._replace(turn=max(progress.turn, 1))


def _turn_over(
    progress: Progress,
    signal: Signal,
    how: str,
    *,
    summary: str | None = None,
    error: str | None = None,
) -> Progress:
    busy = progress.activity in (Activity.WORKING, Activity.WAITING_APPROVAL)
    if busy and progress.source in EXACT and signal.at < progress.since:
        return progress  # the end of the turn before, told after the next one has begun
    if progress.last_turn == "completed" and not busy and how == "failed" and error is None:
        return progress  # a log cannot tell an empty answer from a failure; the hook told first
    told_already = progress.activity is Activity.IDLE and progress.last_turn == how
    if told_already and (how != "completed" or summary in (None, progress.summary)):
        return progress  # by a hook and by the log
    unseen = progress.activity is Activity.IDLE and progress.last_turn is not None
    if unseen and how != "completed":
        return progress._replace(last_turn=how, turn_error=error)
    return _now(progress, Activity.IDLE, signal)._replace(
        turn=max(progress.turn + (1 if unseen else 0), 1),
        last_turn=how,
        summary=summary if summary is not None else progress.summary,
        turn_error=error,
    )
