"""Events as lines for the pane. Pure: events in, lines out; the agent's text made safe."""

import textwrap
from collections.abc import Callable
from typing import Any

from cuekit.model.event import AgentEvent, EventKind
from cuekit.model.visible import exact, exact_lines
from cuekit.sidecar.style import Style

OUTPUT_LINES = 10
DIFF_LINES = 60
MOST_SHOWN = 100_000  # characters of one text; the events have all of it
MOST_HEADLINE = 2000  # of a call that runs already; what is to be allowed is shown whole
WORDS = {"completed": "green", "failed": "red", "interrupted": "yellow"}


class View:
    """Turns the events of one run into lines; it remembers what of a text was shown already."""

    def __init__(self, style: Style, width: Callable[[], int]) -> None:
        self._style = style
        self._width = width
        self._pending = ""  # streamed text that is not a whole line yet
        self._streamed: dict[str, int] = {}  # characters shown, by item
        self._item = ""
        self._tools: dict[str, str] = {}

    def lines(self, event: AgentEvent) -> list[str]:
        """The lines that an event adds."""
        handler = getattr(self, f"_{event.kind.value}", None)
        if handler is None:
            return []
        if event.kind is EventKind.ASSISTANT_TEXT:
            return list(handler(event.values))
        return [*self._flush(), *handler(event.values)]

    def _assistant_text(self, values: dict[str, Any]) -> list[str]:
        text, item = str(values.get("text") or ""), str(values.get("item_id") or "")
        if values.get("partial"):
            lines = self._flush() if item != self._item else []
            self._item = item
            self._streamed[item] = self._streamed.get(item, 0) + len(text)
            return [*lines, *self._stream(text)]
        shown = self._streamed.pop(item, 0)
        text, more = _cut(text[shown:])
        if shown:
            return [*self._stream(text), *self._flush(), *more]
        return [*self._flush(), *self._wrapped(text), *more]

    def _stream(self, text: str) -> list[str]:
        *whole, self._pending = (self._pending + text).split("\n")
        lines = [line for one in whole for line in self._wrapped(one)]
        width = self._width()
        while len(self._pending) > width:
            cut = self._pending.rfind(" ", 1, width)
            cut = cut if cut > 0 else width
            lines.append(exact(self._pending[:cut]))
            self._pending = self._pending[cut:].removeprefix(" ")
        return lines

    def _flush(self) -> list[str]:
        text, self._pending = self._pending, ""
        return self._wrapped(text) if text else []

    def _wrapped(self, text: str, indent: str = "") -> list[str]:
        width = max(20, self._width() - len(indent))
        lines: list[str] = []
        for line in exact_lines(text):
            cut = textwrap.wrap(
                line, width, replace_whitespace=False, drop_whitespace=False, tabsize=4
            )
            lines += [indent + one for one in cut or [""]]
        return lines

    def _thinking(self, values: dict[str, Any]) -> list[str]:
        if values.get("partial"):
            return []
        first = str(values.get("text") or "").strip().partition("\n")[0]
        return [self._style("dim", f"· {exact(first)[: self._width() - 2]}")] if first else []

    def _prompt_accepted(self, values: dict[str, Any]) -> list[str]:
        text, cut = _cut(str(values.get("text") or ""))
        lines = [*exact_lines(text), *cut]
        more = [f"  … {len(lines) - 20} more lines"] if len(lines) > 20 else []
        return [self._style("cyan", line) for line in [f"> {lines[0]}", *lines[1:20], *more]]

    def _tool_call_completed(self, values: dict[str, Any]) -> list[str]:
        if values.get("tool_id") in self._tools:
            return []
        return self._call(values)

    def _tool_call_started(self, values: dict[str, Any]) -> list[str]:
        return self._call(values) if values.get("input") else []

    def _call(self, values: dict[str, Any]) -> list[str]:
        tool = str(values.get("tool") or "tool")
        self._tools[str(values.get("tool_id"))] = tool
        first, *rest = exact_lines(headline(values.get("input") or {})[:MOST_HEADLINE])
        lines = [f"{self._style('blue', '●')} {self._style('bold', tool)}  {first}"]
        return lines + [f"    {line}" for line in rest[:OUTPUT_LINES]]

    def _tool_result(self, values: dict[str, Any]) -> list[str]:
        text, more = _cut(str(values.get("text") or "").rstrip("\n"))
        lines = [*exact_lines(text), *more]
        shown = [f"  {line}" for line in lines[:OUTPUT_LINES] if line or len(lines) > 1]
        if len(lines) > OUTPUT_LINES:
            shown.append(f"  … {len(lines) - OUTPUT_LINES} more lines")
        if values.get("is_error"):
            code = values.get("exit_code")
            note = f"  failed ({code})" if code is not None else "  failed"
            return [*[self._style("dim", line) for line in shown], self._style("red", note)]
        return [self._style("dim", line) for line in shown]

    def _file_change(self, values: dict[str, Any]) -> list[str]:
        path = exact(str(values.get("path")))
        lines = [f"{self._style('yellow', '±')} {path}  ({values.get('change')})"]
        diff = _cut(str(values.get("diff") or ""))[0].split("\n")
        for line in diff[:DIFF_LINES] if diff != [""] else []:
            colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")
            lines.append("  " + self._style(colour, exact(line)))
        if len(diff) > DIFF_LINES:
            lines.append(self._style("dim", f"  … {len(diff) - DIFF_LINES} more lines"))
        return lines

    def _plan(self, values: dict[str, Any]) -> list[str]:
        marks = {"completed": "✓", "in_progress": "▸"}
        return [
            f"  {marks.get(str(entry.get('state')), '○')} {exact(str(entry.get('text')))}"
            for entry in values.get("entries") or []
            if isinstance(entry, dict)
        ]

    def _session_started(self, values: dict[str, Any]) -> list[str]:
        model = f", {exact(str(values['model']))}" if values.get("model") else ""
        return [self._style("dim", f"session {values.get('agent_session_id')}{model}")]

    def _turn_started(self, values: dict[str, Any]) -> list[str]:
        return [self._style("dim", f"── turn {values.get('turn')} ──")]

    def _turn_completed(self, values: dict[str, Any]) -> list[str]:
        outcome = str(values.get("outcome"))
        words = "" if outcome == "completed" else str(values.get("message") or "")
        line = f"── {outcome}" + (f": {exact(words)}" if words else "") + " ──"
        return [self._style(WORDS.get(outcome, "red"), line)]

    def _approval_resolved(self, values: dict[str, Any]) -> list[str]:
        decision, by = values.get("decision"), values.get("decided_by")
        if decision is None:
            return [self._style("yellow", f"✗ {values.get('state')}: {values.get('how')}")]
        allowed = str(decision).startswith("allow") or decision == "answer"
        mark, colour = ("✓", "green") if allowed else ("✗", "red")
        return [self._style(colour, f"{mark} {decision} by {by} ({values.get('how')})")]

    def _usage(self, values: dict[str, Any]) -> list[str]:
        parts = [
            f"{values[name]} {word}"
            for name, word in (
                ("input_tokens", "in"),
                ("cached_input_tokens", "cached"),
                ("output_tokens", "out"),
            )
            if values.get(name) is not None
        ]
        if values.get("cost_usd") is not None:
            parts.append(f"${values['cost_usd']:.4f}")
        return [self._style("dim", "tokens: " + ", ".join(parts))] if parts else []

    def _error(self, values: dict[str, Any]) -> list[str]:
        colour = "yellow" if values.get("recoverable") else "red"
        return [self._style(colour, f"! {exact(str(values.get('message')))}")]


def _cut(text: str) -> tuple[str, list[str]]:
    """What is shown of a very long text, and a line that says so."""
    if len(text) <= MOST_SHOWN:
        return text, []
    left = len(text) - MOST_SHOWN
    return text[:MOST_SHOWN], [f"… {left} more characters: cuekit task events"]


def headline(fields: dict[str, Any]) -> str:
    """The one thing that a tool's input is about."""
    for name in ("command", "path", "url", "query", "pattern", "tool"):
        if fields.get(name):
            return str(fields[name])
    return ", ".join(f"{name}: {value}" for name, value in fields.items())
