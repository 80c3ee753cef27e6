"""One approval as it stands in the pane: its pages, its keys, and what a key decides. Pure."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unicodedata import east_asian_width

from cuekit.model.approval import Decision, DecisionKind, RuleScope
from cuekit.model.visible import exact, exact_lines
from cuekit.service.offers import offered
from cuekit.sidecar.style import Style
from cuekit.sidecar.view import headline
from cuekit.store.approvals import Approval

HALF_SECOND = 0.5
KEYS = {
    "y": (Decision(DecisionKind.ALLOW), "allow"),
    "a": (Decision(DecisionKind.ALLOW_ALWAYS, scope=RuleScope.PROJECT), "always in this project"),
    "t": (Decision(DecisionKind.ALLOW_ALWAYS, scope=RuleScope.TASK), "always in this task"),
    "n": (Decision(DecisionKind.DENY), "deny"),
    "c": (Decision(DecisionKind.CANCEL_RUN), "stop the turn"),
}
SHOWN_ABOVE = ("command", "path", "url", "query", "pattern", "tool")  # as `view.headline` does
LEAST_ROWS = 5


class Question:
    """What is asked and what was shown of it; a key counts once all of it was shown."""

    def __init__(self, approval: Approval, style: Style, size: tuple[int, int]) -> None:
        """`size` is that of the terminal, columns and rows."""
        self.approval = approval
        self._style = style
        columns, rows = size
        self._pages = _pages(_body(approval, max(20, columns - 5)), max(LEAST_ROWS, rows - 8))
        self._given = 0  # pages on their way to the screen, or on it
        self._shown = 0
        self._since = 0.0
        self._answers: dict[str, list[str]] = {}

    def next_page(self) -> list[str]:
        """The next part, with the keys behind it; [] while one is on its way, and after the last.

        `shown` is to be called when it is on the screen.
        """
        if self._given > self._shown or self._given >= len(self._pages):
            return []
        page = self._pages[self._given]
        self._given += 1
        head = [self._style("yellow", self._title())] if self._given == 1 else []
        body = [f"  {self._style('bold', '|')} {line}" for line in page]
        return [*head, *body, self._style("yellow", "  " + self._keys(self._given))]

    def shown(self, now: float) -> None:
        """The page that was given is on the screen since `now`."""
        self._shown = self._given
        self._since = now

    @property
    def was_begun(self) -> bool:
        """Whether a page of it was given."""
        return self._given > 0

    def counts(self, now: float) -> bool:
        """Whether a key decides: all of it was shown, and for half a second."""
        return self._shown >= len(self._pages) and now - self._since >= HALF_SECOND

    def keys(self) -> str:
        """The keys that count now, in words."""
        if self._given > self._shown:
            return "not on the screen yet"
        return self._keys(self._shown)

    def _keys(self, shown: int) -> str:
        if shown < len(self._pages):
            return f"space: more ({shown} of {len(self._pages)})"
        if self.approval.questions:
            return self._keys_of_question()
        kinds = offered(self.approval)
        words = [f"{key}: {words}" for key, (one, words) in KEYS.items() if one.kind in kinds]
        at = next((n for n, word in enumerate(words) if word.startswith("n:")), len(words))
        return "  ".join([*words[: at + 1], "r: deny with a reason", *words[at + 1 :]])

    def decision(self, key: str) -> Decision | None:
        """What a key decides; None for one that decides nothing (yet)."""
        if self.approval.questions and key.isdigit():
            options = self._question["options"]
            chosen = options[int(key) - 1] if 0 < int(key) <= len(options) else None
            return self._answered([chosen]) if chosen is not None else None
        found = KEYS.get(key)
        if found is None or found[0].kind not in offered(self.approval):
            return None
        return replace(found[0], by="user", how="pane")

    def in_words(self, text: str) -> Decision | None:
        """What words decide: a denial with a reason, or the answer to a question (or part of it).

        Where several options may be chosen, their numbers or texts, with commas between.
        """
        if not self.approval.questions:
            return Decision(DecisionKind.DENY, message=text, by="user", how="pane")
        options = self._question["options"]
        parts = [text]
        if options and self._question.get("several"):
            parts = [part.strip() for part in text.split(",") if part.strip()]
        return self._answered([_by_number(part, options) for part in parts])

    @property
    def asks_for(self) -> str:
        """What the words that are typed next are."""
        return "answer" if self.approval.questions else "reason"

    def unanswered(self) -> list[str]:
        """The question that is open now, when there are several, and its keys."""
        words = exact_lines(str(self._question["text"]))
        return [*words, self._style("yellow", "  " + self.keys())]

    def forget_answers(self) -> None:
        """Begin with the first question again."""
        self._answers = {}

    @property
    def _question(self) -> dict[str, Any]:
        at = min(len(self._answers), len(self.approval.questions) - 1)
        return self.approval.questions[at]

    def _answered(self, values: list[str]) -> Decision | None:
        self._answers[str(self._question["key"])] = values
        if len(self._answers) < len(self.approval.questions):
            return None
        return Decision(DecisionKind.ANSWER, answers=self._answers, by="user", how="pane")

    def _keys_of_question(self) -> str:
        options = self._question["options"]
        words = [f"{n}: {exact(str(one))}" for n, one in enumerate(options[:9], start=1)]
        several = self._question.get("several")
        words.append("r: several (1,2)" if several else "r: answer in words")
        count = len(self.approval.questions)
        head = f"({len(self._answers) + 1} of {count})  " if count > 1 else ""
        return head + "  ".join([*words, "n: no answer", "c: stop the turn"])

    def _title(self) -> str:
        one = self.approval
        asks = "asks" if one.questions else f"asks leave for {one.tool} (risk: {one.risk})"
        return f"? {one.agent_kind} {asks}  {one.approval_id}"


def _by_number(text: str, options: Sequence[Any]) -> str:
    return str(options[int(text) - 1]) if text.isdecimal() and _fits(text, options) else text


def _fits(text: str, options: Sequence[Any]) -> bool:
    return text not in options and 0 < int(text) <= len(options)


def _body(approval: Approval, width: int) -> list[str]:
    """Everything that is asked, each character visible, nothing folded away."""
    texts: list[str] = []
    if approval.reason:
        texts.append(f"reason: {approval.reason}")
    for question in approval.questions:
        texts.append(str(question["text"]))
        texts += [f"  {n}. {one}" for n, one in enumerate(question["options"], start=1)]
    if not approval.questions:
        texts.append(headline(approval.input))
        above = next((name for name in SHOWN_ABOVE if approval.input.get(name)), None)
        if above is not None:
            texts += [
                f"{name}: {_as_text(value)}"
                for name, value in approval.input.items()
                if name != above and value is not None
            ]
    if approval.cwd and approval.cwd != approval.input.get("cwd"):
        texts.append(f"in {approval.cwd}")
    return [row for text in texts for line in exact_lines(text) for row in _rows(line, width)]


def _rows(line: str, width: int) -> list[str]:
    """A line in rows of the terminal, since what the terminal folds is not counted."""
    rows, room = [""], width
    for letter in line:
        columns = 2 if east_asian_width(letter) in "WF" else 1
        if room < columns:
            rows.append("")
            room = width
        rows[-1] += letter
        room -= columns
    return rows


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _pages(lines: list[str], size: int) -> list[list[str]]:
    return [lines[at : at + size] for at in range(0, len(lines), size)] or [[]]
