"""One approval as it stands in the pane: its pages, its keys, and what a key decides. Pure."""

from dataclasses import replace

from cuekit.model.approval import Decision, DecisionKind, RuleScope
from cuekit.model.visible import exact, exact_lines
from cuekit.sidecar.style import Style
from cuekit.sidecar.view import headline
from cuekit.store.approvals import Approval

HALF_SECOND = 0.5
LEAST_ROWS = 5


class Question:
    """What is asked and what was shown of it; a key counts once all of it was shown."""

    def __init__(self, approval: Approval, style: Style, rows: int, now: float) -> None:
        self.approval = approval
        self._style = style
        self._pages = _pages(_body(approval), max(LEAST_ROWS, rows - 8))
        self._shown = 0
        self._since = now

    def next_page(self, now: float) -> list[str]:
        """The next part, with the keys behind the last one; [] when all of it was shown."""
        if self._shown >= len(self._pages):
            return []
        page = self._pages[self._shown]
        self._shown += 1
        self._since = now
        head = [self._style("yellow", self._title())] if self._shown == 1 else []
        body = [f"  {self._style('bold', '|')} {line}" for line in page]
        return [*head, *body, self._style("yellow", "  " + self.keys())]

    @property
    def was_shown(self) -> bool:
        """Whether any of it was shown."""
        return self._shown > 0

    def counts(self, now: float) -> bool:
        """Whether a key decides: all of it was shown, and for half a second."""
        return self._shown >= len(self._pages) and now - self._since >= HALF_SECOND

    def keys(self) -> str:
        """The keys, in words."""
        if self._shown < len(self._pages):
            return f"space: more ({self._shown} of {len(self._pages)})"
        if self.approval.questions:
            options = self.approval.questions[0]["options"]
            digits = ", ".join(f"{n} {exact(o)}" for n, o in enumerate(options[:9], start=1))
            return f"{digits + ', or ' if digits else ''}r: answer in words, n: no answer, c: stop"
        return (
            "y: allow  a: always in this project  t: always in this task  "
            "n: deny  r: deny with a reason  c: stop the turn"
        )

    def decision(self, key: str) -> Decision | None:
        """What a key decides; None for one that decides nothing."""
        if self.approval.questions:
            return self._answer(key)
        decided = {
            "y": Decision(DecisionKind.ALLOW),
            "a": Decision(DecisionKind.ALLOW_ALWAYS, scope=RuleScope.PROJECT),
            "t": Decision(DecisionKind.ALLOW_ALWAYS, scope=RuleScope.TASK),
            "n": Decision(DecisionKind.DENY),
            "c": Decision(DecisionKind.CANCEL_RUN),
        }.get(key)
        return replace(decided, by="user", how="pane") if decided else None

    def in_words(self, text: str) -> Decision:
        """What words decide: the answer to a question, else a denial with a reason."""
        if self.approval.questions:
            key = str(self.approval.questions[0]["key"])
            return Decision(DecisionKind.ANSWER, answers={key: [text]}, by="user", how="pane")
        return Decision(DecisionKind.DENY, message=text, by="user", how="pane")

    def _answer(self, key: str) -> Decision | None:
        question = self.approval.questions[0]
        if key in ("n", "c"):
            kind = DecisionKind.DENY if key == "n" else DecisionKind.CANCEL_RUN
            return Decision(kind, by="user", how="pane")
        if key.isdigit() and 0 < int(key) <= len(question["options"]):
            answer = {str(question["key"]): [question["options"][int(key) - 1]]}
            return Decision(DecisionKind.ANSWER, answers=answer, by="user", how="pane")
        return None

    def _title(self) -> str:
        one = self.approval
        asks = "asks" if one.questions else f"asks leave for {one.tool} (risk: {one.risk})"
        return f"? {one.agent_kind} {asks}  {one.approval_id}"


def _body(approval: Approval) -> list[str]:
    """Everything that is asked, each character visible, nothing folded away."""
    lines: list[str] = []
    if approval.reason:
        lines += exact_lines(f"reason: {approval.reason}")
    for question in approval.questions:
        lines += exact_lines(str(question["text"]))
    if not approval.questions:
        lines += exact_lines(headline(approval.input))
        rest = {
            name: value
            for name, value in approval.input.items()
            if name not in ("command", "path", "url", "query", "pattern") and value is not None
        }
        for name, value in rest.items():
            lines += exact_lines(f"{name}: {value}")
    if approval.cwd:
        lines += exact_lines(f"in {approval.cwd}")
    return lines


def _pages(lines: list[str], size: int) -> list[list[str]]:
    return [lines[at : at + size] for at in range(0, len(lines), size)] or [[]]
