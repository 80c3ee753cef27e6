"""The table of docs/acp.md: what each recorded agent does and cannot do, read from its recording.

python -m tests.support.acp_table            check the document
python -m tests.support.acp_table --write    bring it up to date
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.agent_tables import DOCS, table, with_table
from tests.support.agent_versions import on_request
from tests.support.recorder.files import FIXTURES, read_lines

DOCUMENT = DOCS / "acp.md"
Message = tuple[str, dict[str, Any]]


@cache
def messages(folder: Path, scenario: str) -> tuple[Message, ...]:
    """What both sides said in a recording, in order; other lines are left out."""
    found = []
    for mark, line in read_lines(folder / f"{scenario}.ndjson"):
        if mark in "<>":
            message = json.loads(line)
            if isinstance(message, dict):
                found.append((mark, message))
    return tuple(found)


def _answers(folder: Path, scenario: str) -> list[str]:
    """How each prompt was answered."""
    asked = {m["id"] for mark, m in messages(folder, scenario) if m.get("method") == PROMPT}
    found = []
    for mark, message in messages(folder, scenario):
        if mark == "<" and "method" not in message and message.get("id") in asked:
            result = message.get("result")
            found.append(result["stopReason"] if result else str(message["error"]["code"]))
    return found


PROMPT = "session/prompt"
PERMISSION = "session/request_permission"


def start(folder: Path) -> str:
    """The mode that the session names."""
    for _, message in messages(folder, "01-simple-turn"):
        result = message.get("result")
        if isinstance(result, dict) and "sessionId" in result:
            modes = (result.get("modes") or {}).get("currentModeId")
            options = {o["id"]: o.get("currentValue") for o in result.get("configOptions") or ()}
            return (
                f"`{modes}`"
                if modes
                else f"option `{options['mode']}`"
                if "mode" in options
                else "none"
            )
    return "?"


def options(folder: Path) -> str:
    """What it offers for a command."""
    for _, message in messages(folder, "04-allow"):
        if message.get("method") == PERMISSION:
            return ", ".join(f"{o['optionId']} ({o['kind']})" for o in message["params"]["options"])
    return "never asked"


def always(folder: Path) -> str:
    """What goes out for "always"."""
    asked = [m for _, m in messages(folder, "07-allow-always") if m.get("method") == PERMISSION]
    chosen = [
        m["result"]["outcome"].get("optionId")
        for mark, m in messages(folder, "07-allow-always")
        if mark == ">" and "outcome" in (m.get("result") or {})
    ]
    return f"{chosen[0]} and our rule; it asked {len(asked)} times"


def refusal(folder: Path) -> str:
    """How the turn of a denial ends, and where its reason goes."""
    return f"`{_answers(folder, '05-deny')[0]}`; the reason follows as the next prompt"


def cancelled(folder: Path) -> str:
    """The end of a turn whose request was answered by cancelling the run."""
    return f"`{_answers(folder, '06-cancel-run')[0]}`"


def busy(folder: Path) -> str:
    """What becomes of a second prompt."""
    held, answered, sent = True, False, 0
    for mark, message in messages(folder, "11-follow-up-while-running"):
        if mark == ">" and message.get("method") == PROMPT:
            sent += 1
            held = held and (sent < 2 or answered)
        result = message.get("result")
        answered = answered or (mark == "<" and isinstance(result, dict) and "stopReason" in result)
    if held:
        return "held here until the turn is over"
    events = json.loads((folder / "11-follow-up-while-running.events.json").read_text())
    texts = [v["text"] for kind, v in events if kind == "assistant_text" and not v["partial"]]
    return f"sent at once; both answered ({len(texts)} messages)"


def interrupted(folder: Path) -> str:
    """The answer of an interrupted prompt: in a stream, a command, and while it asks."""
    names = ("12-interrupt", "13-interrupt-command", "14-interrupt-approval")
    return ", ".join(f"`{_answers(folder, name)[0]}`" for name in names)


def change(folder: Path) -> str:
    """The file change of the events."""
    events = json.loads((folder / "09-file-change.events.json").read_text(encoding="utf-8"))
    values = next(values for kind, values in events if kind == "file_change")
    return f"{values['change']}, {values['source']}, " + ("diff" if values["diff"] else "no diff")


def loaded(folder: Path) -> str:
    """When the history of a loaded session is told."""
    before = after = 0
    state = ""
    for mark, message in messages(folder, "15-resume"):
        if message.get("method") == "session/load":
            state = str(message["id"])
        elif state and mark == "<" and str(message.get("id")) == state:
            state = "done"
        elif mark == ">" and state:
            state = ""
        elif message.get("method") == "session/update" and state:
            update = message["params"]["update"]["sessionUpdate"]
            if update in ("user_message_chunk", "agent_message_chunk"):
                before, after = (before, after + 1) if state == "done" else (before + 1, after)
    return f"{before} messages before the answer, {after} after it; swallowed"


def usage(folder: Path) -> str:
    """Where it tells its tokens."""
    for _, message in messages(folder, "01-simple-turn"):
        result = message.get("result")
        if isinstance(result, dict) and "stopReason" in result:
            meta = result.get("_meta") or {}
            places = ["`usage`"] if "usage" in result else []
            places += [f"`_meta.{name}`" for name in ("usage", "quota") if name in meta]
            return ", ".join(places) or "not told"
    return "not told"


def failed(folder: Path) -> str:
    """The answer of a prompt whose model refuses the request."""
    return f"`{_answers(folder, '16-failed-turn')[0]}`"


def nowhere(folder: Path) -> str:
    """What the protocol has no message for."""
    return "no: ACP has no place for it"


ROWS: Sequence[tuple[str, str, Callable[[Path], str]]] = (
    ("mode at the start", "01", start),
    ("its options for a command", "04", options),
    ("always", "07", always),
    ("denied", "05", refusal),
    ("run cancelled at a request", "06", cancelled),
    ("second prompt while busy", "11", busy),
    ("interrupted: stream, command, request", "12 to 14", interrupted),
    ("file change in the events", "09", change),
    ("session loaded", "15", loaded),
    ("tokens of a prompt", "01", usage),
    ("model answers with an error", "16", failed),
    ("input changed by the decision", "-", nowhere),
    ("questions to the user", "-", nowhere),
)


def made() -> str:
    """The whole table."""
    agents = [(v.name, v.version, FIXTURES / v.name / v.version) for v in on_request()]
    head = ("behaviour", "recording", *(f"{name} {version}" for name, version, _ in agents))
    rows = [(what, where, *(read(f) for _, _, f in agents)) for what, where, read in ROWS]
    return table(head, rows)


def main() -> None:
    """Command line entry; exit status 1 when the document is not what the recordings say."""
    text = DOCUMENT.read_text(encoding="utf-8")
    wanted = with_table(text, made())
    if "--write" in sys.argv[1:]:
        DOCUMENT.write_text(wanted, encoding="utf-8")
    elif text != wanted:
        sys.exit("docs/acp.md is outdated: python -m tests.support.acp_table --write")


if __name__ == "__main__":
    main()
