"""The pane of a supervised task as a person has it: small, without colour, seen late."""

import json
from pathlib import Path
from typing import Any

import pytest

from cuekit.launch import events
from tests.cli.test_own_agents import SETTINGS
from tests.support.wait import wait_until
from tests.support.workplace import Workplace


class Seat:
    """A supervised task on the scripted agent, and its pane."""

    def __init__(self, place: Workplace, width: int, height: int) -> None:
        self.place = place
        home = Path(place.home.root)
        home.mkdir(mode=0o700)
        size = {"multiplexer": {"width": width, "height": height}}
        (home / "config.yaml").write_text(json.dumps(SETTINGS | size))
        self.task_id = place.submit("please make a file", agent_kind="demo")
        self.pane = f"=cuekit-task-{self.task_id}:"
        self.shows("agent' > demo.txt")

    def screen(self) -> str:
        """What the pane shows, with what has scrolled away."""
        return self.place.server.run("capture-pane", "-p", "-S", "-200", "-t", self.pane)

    def shows(self, words: str) -> None:
        """Wait until it stands there; lines may be broken anywhere."""
        wait_until(lambda: words in self.screen().replace("\n", " "), 20, self.screen)

    def type(self, text: str) -> None:
        """Type as a person does."""
        self.place.server.run("send-keys", "-l", "-t", self.pane, text)

    def key(self, name: str) -> None:
        """Press a key by its name."""
        self.place.server.run("send-keys", "-t", self.pane, name)

    def pressed(self, key: str) -> None:
        """Press a key of an approval, again until it counts."""

        def taken() -> bool:
            self.type(key)
            try:
                wait_until(lambda: not self.waits(), 2)
            except AssertionError:
                return False
            return True

        wait_until(taken, 15, self.screen)

    def waits(self) -> bool:
        """Whether the approval waits."""
        return bool(self.place.status(self.task_id)["activity"] == "waiting_approval")

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The task's events of a kind."""
        found = events.read(self.place.task(self.task_id).task_dir)
        return [event for event in found if event["kind"] == kind]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 50)])
def test_what_is_asked_can_be_read_whole_and_a_key_denies(
    workplace: Workplace, width: int, height: int
) -> None:
    seat = Seat(workplace, width, height)
    text = seat.screen()
    assert "echo 'made by the demo'\\''s agent' > demo.txt" in text, text
    assert all(len(line) <= width for line in text.split("\n"))
    assert "> please make a file" in text  # who attaches late sees what was before
    seat.pressed("n")
    seat.shows("Then I leave it.")
    assert [event["decision"] for event in seat.events("approval_resolved")] == ["deny"]
    assert not (workplace.project / "demo.txt").exists()
    seat.key("C-d")
    assert workplace.ended(seat.task_id).status == "completed"
    raw = workplace.transcript(seat.task_id)
    # once when the approval waited, once when the turn was over
    assert raw.count(b"\x07") >= 2


def test_a_reason_in_words_denies_with_it_and_a_paste_of_lines_is_one_message(
    workplace: Workplace,
) -> None:
    workplace.env["NO_COLOR"] = "1"
    seat = Seat(workplace, 80, 24)

    def asks_for_words() -> bool:
        seat.type("r")
        try:
            wait_until(lambda: "reason >" in seat.screen(), 1)
        except AssertionError:
            return False
        return True

    wait_until(asks_for_words, 10, seat.screen)
    seat.type("not on this branch")
    seat.key("Enter")
    seat.shows("Then I leave it.")
    (resolved,) = seat.events("approval_resolved")
    assert resolved["decision"] == "deny"
    workplace.server.paste(seat.pane, "two\nlines")
    seat.key("Enter")
    wait_until(
        lambda: "two\nlines" in [event["text"] for event in seat.events("prompt_accepted")],
        20,
        seat.screen,
    )
    workplace.cancel(seat.task_id)
    raw = workplace.transcript(seat.task_id)
    assert b"\x1b[33m" not in raw
    assert b"\x1b[1m" not in raw
