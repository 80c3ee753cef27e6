"""Delivering a message to an agent's pane: as one message, once, and with proof.

Whoever calls this holds the pane's lock. Before each act the target is checked again: a steer
never answers a dialog, never joins a draft, never types at what is left of a dead agent.
"""

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from cuekit.activity.base import ActivityModule, Composer, Screen, SteerPlan
from cuekit.errors import InvalidInput, InvalidState
from cuekit.panes.base import PaneBackend
from cuekit.panes.composer import holds, shows_end
from cuekit.panes.evidence import EventTail, Taken, taken

SPECIAL = "/!$@#"
GENERIC_ENTER_S = 0.3  # gemini lost an Enter 60 ms after a paste, and none at 100 ms
SETTLE_S = 1.5  # how long a composer may be out of sight, since agents redraw
SHOW_S = 5.0  # how long a paste may take to show, and a second more for each so many characters
SHOW_CHARACTERS = 40_000
UNSEEN_S = 1.0  # the same where the screen shows no composer that could be read
EMPTIED_S = 2.0  # claude 2.1.197 loses a paste that comes before it has emptied its composer
RETRY_S = 1.0  # how long Enter may take to act
ENTER_TRIES = 3
CONFIRM_S = 6.0
HOOK_S = 2.5  # from an emptied composer to the agent's hook, on a loaded machine
QUEUED_HOOK_S = 1.0  # a busy agent may take the message much later: no long wait for its word
LOOK_S = 0.05
SHORT = 80  # characters of a text that a warning shows


class WaitsForChange(Protocol):
    """Waits for a change of the task, as `launch.notify.Waiter` does."""

    def wait(self, seconds: float) -> bool:
        """Wait for a change, at most so many seconds; whether there was one."""
        ...


@dataclass(frozen=True)
class Target:
    """The pane and the agent in it."""

    backend: PaneBackend
    pane_id: str
    kind: str
    agent: ActivityModule | None  # None: an agent of which no screen and no event is known
    version: str | None
    task_dir: str
    busy: bool  # the agent is at work, as far as is known
    check: Callable[[], None]  # raises when the agent cannot be typed at
    waiter: Callable[[], AbstractContextManager[WaitsForChange]]


@dataclass
class Receipt:
    """What was seen of a message: submitted, queued, typed or held."""

    state: str
    turn: int | None = None
    evidence: str | None = None
    seq: int | None = None  # the event that is the evidence
    warnings: list[str] = field(default_factory=list)
    texts: tuple[str, ...] = field(default=(), compare=False)  # how events may word the message


def plan_for(target: Target, text: str, *, as_command: bool) -> SteerPlan:
    """How this agent is given this text. Raises InvalidInput (`steer_refused`)."""
    if as_command or target.agent is None:
        return SteerPlan(pieces=(text,), enter_delay_s=GENERIC_ENTER_S)
    plan = target.agent.steer_plan(text, target.version)
    if plan.refusal:
        raise InvalidInput(
            plan.refusal,
            code="steer_refused",
            hint="--as-command sends it as a command" if text[0] in SPECIAL else None,
        )
    return plan


def read(target: Target) -> Screen | None:
    """What the agent's screen shows; None for an agent whose screen is not known."""
    if target.agent is None:
        return None
    return target.agent.read_screen(*target.backend.screen(target.pane_id))


def refuse_dialog(target: Target) -> Screen | None:
    """The screen. Raises InvalidState (`dialog_open`) when a dialog waits there for a person."""
    screen = read(target)
    if screen is not None and screen.dialog is not None:
        raise dialog_open(screen.dialog)
    return screen


def dialog_open(name: str) -> InvalidState:
    """The refusal to type at a dialog: a letter, a digit or Enter would answer it."""
    return InvalidState(
        f"a dialog of the agent is open ({name}): what is typed now would answer it",
        code="dialog_open",
        hint="cuekit task attach ID, and answer it there",
        details={"dialog": name},
    )


def press(target: Target, name: str) -> Receipt:
    """Press one key. Raises InvalidState (`dialog_open`), and what `target.check` raises."""
    target.check()
    refuse_dialog(target)
    receipt = Receipt("typed")
    _note_mode(receipt, target.backend.key(target.pane_id, name))
    return receipt


def deliver(
    target: Target, text: str, *, as_command: bool = False, force: bool = False, submit: bool = True
) -> Receipt:
    """Type a message into the agent's composer, press Enter, and see that the agent took it.

    Raises InvalidInput (`steer_refused`), InvalidState (`dialog_open`, `composer_busy`), and what
    `target.check` raises; nothing has been typed then.
    """
    plan = plan_for(target, text, as_command=as_command)
    target.check()
    before = refuse_dialog(target)
    if not force:
        before = _await_empty(target, before)
    receipt = Receipt("typed")
    if plan.rewritten is not None:
        receipt.warnings.append(
            f"the agent changes this text; the model gets {_short(plan.rewritten)}"
        )
    with target.waiter() as waiter:
        tail = EventTail(target.task_dir)
        _type(target, plan, receipt)
        typed = "".join(plan.pieces)
        screen = _await_shown(target, plan, typed)
        if screen is not None and screen.dialog is not None:
            return _held(receipt, screen.dialog)
        if not submit:
            return receipt
        if screen is not None and screen.composer is Composer.EMPTY:
            receipt.warnings.append("the text never showed in the composer; Enter was not pressed")
            return receipt
        busy = target.busy or bool(before and before.busy)
        receipt.texts = tuple({text, plan.rewritten or text, typed})
        return _submit(target, receipt, tail, waiter, typed, busy)


def _await_empty(target: Target, screen: Screen | None) -> Screen | None:
    deadline = time.monotonic() + SETTLE_S
    while screen is not None and screen.composer is not Composer.EMPTY:
        if time.monotonic() >= deadline:
            raise _composer_busy(screen)
        time.sleep(LOOK_S)
        screen = refuse_dialog(target)
    return screen


def _composer_busy(screen: Screen) -> InvalidState:
    there = screen.composer is Composer.DRAFT
    return InvalidState(
        "the agent's composer holds a draft; the message would join it"
        if there
        else "the agent's composer is not to be seen, so it is not known to be empty",
        code="composer_busy",
        hint="clear it (--key C-u, or task attach), try later, or --force",
        retryable=True,
        details={"draft": screen.draft},
    )


def _type(target: Target, plan: SteerPlan, receipt: Receipt) -> None:
    for number, piece in enumerate(plan.pieces):
        if number:
            time.sleep(plan.pause_s)
            target.check()
        left = target.backend.load_and_paste(target.pane_id, piece, bracketed=plan.bracketed)
        _note_mode(receipt, left)


def _await_shown(target: Target, plan: SteerPlan, typed: str) -> Screen | None:
    """Wait until the text is in the composer; agents lose an Enter that comes with the paste."""
    time.sleep(plan.enter_delay_s)
    start = time.monotonic()
    while True:
        target.check()
        screen = read(target)
        if screen is None or screen.dialog is not None or shows_end(screen.draft, typed):
            return screen
        limit = UNSEEN_S if screen.composer is Composer.HIDDEN else SHOW_S
        if time.monotonic() - start >= limit + len(typed) / SHOW_CHARACTERS:
            return screen
        time.sleep(LOOK_S)


def _submit(
    target: Target,
    receipt: Receipt,
    tail: EventTail,
    waiter: WaitsForChange,
    typed: str,
    busy: bool,
) -> Receipt:
    for _ in range(ENTER_TRIES):
        _note_mode(receipt, target.backend.key(target.pane_id, "Enter"))
        seen, screen = _await_taken(target, tail, waiter, typed, receipt.texts, busy)
        if seen is not None:
            receipt.state, receipt.turn = "submitted", seen.turn
            receipt.evidence, receipt.seq = seen.evidence, seen.seq
            if busy and not seen.begins_turn and getattr(target.agent, "TELLS_OF_QUEUED", False):
                receipt.state, receipt.turn = "queued", None
            _await_emptied(target)
            return receipt
        if screen is None:
            receipt.warnings.append("this agent gives no sign that it took a message")
            return receipt
        if screen.composer is Composer.EMPTY and screen.dialog is None:
            receipt.state = "queued" if busy else "submitted"
            receipt.evidence = "screen"
            return receipt
        if screen.dialog is not None or not holds(screen.draft, typed):
            break  # Enter now could answer a dialog, or submit what somebody else typed
        target.check()
    receipt.warnings.append("the text was typed, and the agent was not seen to take it")
    return receipt


def _await_taken(
    target: Target,
    tail: EventTail,
    waiter: WaitsForChange,
    typed: str,
    texts: tuple[str, ...],
    busy: bool,
) -> tuple[Taken | None, Screen | None]:
    """What is known of the message after Enter: evidence, else the last screen."""
    if target.agent is None:
        return taken(tail.read(), texts), None
    start = time.monotonic()
    emptied_at: float | None = None
    while True:
        seen = taken(tail.read(), texts)
        screen = read(target) or Screen()
        now = time.monotonic()
        if seen is not None:
            return seen, screen
        empty = screen.composer is Composer.EMPTY and screen.dialog is None
        emptied_at = (emptied_at or now) if empty else None
        if emptied_at is not None and now - emptied_at >= (QUEUED_HOOK_S if busy else HOOK_S):
            return None, screen
        lost = screen.composer is Composer.DRAFT and holds(screen.draft, typed)
        if now - start >= (RETRY_S if lost else CONFIRM_S):
            return None, screen
        waiter.wait(LOOK_S)


def _await_emptied(target: Target) -> None:
    """Wait until the composer has let go of the message, so that the next one is not lost."""
    deadline = time.monotonic() + EMPTIED_S
    while time.monotonic() < deadline:
        screen = read(target)
        if screen is None or screen.dialog or screen.composer is not Composer.DRAFT:
            return
        time.sleep(LOOK_S)


def _held(receipt: Receipt, dialog: str) -> Receipt:
    receipt.state = "held"
    receipt.evidence = "screen"
    receipt.warnings.append(
        f"a dialog ({dialog}) opened after the text was typed; Enter would answer it"
    )
    return receipt


def _short(text: str) -> str:
    shown = text if len(text) <= SHORT else f"{text[: SHORT // 2]}…{text[-SHORT // 2 :]}"
    return json.dumps(shown, ensure_ascii=False)


def _note_mode(receipt: Receipt, left: bool) -> None:
    if left:
        receipt.warnings.append("the pane was scrolled back (copy mode); that was ended")
