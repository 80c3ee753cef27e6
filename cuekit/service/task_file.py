"""`task submit --from FILE`: several tasks in one file of YAML (or JSON), all checked first."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from cuekit.config.document import Place, invalid, parsed
from cuekit.config.schema import nearest
from cuekit.errors import InvalidInput
from cuekit.model.times import parse_duration
from cuekit.service.request import SubmitRequest

CODE = "task_file_invalid"
LARGEST = 1_000_000  # bytes; a longer objective belongs into a file of its own
MOST_TASKS = 100
TEXT = (
    "objective",
    "file",
    "agent_kind",
    "model",
    "role",
    "mode",
    "cwd",
    "context",
    "expect",
    "append_system_prompt",
    "timeout",
    "session",
    "name",
    "worktree",
    "idempotency_key",
)
TEXTS = {"add_dir": "add_dirs", "constraint": "constraints", "input": "inputs", "label": "labels"}
FLAGS = ("keep", "lenient", "as_command", "reporting")
OBJECTS = ("adapter_options", "output_schema")
NAMES = (*TEXT, *TEXTS.values(), *FLAGS, *OBJECTS)
OF_ONE = ("objective", "file", "name", "idempotency_key")
"""What can be said of one task alone, not of all."""

Values = dict[str, Any]


class Entry(NamedTuple):
    """One task of the file, with the line in which it begins."""

    request: SubmitRequest
    line: int


def entries(path: str, data: bytes, base: str, common: Mapping[str, Any]) -> list[Entry]:
    """The tasks of a file. `common` is what counts for each that does not say it itself.

    The file is a list of tasks, or `tasks: [...]` with `defaults: {...}` beside it. Relative
    paths in it start at `base`. Raises InvalidInput (`task_file_invalid`) that names file and
    line, and `no_file` for an objective's file that cannot be read.
    """
    if len(data) > LARGEST:
        raise _wrong(path, None, f"is larger than {LARGEST} bytes")
    try:
        values, lines = parsed(path, data)
    except InvalidInput as error:
        error.code = CODE
        raise
    problems: list[tuple[int, str]] = []
    reader = _Reader(lines, problems)
    defaults, tasks, place = reader.parts(values)
    found = [
        ({**common, **defaults, **reader.task((*place, at), task)}, reader.line((*place, at)))
        for at, task in enumerate(tasks)
    ]
    if problems:
        line, text = min(problems)
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        wrong = _wrong(path, line, text + more)
        wrong.details["problems"] = [{"line": at, "problem": said} for at, said in sorted(problems)]
        raise wrong
    return [Entry(_request(path, line, said, base), line) for said, line in found]


class _Reader:
    def __init__(self, lines: Mapping[Place, int], problems: list[tuple[int, str]]) -> None:
        self._lines = lines
        self._problems = problems

    def line(self, place: Place) -> int:
        while place and place not in self._lines:
            place = place[:-1]
        return self._lines.get(place, 1)

    def parts(self, values: Any) -> tuple[Values, list[Any], Place]:
        """The defaults, the tasks, and where those are."""
        if isinstance(values, list):
            return {}, self._counted(values, ()), ()
        if not isinstance(values, dict) or not isinstance(values.get("tasks"), list):
            self._add((), "expected a list of tasks, or `tasks:` with such a list")
            return {}, [], ()
        for name in values:
            if name not in ("defaults", "tasks"):
                self._add((name,), f"{name}: there is defaults and tasks")
        said = values.get("defaults")
        defaults = self.task(("defaults",), said) if said is not None else {}
        for name in OF_ONE:
            if name in defaults:
                self._add(("defaults", name), f"{name}: can be said of one task, not of all")
        return defaults, self._counted(values["tasks"], ("tasks",)), ("tasks",)

    def task(self, place: Place, value: Any) -> Values:
        """One task's values by their names; what is wrong goes to the problems."""
        if isinstance(value, str) and place[0] != "defaults":
            return {"objective": value}
        if not isinstance(value, dict):
            self._add(place, "expected an objective, or names with values")
            return {}
        found: Values = {}
        for name, given in value.items():
            plain = name.replace("-", "_")
            plain = TEXTS.get(plain, plain)
            here = (*place, name)
            if plain not in NAMES:
                self._add(here, f"{name}: unknown name; {nearest(plain, NAMES)}")
            elif plain in found:
                self._add(here, f"{name}: was given already")
            elif given is not None:
                found |= self._checked(here, plain, given)
        return found

    def _checked(self, place: Place, name: str, value: Any) -> Values:
        if name in TEXTS.values():
            several = [value] if isinstance(value, str) else value
            if isinstance(several, list) and all(isinstance(one, str) for one in several):
                return {name: tuple(several)}
            what = "text, or a list of texts"
        elif name in FLAGS:
            if isinstance(value, bool):
                return {name: value}
            what = "true or false"
        elif name in OBJECTS:
            if isinstance(value, dict):
                return {name: value}
            what = "names with values"
        elif name == "worktree" and isinstance(value, bool):
            return {name: "" if value else None}
        elif not isinstance(value, str):
            what = "text (put it into quotes)"
        elif name == "timeout":
            try:
                return {"timeout_s": parse_duration(value)}
            except InvalidInput as error:
                what = f"a duration: {error.message}"
        else:
            return {name: value}
        self._add(place, f"{name}: expected {what}")
        return {}

    def _counted(self, tasks: list[Any], place: Place) -> list[Any]:
        if not tasks:
            self._add(place, "there is no task in it")
        if len(tasks) > MOST_TASKS:
            self._add(place, f"{len(tasks)} tasks; at most {MOST_TASKS} are taken at once")
            return []
        return tasks

    def _add(self, place: Place, text: str) -> None:
        self._problems.append((self.line(place), text))


def _request(path: str, line: int, values: Values, base: str) -> SubmitRequest:
    said = dict(values)
    file = said.pop("file", None)
    if file is not None and "objective" in said:
        raise _wrong(path, line, "give objective or file, not both")
    if file is not None:
        said["objective"] = _text_of(path, line, os.path.join(base, os.path.expanduser(file)))
    if "objective" not in said:
        raise _wrong(path, line, "objective: is missing")
    if "cwd" in said:
        said["cwd"] = os.path.join(base, os.path.expanduser(said["cwd"]))
    said["add_dirs"] = tuple(
        os.path.join(base, os.path.expanduser(one)) for one in said.get("add_dirs", ())
    )
    return SubmitRequest(**said)


def _text_of(path: str, line: int, file: str) -> str:
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read(LARGEST + 1)
    except (OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise _wrong(path, line, f"file: {file} cannot be read: {words}") from None


def _wrong(path: str, line: int | None, text: str) -> InvalidInput:
    error = invalid(path, line, text)
    error.code = CODE
    return error
