"""The pane on a real terminal: lines above, an input line below, keys for approvals.

A key decides on an empty input line alone, never out of a paste, never in the first half second,
and not when another key follows at once: then a message is being typed.
"""

import asyncio
import contextlib
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cuekit.errors import CuekitError
from cuekit.model.approval import Decision
from cuekit.model.event import AgentEvent, EventKind
from cuekit.model.visible import exact
from cuekit.sidecar.pane import Actions
from cuekit.sidecar.printer import Printer
from cuekit.sidecar.question import Question
from cuekit.sidecar.style import style_for
from cuekit.sidecar.view import View
from cuekit.store.approvals import Approval

ALONE_SECONDS = 0.25  # a key is no letter of a word when no other follows it for so long
KEYS = "yatncr123456789 "


class TerminalPane:
    """Satisfies `pane.Pane`."""

    def __init__(self, environ: Mapping[str, str], title: str) -> None:
        self._style = style_for(environ)
        self._view = View(self._style, lambda: shutil.get_terminal_size().columns)
        self._printer = Printer()
        self._title = title
        self._state = "starting"
        self._questions: dict[str, Question] = {}
        self._session: Any = None
        self._actions: Actions | None = None
        self._held_key: asyncio.TimerHandle | None = None
        self._reason_for: str | None = None

    def show(self, event: AgentEvent) -> None:
        """Show an event of the run."""
        self._write(self._view.lines(event))
        if event.kind is EventKind.TURN_STARTED:
            self._set_state("working")
        elif event.kind is EventKind.TURN_COMPLETED:
            self._set_state("idle")
            self._ring()

    def note(self, text: str) -> None:
        """Say something of cuekit's own."""
        self._write([self._style("yellow", f"cuekit: {exact(text)}")])

    def set_pending(self, approvals: Sequence[Approval]) -> None:
        """Show what waits now; what is decided goes away."""
        ids = [one.approval_id for one in approvals]
        for gone in [one for one in self._questions if one not in ids]:
            del self._questions[gone]
        for one in approvals:
            if one.approval_id not in self._questions:
                self._questions[one.approval_id] = self._question(one)
                self._ring()
        question = self._current()
        if question is not None and not question.was_begun:
            self._show_more()
        self._redraw()

    async def run(self, actions: Actions) -> None:
        """Take keys until cancelled."""
        from prompt_toolkit import PromptSession
        from prompt_toolkit.patch_stdout import patch_stdout

        self._actions = actions
        self._session = PromptSession(
            message=self._prompt,
            bottom_toolbar=self._toolbar,
            key_bindings=self._bindings(),
            multiline=True,
            enable_open_in_editor=False,
            output=_output(),
        )
        try:
            with patch_stdout(raw=True):  # for what is printed by others
                printing = asyncio.create_task(self._printer.run(self._session.output))
                try:
                    await self._read(actions)
                finally:
                    printing.cancel()
                    await asyncio.gather(printing, return_exceptions=True)
        finally:
            sys.stdout.write("\x1b[?2004l")

    async def _read(self, actions: Actions) -> None:
        while True:
            try:
                text = await self._session.prompt_async(handle_sigint=False)
            except EOFError:
                actions.end()
                return
            except KeyboardInterrupt:
                actions.interrupt()
                continue
            self._take(text)

    def _take(self, text: str) -> None:
        if not text.strip() or self._actions is None:
            return
        if self._reason_for is not None:
            approval_id, self._reason_for = self._reason_for, None
            question = self._questions.get(approval_id)
            if question is not None:
                self._decide(question, question.in_words(text.strip()))
            else:
                self.note("what you typed was for a request that is over; it was not sent")
            return
        self._actions.send(text.removesuffix("\n"))

    def _bindings(self) -> Any:
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.key_binding import KeyBindings

        bindings = KeyBindings()
        asking = Condition(lambda: self._may_answer())

        @bindings.add("enter")
        def _(event: Any) -> None:
            event.current_buffer.validate_and_handle()

        @bindings.add("escape", "enter")
        def _(event: Any) -> None:
            event.current_buffer.insert_text("\n")

        @bindings.add("c-c")
        def _(event: Any) -> None:
            if event.current_buffer.text or self._reason_for is not None:
                self._reason_for = None
                event.current_buffer.reset()
            elif self._actions is not None:
                self._actions.interrupt()

        @bindings.add("c-d")
        def _(event: Any) -> None:
            if not event.current_buffer.text and self._actions is not None:
                self._actions.end()

        for key in KEYS:
            bindings.add(key, filter=asking)(lambda event: self._key(event))
        return bindings

    def _may_answer(self) -> bool:
        buffer = self._session.default_buffer
        return bool(self._questions) and not buffer.text and self._reason_for is None

    def _key(self, event: Any) -> None:
        """Hold the key for a moment: it decides only if it stays alone."""
        key, buffer = event.data, event.current_buffer
        buffer.insert_text(key)
        loop = asyncio.get_running_loop()

        def decide() -> None:
            if buffer.text == key and not event.is_repeat:
                buffer.reset()
                self._answer(key)

        self._held_key = loop.call_later(ALONE_SECONDS, decide)

    def _answer(self, key: str) -> None:
        question, now = self._current(), time.monotonic()
        if question is None:
            return
        if key == " ":
            self._show_more()
            return
        if not question.counts(now):
            self.note("not yet: " + question.keys())
            return
        if key == "r":
            self._reason_for = question.approval.approval_id
            self._redraw()
            return
        if not key.isdigit() and question.decision(key) is None:
            self.note("that is no answer here: " + question.keys())
            return
        self._decide(question, question.decision(key))

    def _decide(self, question: Question, decision: Decision | None) -> None:
        if self._actions is None:
            return
        if decision is None:
            self._write(question.unanswered())
            return
        try:
            self._actions.decide(question.approval.approval_id, decision)
        except CuekitError as error:
            question.forget_answers()
            self.note(error.message)

    def _question(self, approval: Approval) -> Question:
        size = shutil.get_terminal_size()
        return Question(approval, self._style, (size.columns, size.lines))

    def _current(self) -> Question | None:
        return next(iter(self._questions.values()), None)

    def _show_more(self) -> None:
        question = self._current()
        lines = question.next_page() if question is not None else []
        if question is None or not lines:
            return

        def on_screen() -> None:
            question.shown(time.monotonic())
            self._redraw()

        self._write(lines, on_screen)

    def _write(self, lines: Sequence[str], then: Callable[[], None] | None = None) -> None:
        if lines:
            self._printer.add("".join(f"{line}\n" for line in lines), then)

    def _ring(self) -> None:
        with contextlib.suppress(AttributeError):
            self._session.output.bell()

    def _set_state(self, state: str) -> None:
        self._state = state
        self._redraw()

    def _redraw(self) -> None:
        if self._session is not None and self._session.app.is_running:
            self._session.app.invalidate()

    def _prompt(self) -> str:
        question = self._questions.get(self._reason_for or "")
        return f"{question.asks_for} > " if question is not None else "> "

    def _toolbar(self) -> str:
        question = self._current()
        if question is not None:
            waiting = f" {len(self._questions)} waiting for an answer " if self._questions else ""
            return f"{waiting}· {question.keys()}"
        keys = "Enter: send  Alt-Enter: new line  Ctrl-C: interrupt  Ctrl-D: end"
        return f" {self._title} · {self._state} · {keys}"


def _output() -> Any:
    """The terminal, with bracketed paste on at all times.

    prompt_toolkit turns it off for each line that is printed above the input line. A paste that
    falls into such a moment would come as keys, and a key may decide an approval.
    """
    from prompt_toolkit.output import create_output

    output = create_output()
    output.disable_bracketed_paste = lambda: None  # type: ignore[method-assign]
    return output
