"""`cuekit task submit --from FILE`: several tasks at once."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from cuekit.cli import render, texts
from cuekit.cli.task_submit import dry_run_text, submitted_text
from cuekit.errors import CuekitError, InvalidInput

Json = dict[str, Any]


def refuse_with(alone: Mapping[str, Any]) -> None:
    """Raises InvalidInput (`usage`) for what makes sense for one task only."""
    wrong = next((name for name, value in alone.items() if value is not None), None)
    if wrong is not None:
        raise InvalidInput(f"--from and {wrong} exclude each other", code="usage")


def submit_several(file: str, values: Mapping[str, Any], *, wait: bool, fmt: str) -> int:
    """Start every task of a file; the exit status is 1 when one could not be started.

    `values` are the options of the command line, which count for each task that does not say
    otherwise.
    """
    data = _read(file)

    from cuekit.service.submit import submit_all
    from cuekit.service.task_file import entries

    shown = "standard input" if file == texts.STDIN else file
    base = os.getcwd() if file == texts.STDIN else os.path.dirname(os.path.abspath(file))
    found = entries(shown, data, base, {name: it for name, it in values.items() if _is_said(it)})
    try:
        made = submit_all([entry.request for entry in found], os.environ)
    except CuekitError as error:
        raise _placed(error, shown, [entry.line for entry in found]) from None
    if wait and not values["dry_run"]:
        return _wait(made, fmt)
    render.emit(made, fmt, as_text)
    return 1 if made["failed"] else 0


def _read(file: str) -> bytes:
    if file == texts.STDIN:
        return sys.stdin.buffer.read(texts.LARGEST)
    try:
        with open(file, "rb") as opened:
            return opened.read(texts.LARGEST)
    except OSError as error:
        raise InvalidInput(
            f"cannot read the tasks from {file}: {(error.strerror or '').lower()}", code="no_file"
        ) from None


def _is_said(value: Any) -> bool:
    return value not in (None, (), {}, False)


def _placed(error: CuekitError, file: str, lines: list[int]) -> CuekitError:
    """The error with the place of the task that it is about."""
    index = error.details.get("index")
    if isinstance(index, int):
        error.message = f"{file}:{lines[index]}: task {index + 1}: {error.message}"
        error.details |= {"file": file, "line": lines[index]}
    return error


def as_text(made: Json) -> str:
    """What was started, and what was not, for people."""
    parts = []
    for index, view in enumerate(made["tasks"]):
        if view is None:
            failure = next(it for it in made["failed"] if it["index"] == index)
            words = render.visible(failure["error"]["message"])
            parts.append(f"task {index + 1} was not started: {words}")
        else:
            parts.append(dry_run_text(view) if "dry_run" in view else submitted_text(view))
    return "\n".join(parts)


def _wait(made: Json, fmt: str) -> int:
    from cuekit.cli.task_status import as_text as status_text
    from cuekit.cli.task_wait import ProgressLine, exit_status
    from cuekit.service.wait import wait

    if fmt == "text":
        render.tell(as_text(made))
    ids = [view["task_id"] for view in made["tasks"] if view is not None]
    line = ProgressLine(fmt)
    try:
        waited = wait(ids, os.environ, progress=line.show if line.wanted else None)
    finally:
        line.clear()
    views = {view["task_id"]: view for view in waited.views}
    joined = [view and view | views[view["task_id"]] for view in made["tasks"]]
    render.emit(
        {"tasks": joined, "failed": made["failed"]},
        fmt,
        lambda it: "\n\n".join(status_text(view, _now()) for view in it["tasks"] if view),
    )
    return 1 if made["failed"] else exit_status(waited, None)


def _now() -> float:
    import time

    return time.time()
