"""The tables of docs/run-modes.md and docs/permissions.md, made from the builders.

python -m tests.support.agent_tables            check the documents
python -m tests.support.agent_tables --write    bring them up to date
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cuekit.agents import registry
from cuekit.agents.base import LaunchContext
from cuekit.agents.jcode import FEEDER
from cuekit.agents.quoting import LARGEST_ARGUMENT, single_quoted
from cuekit.model.task import Mode, TaskSpec

DOCS = Path(__file__).resolve().parents[2] / "docs"
BEGIN = "<!-- made by python -m tests.support.agent_tables --write -->"
END = "<!-- end -->"
NONE: Mapping[str, Any] = {}
SAFE = {"dangerously_skip_permissions": False}
BATCH = {"mode": "batch"}
RESTRICTIONS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "codex": (
        {"sandbox": "read-only"},
        {"sandbox": "workspace-write", "ask_for_approval": "on-request"},
        {"ask_for_approval": "on-request"},
    ),
    "gemini": ({"approval_mode": "plan"}, {"approval_mode": "auto_edit"}),
    "antigravity": ({"sandbox": True},),
}


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _line(kind: str, **options: Any) -> str:
    agent = registry.get(kind)
    has_models = agent.capabilities(Mode.INTERACTIVE).supports_model_selection
    spec = TaskSpec(kind, "P", model="M" if has_models else None, adapter_options=options)
    return "`" + agent.command_line(spec).replace(single_quoted(FEEDER), "FEEDER") + "`"


def _long_prompt(kind: str, mode: str) -> str:
    """How a prompt that no argument can carry travels."""
    context = _context(kind)
    agent = registry.get(kind)
    long = TaskSpec(kind, "a" * (LARGEST_ARGUMENT + 1), adapter_options={"mode": mode})
    launch = agent.launch(long, context)
    if launch.prompt_delivery != "argument":
        return {"stdin": "standard input", "paste": "pasted"}[launch.prompt_delivery]
    return "a prompt that names its file" if kind != "shell" else "run from its file"


def _context(kind: str) -> LaunchContext:
    return LaunchContext(
        binary=registry.get(kind).COMMAND,
        version=None,
        known_flags=registry.get(kind).emitted_flags(),
        task_id="t_00000000",
        run_dir="RUN",
        task_dir="TASK",
        cwd="FOLDER",
        prompt_file="TASK/prompt.md",
        folder_trusted=False,
        hook_program=None,
    )


def run_modes() -> str:
    """Command lines of both modes, and how a long prompt travels."""
    return table(
        ("agent", "verified", "interactive", "batch", "long prompt: interactive", "batch"),
        [
            (
                kind,
                "yes" if registry.get(kind).VERIFIED else "no",
                _line(kind),
                _line(kind, **BATCH),
                _long_prompt(kind, "interactive"),
                _long_prompt(kind, "batch"),
            )
            for kind in registry.KINDS
        ],
    )


def permissions() -> str:
    """What the default, a launch that must ask, and the agents' own restrictions look like."""
    return table(
        ("agent", "adapter options", "interactive", "batch"),
        [
            (
                kind,
                f"`{json.dumps(options)}`",
                _cell(kind, options),
                _cell(kind, {**options, **BATCH}),
            )
            for kind in registry.KINDS
            for options in (NONE, SAFE, *RESTRICTIONS.get(kind, ()))
        ],
    )


def _cell(kind: str, options: Mapping[str, Any]) -> str:
    """The command line with its environment, or that a submit refuses these options."""
    spec = TaskSpec(kind, "P", adapter_options=dict(options))
    if any(problem.fatal for problem in registry.get(kind).option_problems(spec, None)):
        return "refused"
    added = registry.get(kind).launch(spec, _context(kind)).environment
    before = "".join(f"{name}={single_quoted(value)} " for name, value in added.items())
    return _line(kind, **options).replace("`", f"`{before}", 1)


DOCUMENTS = {"run-modes.md": run_modes, "permissions.md": permissions}


def with_table(text: str, made: str) -> str:
    """A document's text with the table between its two marks."""
    before, rest = text.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


def outdated() -> Iterator[tuple[Path, str]]:
    """Documents that do not show the table as it is, with the text that does."""
    for name, make in DOCUMENTS.items():
        path = DOCS / name
        text = path.read_text(encoding="utf-8")
        wanted = with_table(text, make())
        if wanted != text:
            yield path, wanted


def main() -> None:
    """Check, or write."""
    found = list(outdated())
    if "--write" in sys.argv[1:]:
        for path, wanted in found:
            path.write_text(wanted, encoding="utf-8")
    elif found:
        names = ", ".join(path.name for path, _ in found)
        sys.exit(f"{names}: not as the builders are; python -m tests.support.agent_tables --write")


if __name__ == "__main__":
    main()
