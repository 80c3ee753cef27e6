"""The moves between states, and the verdict on an ended child."""

import pytest

from cuekit.model.lifecycle import ENDS, EndCause, Evidence, Status, judge, may_move

ALLOWED = {
    ("queued", "running"),
    ("queued", "failed"),
    ("queued", "cancelled"),
    ("running", "completed"),
    ("running", "failed"),
    ("running", "input_required"),
    ("running", "blocked"),
    ("running", "cancelled"),
    ("running", "timed_out"),
    ("input_required", "running"),
    ("input_required", "completed"),
    ("input_required", "failed"),
    ("input_required", "cancelled"),
    ("input_required", "timed_out"),
}


def test_exactly_the_moves_of_the_specification_are_allowed() -> None:
    moves = {(str(old), str(new)) for old in Status for new in Status if may_move(old, new)}
    assert moves == ALLOWED


def test_an_end_is_final() -> None:
    assert not [(end, new) for end in ENDS for new in Status if may_move(end, new)]


@pytest.mark.parametrize(
    ("evidence", "status", "code"),
    [
        (Evidence(EndCause.EXITED, 0), "completed", None),
        (Evidence(EndCause.EXITED, 0, turn_ended_well=True), "completed", None),
        (Evidence(EndCause.EXITED, 0, turn_ended_well=False), "failed", "turn_not_completed"),
        (Evidence(EndCause.EXITED, 1, turn_ended_well=True), "failed", "agent_failed"),
        (Evidence(EndCause.EXITED, 127), "failed", "agent_not_started"),
        (Evidence(EndCause.EXITED, 126), "failed", "agent_not_started"),
        (Evidence(EndCause.EXITED, 137, 9), "failed", "agent_killed"),
        (Evidence(EndCause.CANCELLED, 0, turn_ended_well=True), "cancelled", None),
        (Evidence(EndCause.TIMED_OUT, 143, 15), "timed_out", "task_timed_out"),
        (Evidence(EndCause.FINISHED, 143, 15), "completed", None),
        (Evidence(EndCause.PANE_LOST), "failed", "pane_lost"),
        (Evidence(EndCause.SUPERVISOR_LOST), "failed", "supervisor_lost"),
        (Evidence(EndCause.NEVER_STARTED), "failed", "never_started"),
    ],
)
def test_a_doubt_is_never_a_success(evidence: Evidence, status: str, code: str | None) -> None:
    verdict = judge(evidence)
    assert (verdict.status, verdict.error_code) == (status, code)


def test_the_agents_words_are_in_the_message() -> None:
    verdict = judge(Evidence(EndCause.EXITED, 1, agent_words="quota is used up"))
    assert verdict.error_message == "the agent exited with 1: quota is used up"
