"""Approvals as text for people: what is shown is what is asked."""

from collections.abc import Iterator, Mapping
from typing import Any

from cuekit.cli import render
from cuekit.model.visible import exact, exact_lines, hides_something

LONGEST_CELL = 400
MARK = "  | "
ANSWERS = {
    "allow": "allow",
    "allow_always": "allow --always task|project",
    "deny": "deny [--message TEXT]",
    "answer": "answer KEY=VALUE...",
    "cancel_run": "cancel-run",
    "handover": "handover",
}
DECIDED = {
    "allow": "allowed",
    "allow_always": "allowed, from now on always",
    "deny": "denied",
    "answer": "answered",
    "cancel_run": "the run is being ended",
    "handover": "handed to the pane",
}


def table(found: Mapping[str, Any]) -> str:
    """The list; a state only where it is another than pending."""
    rows = [
        [
            one["approval_id"],
            one["task_id"],
            one["agent_kind"],
            one["risk"],
            one["state"],
            what(one),
        ]
        for one in found["approvals"]
    ]
    if not rows:
        return "nothing waits for an answer"
    headers = ("APPROVAL", "TASK", "AGENT", "RISK", "STATE", "ASKS FOR")
    return render.table(headers, rows, render.screen_width())


def line(one: Mapping[str, Any]) -> str:
    """One approval as one line."""
    end = "" if one["state"] == "pending" else f"  ({_end(one)})"
    return (
        f"{one['requested_at']}  {one['approval_id']}  {one['task_id']}  {one['state']:<9}  "
        f"{one['risk']:<11}  {what(one)}{end}"
    )


def decided(one: Mapping[str, Any]) -> str:
    """What became of it."""
    return f"{one['approval_id']}  {_end(one)}"


def what(one: Mapping[str, Any]) -> str:
    """What is asked for, on one line and perhaps cut: `approval show` has all of it."""
    values = one["input"]
    for name in ("command", "path", "url", "query", "pattern"):
        if isinstance(values.get(name), str):
            said = values[name]
            break
    else:
        said = render.as_json(values) if values else ""
    shown = exact(said)
    if len(shown) > LONGEST_CELL:
        shown = shown[:LONGEST_CELL] + "…"
    return f"{one['tool']}: {shown}" if shown else str(one["tool"])


def whole(one: Mapping[str, Any]) -> str:
    """All of it. Each line of the agent's stands behind a mark, so that none can pose as ours."""
    lines = [
        f"{'approval':<9} {one['approval_id']}",
        f"{'task':<9} {one['task_id']} ({one['agent_kind']})",
        f"{'tool':<9} {one['tool']} ({exact(one['native_tool'])})",
        f"{'risk':<9} {one['risk']}",
    ]
    if one["cwd"]:
        lines.append(f"{'folder':<9} {exact(one['cwd'])}")
    state = one["state"] if one["state"] == "pending" else f"{one['state']}: {_end(one)}"
    lines.append(f"{'state':<9} {state}, asked at {one['requested_at']}")
    hidden = False
    for name, value in _blocks(one):
        hidden = hidden or hides_something(value)
        shown = exact_lines(value)
        count = f" ({len(shown)} lines)" if len(shown) > 1 else ""
        lines += [f"{exact(name)}{count}", *(MARK + part for part in shown)]
    if hidden:
        lines.append("note: it holds characters that are not seen; they are shown as escapes")
    if one["state"] == "pending":
        answers = ", ".join(ANSWERS[kind] for kind in one["may"])
        lines.append(f"{'answers':<9} {answers}")
    return "\n".join(lines)


def _blocks(one: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if one["reason"]:
        yield "reason", one["reason"]
    for name, value in one["input"].items():
        yield name, value if isinstance(value, str) else render.as_json(value)
    for question in one["questions"]:
        options = "".join(f"\n  {option}" for option in question.get("options") or ())
        yield f"question {question['key']}", f"{question['text']}{options}"
    if one["options"]:
        yield "offered by the agent", "\n".join(option["name"] for option in one["options"])


def _end(one: Mapping[str, Any]) -> str:
    decision = one["decision"]
    if not decision:
        return str(one["state"])
    words = DECIDED.get(decision["kind"], decision["kind"])
    message = f": {render.one_line(decision['message'])}" if decision.get("message") else ""
    return f"{words} by {render.one_line(str(one['decided_by']))}{message}"
