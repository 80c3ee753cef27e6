"""What a report does to a verdict, and what the prompt tells of reporting. Pure."""

from dataclasses import replace

import pytest

from cuekit.agents import registry
from cuekit.agents.prompt import render
from cuekit.model.lifecycle import EndCause, Evidence, Status, judge, with_report
from cuekit.model.task import TaskSpec

GOOD = judge(Evidence(EndCause.FINISHED))
BAD = judge(Evidence(EndCause.EXITED, exit_code=1))
SPEC = TaskSpec("codex", objective="do it")


@pytest.mark.parametrize(
    ("reported", "status"),
    [
        (None, Status.COMPLETED),
        ({"type": "completed", "message": "m"}, Status.COMPLETED),
        ({"type": "help_requested", "message": "m"}, Status.COMPLETED),
        ({"type": "failed", "message": "m"}, Status.FAILED),
        ({"type": "blocked", "message": "m"}, Status.BLOCKED),
    ],
)
def test_a_good_end_is_as_good_as_the_child_says(
    reported: dict[str, str] | None, status: Status
) -> None:
    verdict = with_report(GOOD, reported)
    assert verdict.status is status
    assert verdict.error_message == ("m" if status is not Status.COMPLETED else None)


@pytest.mark.parametrize("kind", ["completed", "failed", "blocked", "help_requested"])
def test_a_bad_end_stays_what_the_evidence_says(kind: str) -> None:
    for verdict in (BAD, judge(Evidence(EndCause.CANCELLED)), judge(Evidence(EndCause.TIMED_OUT))):
        assert with_report(verdict, {"type": kind, "message": "m"}) == verdict


def test_the_prompt_tells_of_reporting_only_where_it_is_wanted() -> None:
    assert render(SPEC) == "do it"
    told = render(replace(SPEC, expected_output="a patch", reporting=True))
    objective, expected, section = told.split("\n\n")
    assert (objective, expected) == ("do it", "Expected output:\na patch")
    assert section.startswith("Reporting back:\n")
    assert len(section) < 900
    for word in ("task report", "completed", "failed", "blocked", "progress", "help_requested"):
        assert word in section


def test_a_shell_runs_its_objective_and_nothing_more() -> None:
    spec = TaskSpec("shell", objective="make", reporting=True)
    assert registry.get("shell").prompt_text(spec) == "make"
