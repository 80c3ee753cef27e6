"""Times and durations in and out."""

import pytest

from cuekit.errors import InvalidInput
from cuekit.model.times import parse_duration, rfc3339, seconds_of, short_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("30m", 1800),
        ("2h", 7200),
        ("1h30m", 5400),
        ("1.5s", 1.5),
        ("250ms", 0.25),
        ("14d", 1209600),
        ("0s", 0),
    ],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "90", "s", "-1s", "1 h", "1h 5m", "1w", "1e3s", "inf", "9999d", "\uff11s"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_duration(text)
    assert caught.value.code == "bad_duration"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "1970-01-01T00:00:00.000Z"),
        (1772359200.25, "2026-03-01T10:00:00.250Z"),
        (0.9996, "1970-01-01T00:00:01.000Z"),
    ],
)
def test_times_are_rfc_3339_in_utc(seconds: float, text: str) -> None:
    assert rfc3339(seconds) == text
    assert seconds_of(text) == pytest.approx(seconds, abs=0.001)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0s"), (3.9, "3s"), (250, "4m10s"), (7500, "2h05m"), (86400 * 3 + 4 * 3600, "3d04h")],
)
def test_durations_for_people_have_two_units(seconds: float, text: str) -> None:
    assert short_duration(seconds) == text
