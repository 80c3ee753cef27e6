"""From an agent's signals to what it does now."""

from cuekit.model.activity import Activity, Progress, Signal, SignalKind, Source, reduce


def run(*signals: Signal) -> Progress:
    progress = Progress()
    for signal in signals:
        progress = reduce(progress, signal)
    return progress


def hook(kind: SignalKind, at: float = 1.0, **values: str) -> Signal:
    return Signal(kind, Source.HOOK, at, **values)


def log(kind: SignalKind, at: float = 1.0, text: str | None = None) -> Signal:
    return Signal(kind, Source.SESSION_LOG, at, text=text)


def test_a_turn_from_prompt_to_answer() -> None:
    assert run(
        hook(SignalKind.SESSION_STARTED, 1, session_id="abc"),
        hook(SignalKind.PROMPT_ACCEPTED, 2, text="do it"),
        hook(SignalKind.WORKING, 3),
        hook(SignalKind.TURN_COMPLETED, 4, text="done"),
    ) == Progress(
        activity=Activity.IDLE,
        since=4,
        source=Source.HOOK,
        turn=1,
        last_turn="completed",
        summary="done",
        agent_session_id="abc",
    )


def test_a_second_telling_of_the_same_end_changes_nothing() -> None:
    once = run(hook(SignalKind.PROMPT_ACCEPTED), hook(SignalKind.TURN_COMPLETED, 2, text="done"))
    assert reduce(once, log(SignalKind.TURN_COMPLETED, 3, "done")) == once


def test_a_prompt_taken_into_a_running_turn_begins_no_other() -> None:
    progress = run(
        hook(SignalKind.PROMPT_ACCEPTED, text="one"), hook(SignalKind.PROMPT_ACCEPTED, text="two")
    )
    assert (progress.turn, progress.activity) == (1, Activity.WORKING)


def test_a_queued_message_that_is_taken_up_begins_a_turn() -> None:
    answered = run(
        hook(SignalKind.PROMPT_ACCEPTED), hook(SignalKind.TURN_COMPLETED, 2, text="first")
    )
    assert reduce(answered, hook(SignalKind.WORKING, 3)).turn == 2
    unseen = reduce(answered, hook(SignalKind.TURN_COMPLETED, 3, text="second"))
    assert (unseen.turn, unseen.summary) == (2, "second")


def test_an_interrupted_and_a_failed_turn_end_the_turn() -> None:
    working = run(hook(SignalKind.PROMPT_ACCEPTED))
    interrupted = reduce(working, log(SignalKind.TURN_INTERRUPTED, 2))
    assert (interrupted.activity, interrupted.last_turn) == (Activity.IDLE, "interrupted")
    failed = reduce(working, log(SignalKind.TURN_FAILED, 2, "no quota"))
    assert (failed.activity, failed.last_turn, failed.turn_error) == (
        Activity.IDLE,
        "failed",
        "no quota",
    )


def test_a_failure_is_forgotten_when_the_next_prompt_is_taken() -> None:
    progress = run(
        hook(SignalKind.PROMPT_ACCEPTED),
        log(SignalKind.TURN_FAILED, 2, "no quota"),
        hook(SignalKind.PROMPT_ACCEPTED, 3),
    )
    assert (progress.turn, progress.turn_error, progress.activity) == (2, None, Activity.WORKING)


def test_an_approval_and_a_dialog_wait_for_somebody() -> None:
    asked = run(
        hook(SignalKind.PROMPT_ACCEPTED), hook(SignalKind.APPROVAL_REQUESTED, 2, tool="Bash")
    )
    assert (asked.activity, asked.detail, asked.since) == (Activity.WAITING_APPROVAL, "Bash", 2)
    dialog = run(Signal(SignalKind.DIALOG, Source.SCREEN, 1, text="trust"))
    assert (dialog.activity, dialog.detail) == (Activity.WAITING_INPUT, "trust")


def test_the_same_activity_keeps_the_time_it_began() -> None:
    progress = run(hook(SignalKind.PROMPT_ACCEPTED, 1), hook(SignalKind.WORKING, 5))
    assert progress.since == 1


def test_a_title_that_shows_rest_does_not_say_how_the_turn_ended() -> None:
    progress = run(hook(SignalKind.PROMPT_ACCEPTED, 1), Signal(SignalKind.IDLE, Source.TITLE, 3))
    assert (progress.activity, progress.source, progress.last_turn) == (
        Activity.IDLE,
        Source.TITLE,
        None,
    )


def test_the_end_of_an_older_turn_does_not_end_the_one_that_runs() -> None:
    queued = run(
        hook(SignalKind.PROMPT_ACCEPTED, 1.0),
        hook(SignalKind.TURN_COMPLETED, 2.0, text="one"),
        hook(SignalKind.PROMPT_ACCEPTED, 2.2),
    )
    assert reduce(queued, log(SignalKind.TURN_COMPLETED, 2.1, "one")) == queued
    assert reduce(queued, log(SignalKind.TURN_COMPLETED, 2.3, "two")).summary == "two"


def test_a_failure_without_words_does_not_unmake_an_empty_answer() -> None:
    answered = run(hook(SignalKind.PROMPT_ACCEPTED, 1.0), hook(SignalKind.TURN_COMPLETED, 2.0))
    assert reduce(answered, log(SignalKind.TURN_FAILED, 2.1)) == answered
    failed = reduce(run(hook(SignalKind.PROMPT_ACCEPTED, 1.0)), log(SignalKind.TURN_FAILED, 2.1))
    assert (failed.last_turn, failed.turn_error) == ("failed", None)
