"""What a caller asks of `submit`, as one frozen value; the same for every way to ask."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cuekit.errors import InvalidInput
from cuekit.service import lookup

Ask = Callable[[str], bool]
"""Puts a yes-or-no question to a person; `submit` gets None where nobody can be asked."""

OBJECTIVE_BYTES = 1_000_000
"""The longest objective that `submit` takes, in bytes of UTF-8."""


@dataclass(frozen=True)
class SubmitRequest:
    """Every option of `task submit` that reaches the service; None or empty means "not given".

    Paths are as the caller typed them, relative ones to the caller's own folder.
    `session` is the id of a session that the task is to belong to; by default the project's.
    """

    objective: str
    agent_kind: str | None = None
    model: str | None = None
    role: str | None = None
    mode: str | None = None
    cwd: str | None = None
    add_dirs: tuple[str, ...] = ()
    context: str | None = None
    constraints: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    expect: str | None = None
    adapter_options: dict[str, Any] = field(default_factory=dict)
    timeout_s: float | None = None
    session: str | None = None
    labels: tuple[str, ...] = ()
    name: str | None = None
    trust: bool = False
    keep: bool = False
    dry_run: bool = False
    lenient: bool = False
    as_command: bool = False
    append_system_prompt: str | None = None
    output_schema: dict[str, Any] | None = None
    resume: str | None = None  # the agent's own session id
    fork: bool = False
    resumed_from: str | None = None  # the task whose conversation goes on
    reporting: bool | None = None  # whether the prompt tells how to report back
    worktree: str | None = None  # a branch for a git worktree of its own; "" takes a new one
    in_worktree: dict[str, Any] | None = None  # the worktree of the task that is resumed
    idempotency_key: str | None = None  # a second submit with it gives the first one's task
    via: str = "shell"  # how it was asked for: shell, or mcp


def check_texts(request: SubmitRequest) -> None:
    """Raise InvalidInput for a text that no agent could be given as it is.

    Codes: `empty_objective`, `objective_too_long`, `nul_in_text`, `invalid_utf8`, `bad_name`,
    `bad_session`, `bad_idempotency_key`, `bad_timeout`.
    """
    for name, text in _texts(request):
        _check_text(name, text)
    _check_options(request.adapter_options)
    _check_label("name", request.name)
    _check_label("session", request.session)
    _check_label("idempotency_key", request.idempotency_key)
    if request.timeout_s is not None and request.timeout_s <= 0:
        raise InvalidInput(
            "a time limit of nothing would end the task before it began",
            code="bad_timeout",
            hint="leave --timeout out for no limit",
        )
    if not request.objective.strip():
        raise InvalidInput(
            "the objective is empty",
            code="empty_objective",
            hint='cuekit task submit "what the agent is to do"',
        )
    size = len(request.objective.encode("utf-8"))
    if size > OBJECTIVE_BYTES:
        raise InvalidInput(
            f"the objective has {size} bytes; at most {OBJECTIVE_BYTES} are taken",
            code="objective_too_long",
            hint="put the long part into a file and name that file with --input",
        )


def _check_text(name: str, text: str) -> None:
    if "\0" in text:
        raise InvalidInput(f"the {name} holds a NUL character", code="nul_in_text")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInput(f"the {name} is not valid UTF-8", code="invalid_utf8") from None


def _check_label(name: str, text: str | None) -> None:
    if text is not None and not (text.strip() and text.isprintable()):
        raise InvalidInput(
            f"the {name.replace('_', ' ')} is empty or holds a control character: {text!r}",
            code=f"bad_{name}",
        )


def _check_options(value: Any) -> None:
    """Check every text in the adapter options: JSON can spell what no argument can carry."""
    if isinstance(value, str):
        _check_text("adapter options' text", value)
    elif isinstance(value, dict):
        _check_options([*value, *value.values()])
    elif isinstance(value, list):
        for one in value:
            _check_options(one)


def _texts(request: SubmitRequest) -> list[tuple[str, str]]:
    single = {
        "objective": request.objective,
        "agent kind": request.agent_kind,
        "model": request.model,
        "role": request.role,
        "working directory": request.cwd,
        "context": request.context,
        "expected output": request.expect,
        "session": request.session,
        "name": request.name,
        "system prompt": request.append_system_prompt,
        "worktree": request.worktree,
        "idempotency key": request.idempotency_key,
    }
    several = {
        "constraint": request.constraints,
        "input": request.inputs,
        "label": request.labels,
        "added directory": request.add_dirs,
    }
    return [(name, text) for name, text in single.items() if text is not None] + [
        (name, text) for name, texts in several.items() for text in texts
    ]


def working_folder(named: str | None) -> str:
    """The folder to work in, absolute. Raises InvalidInput (`no_such_folder` and others)."""
    cwd = os.path.abspath(os.path.expanduser(named)) if named else lookup.current_folder()
    if not os.path.isdir(cwd):
        what = "is not a folder" if os.path.exists(cwd) else "does not exist"
        raise InvalidInput(
            f"the working directory {cwd!r} {what}",
            code="no_such_folder",
            hint="cuekit makes no working directory; check the spelling",
        )
    if not os.access(cwd, os.R_OK | os.X_OK):
        raise InvalidInput(
            f"the working directory {cwd!r} cannot be entered", code="folder_not_accessible"
        )
    if "\n" in cwd or "\r" in cwd:
        raise InvalidInput(
            f"the working directory has a line break in its name: {cwd!r}", code="no_such_folder"
        )
    return cwd


def added_folder(named: str) -> str:
    """A further folder, absolute. Raises InvalidInput (`no_such_folder`)."""
    folder = os.path.abspath(os.path.expanduser(named))
    if not os.path.isdir(folder):
        raise InvalidInput(f"the added folder {folder!r} does not exist", code="no_such_folder")
    return folder
