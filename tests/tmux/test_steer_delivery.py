"""Messages delivered into a raw-mode composer with bracketed paste, in a real pane."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cuekit import files
from cuekit.errors import InvalidInput, InvalidState
from cuekit.panes import steer as steering
from cuekit.panes.message import checked
from cuekit.panes.steer import Receipt, deliver, press
from tests.support.composer_agent import ComposerAgent, ComposerPane
from tests.support.tmux import TmuxServer
from tests.support.wait import wait_until

Start = Callable[..., ComposerPane]
AGENT = ComposerAgent()
PIECES = [
    "'", '"', ";", "; ", "\n", "\n\n", "-", "--", " ", "\t", "\\", "\\n", "$", "$(id)", "`id`", "#",
    "#{pane_id}", "#(id)", "%", "%H", "!", "/", "@", "~", "*", "{}", "|", "&", "<", ">", "a", "Z9",
    "word", "é", "e\u0301", "ü", "漢字", "한글", "👩\u200d👩\u200d👧", "🇨🇭", "👍🏽", "שלום",
    "مرحبا", "\u202eabc\u202c", "\u200b", "ﬀ", "\U0001d518", "Enter", "C-c", "[200~", "^[",
    "\u00a0", "\u2028",
]  # fmt: skip


@pytest.fixture
def start(tmux_server: TmuxServer, tmp_path: Path) -> Start:
    def started(*options: str) -> ComposerPane:
        return ComposerPane(tmux_server, tmp_path, *options)

    return started


def generated(random_numbers: random.Random) -> str:
    while True:
        length = random_numbers.choice((1, 2, 3, 8, 20, 60))
        text = "".join(random_numbers.choice(PIECES) for _ in range(length))
        if text.strip():
            return checked(text)


@pytest.mark.timeout(300)  # 25 s on an idle machine
def test_two_thousand_generated_messages_arrive_equal(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = time.time_ns()
    print(f"seed {seed}")
    random_numbers = random.Random(seed)
    sent = [generated(random_numbers) for _ in range(2000)]
    pane = start()
    # The pause is for agents whose screen is not known; this composer needs none.
    monkeypatch.setattr(steering, "GENERIC_ENTER_S", 0.0)
    target = pane.target(None)
    for text in sent:
        deliver(target, text)
    wait_until(lambda: len(pane.messages()) >= len(sent))
    for number, (was, came) in enumerate(zip(sent, pane.messages(), strict=True)):
        assert came == was, f"message {number}, seed {seed}"


EDGES = [
    ";",
    "a;",
    "a\\;",
    "a;;",
    "a ;",
    "Enter",
    "C-c",
    "-l",
    "--",
    "\\",
    "it's\n\n;",
    " x ",
    "\tx",
]


def test_messages_that_multiplexers_lose_arrive_with_their_proof(
    start: Start, tmp_path: Path
) -> None:
    pane = start("--events", str(tmp_path))
    target = pane.target(AGENT)
    receipts = [deliver(target, text) for text in EDGES]
    assert pane.messages() == EDGES
    numbers = range(1, len(EDGES) + 1)
    assert receipts == [Receipt("submitted", n, "hook", n) for n in numbers]


def test_a_hundred_kibibytes_of_many_lines_are_one_message(start: Start, tmp_path: Path) -> None:
    pane = start("--events", str(tmp_path))
    line = "wörd; 'quoted' \\ 漢字 $HOME\n"
    text = checked(line * (102_400 // len(line.encode())) + "end")
    assert len(text.encode()) > 100_000
    assert deliver(pane.target(AGENT), text).state == "submitted"
    assert pane.messages() == [text]


def test_a_program_that_did_not_ask_for_bracketed_paste_gets_no_brackets(start: Start) -> None:
    pane = start("--plain")
    deliver(pane.target(AGENT), "one line; 'quoted'")
    assert pane.messages() == ["one line; 'quoted'"]


def test_an_enter_that_the_agent_lost_is_pressed_again_and_the_text_is_not(start: Start) -> None:
    pane = start("--lose-enters", "2")
    receipt = deliver(pane.target(AGENT), "only once")
    assert pane.messages() == ["only once"]
    assert (receipt.state, receipt.evidence) == ("submitted", "screen")


def test_what_the_agent_never_takes_is_typed_and_not_confirmed(start: Start) -> None:
    pane = start("--lose-enters", "99")
    receipt = deliver(pane.target(AGENT), "stays")
    assert (receipt.state, receipt.evidence) == ("typed", None)
    assert pane.messages() == []
    assert pane.screen().startswith("> stays\n")


def test_a_busy_agent_without_a_word_has_the_message_queued(start: Start) -> None:
    pane = start()
    pane.show("busy")
    receipt = deliver(pane.target(AGENT), "later")
    assert (receipt.state, receipt.evidence) == ("queued", "screen")
    assert pane.messages() == ["later"]


def test_a_dialog_is_never_typed_at(start: Start) -> None:
    pane = start()
    pane.show("dialog")
    target = pane.target(AGENT)
    attempts: list[Callable[[], Receipt]] = [
        lambda: deliver(target, "yes"),
        lambda: deliver(target, "yes", force=True),
        lambda: deliver(target, "y", as_command=True, submit=False),
        lambda: press(target, "Enter"),
    ]
    for attempt in attempts:
        with pytest.raises(InvalidState) as caught:
            attempt()
        assert caught.value.code == "dialog_open"
    assert pane.answers() == b""


def test_a_dialog_that_opens_while_typing_holds_the_message(start: Start) -> None:
    pane = start()
    target = pane.target(AGENT)

    class Opens:
        """The pane, in which a dialog opens right after the paste."""

        def __getattr__(self, name: str) -> object:
            return getattr(pane.tmux, name)

        def load_and_paste(self, pane_id: str, text: str, *, bracketed: bool = True) -> bool:
            left = pane.tmux.load_and_paste(pane_id, text, bracketed=bracketed)
            wait_until(lambda: text in pane.screen())
            pane.show("dialog")
            return left

    receipt = deliver(replace(target, backend=Opens()), "text")  # type: ignore[arg-type]
    assert (receipt.state, receipt.evidence) == ("held", "screen")
    assert pane.answers() == b""
    assert pane.messages() == []


def test_a_draft_is_not_joined_unless_forced(start: Start) -> None:
    pane = start()
    pane.tmux.load_and_paste(pane.pane_id, "do not ")
    wait_until(lambda: "do not" in pane.screen())
    with pytest.raises(InvalidState) as caught:
        deliver(pane.target(AGENT), "delete it")
    assert (caught.value.code, caught.value.exit_status) == ("composer_busy", 4)
    assert caught.value.details["draft"].strip() == "do not"
    assert pane.messages() == []
    deliver(pane.target(AGENT), "delete it", force=True)
    assert pane.messages() == ["do not delete it"]


def test_a_composer_that_is_not_seen_is_not_known_to_be_empty(start: Start) -> None:
    pane = start()
    pane.show("hidden")
    with pytest.raises(InvalidState) as caught:
        deliver(pane.target(AGENT), "text")
    assert caught.value.code == "composer_busy"
    pane.show("idle")
    deliver(pane.target(AGENT), "text")
    assert pane.messages() == ["text"]


def test_copy_mode_is_ended_and_told_of(start: Start, tmux_server: TmuxServer) -> None:
    pane = start()
    tmux_server.run("copy-mode", "-t", pane.pane_id)
    receipt = deliver(pane.target(None), "text")
    assert pane.messages() == ["text"] or wait_until(lambda: pane.messages() == ["text"])
    assert "copy mode" in receipt.warnings[0]


def test_without_submit_the_text_is_only_typed(start: Start) -> None:
    pane = start()
    receipt = deliver(pane.target(AGENT), "a draft", submit=False)
    assert receipt == Receipt("typed")
    assert pane.screen().startswith("> a draft\n")
    assert pane.messages() == []


def test_what_the_agent_would_act_on_is_refused_and_sent_as_a_command_on_request(
    start: Start,
) -> None:
    pane = start()
    target = pane.target(ComposerAgent(refusal="it runs what begins with !"))
    with pytest.raises(InvalidInput) as caught:
        deliver(target, "!ls")
    assert (caught.value.code, caught.value.hint) == (
        "steer_refused",
        "--as-command sends it as a command",
    )
    assert pane.screen().startswith(">\n")
    deliver(target, "!ls", as_command=True)
    assert pane.messages() == ["!ls"]


def test_two_senders_at_once_send_two_whole_messages(start: Start, tmp_path: Path) -> None:
    pane = start("--events", str(tmp_path))
    texts = [f"sender {n}: " + "x" * 3000 for n in range(4)]
    together = threading.Barrier(len(texts))

    def send(text: str) -> None:
        together.wait()
        with files.locked(str(tmp_path / "pane.lock"), 30):
            deliver(pane.target(AGENT), text)

    senders = [threading.Thread(target=send, args=(text,)) for text in texts]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(60)
    assert sorted(pane.messages()) == texts


def test_an_agent_that_ended_gets_nothing(start: Start) -> None:
    pane = start()

    def gone() -> None:
        raise InvalidState("gone", code="agent_gone")

    with pytest.raises(InvalidState, match="gone"):
        deliver(replace(pane.target(AGENT), check=gone), "text")
    assert pane.screen().startswith(">\n")
