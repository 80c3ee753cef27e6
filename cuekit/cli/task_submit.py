"""`cuekit task submit`."""

import os
import sys
from typing import Any

import click

from cuekit.cli import render, texts
from cuekit.cli.options import DURATION, command, format_option
from cuekit.cli.task_status import as_text as status_text
from cuekit.cli.task_status import field, worktree_text
from cuekit.errors import InvalidInput


@command(
    "submit",
    help="Start a child agent with a task, in a tmux pane of its own.\n\nOBJECTIVE is what the "
    "agent is to do; - reads it from standard input, and without it (nor --file) $EDITOR opens.",
    short_help="Start a child agent with a task.",
    examples=(
        'cuekit task submit --agent-kind codex "write the tests that are missing"',
        "cuekit task submit --agent-kind claude-code --mode batch --file task.md --wait",
        "git diff | cuekit task submit --agent-kind codex --constraint 'change no file' -",
        "cuekit task submit --from tasks.yaml --wait",
        "cuekit task submit --agent-kind codex --adapter-options "
        '\'{"sandbox": "workspace-write"}\' "fix it" --dry-run',
        'cuekit task submit --agent-kind codex "add a changelog" --worktree',
    ),
)
@click.argument("objective", required=False)
@click.option("--file", "file", metavar="PATH", help="Read the objective from this file.")
@click.option(
    "--from", "from_file", metavar="FILE", help="Start every task of this YAML file (- for stdin)."
)
@click.option("--agent-kind", metavar="KIND", help="Which agent: codex, claude-code, gemini, ...")
@click.option("--model", help="The model, by the agent's own name for it.")
@click.option("--role", metavar="ROLE", help="A role (cuekit agent list), or auto.")
@click.option(
    "--mode",
    type=click.Choice(["interactive", "batch", "supervised"]),
    help="interactive: the agent's TUI stays; batch: one prompt, then exit.",
)
@click.option("--cwd", metavar="DIR", help="Where the agent works; by default here.")
@click.option("--add-dir", "add_dirs", multiple=True, metavar="DIR", help="Also give it this one.")
@click.option("--context", metavar="TEXT", help="What the agent should know before it begins.")
@click.option("--constraint", "constraints", multiple=True, metavar="TEXT", help="What must hold.")
@click.option("--input", "inputs", multiple=True, metavar="TEXT", help="A file or fact to go by.")
@click.option("--expect", metavar="TEXT", help="What is to come out of it.")
@click.option("--adapter-options", metavar="JSON", help="Options of that agent, as a JSON object.")
@click.option(
    "--append-system-prompt", metavar="TEXT", help="Supervised: add this to the system prompt."
)
@click.option(
    "--output-schema", metavar="PATH", help="Supervised: a JSON schema of the last answer."
)
@click.option("--timeout", type=DURATION, help="End the task after so long: 90s, 30m, 2h.")
@click.option("--session", metavar="ID", help="The session that the task is to belong to.")
@click.option("--label", "labels", multiple=True, metavar="TEXT", help="A label to find it by.")
@click.option("--name", help="A name; no two live tasks have the same one.")
@click.option(
    "--idempotency-key",
    metavar="KEY",
    help="A second submit with the same key gives the first one's task.",
)
@click.option(
    "--reporting/--no-reporting", default=None, help="Tell the agent how to report back, or not."
)
@click.option(
    "--worktree",
    is_flag=False,
    flag_value="",
    metavar="[BRANCH]",
    help="Give it a git worktree, on this branch or a new one.",
)
@click.option("--trust", is_flag=True, help="Trust the working directory, as the agent asks it.")
@click.option("--keep", is_flag=True, help="Leave the pane open when the task has ended.")
@click.option("--lenient", is_flag=True, help="Take bad adapter options as their defaults.")
@click.option("--as-command", is_flag=True, help="Let a first / ! $ @ # act as the agent has it.")
@click.option("--attach", is_flag=True, help="Show the pane on this terminal at once.")
@click.option("--wait", is_flag=True, help="Wait until it ends, idles or needs somebody.")
@click.option("--dry-run", is_flag=True, help="Start nothing; show the command line.")
@format_option
def submit(
    objective: str | None,
    file: str | None,
    from_file: str | None,
    adapter_options: str | None,
    output_schema: str | None,
    timeout: float | None,
    attach: bool,
    wait: bool,
    fmt: str,
    **options: Any,
) -> int:
    """Ask the service, print what it made, and go on as --attach or --wait say."""
    if from_file is not None:
        from cuekit.cli.task_submit_several import refuse_with

        refuse_with(
            {
                "OBJECTIVE": objective,
                "--file": file,
                "--attach": attach or None,
                "--name": options["name"],
                "--idempotency-key": options["idempotency_key"],
            }
        )
    if attach and wait:
        raise InvalidInput("--attach and --wait exclude each other", code="usage")
    if attach:
        from cuekit.cli.task_attach import attach_argv, become, require_terminal

        require_terminal()  # before anything is started
    values = {
        **options,
        "adapter_options": parse_options(adapter_options),
        "output_schema": _schema(output_schema),
        "timeout_s": timeout,
    }
    if from_file is not None:
        from cuekit.cli.task_submit_several import submit_several

        return submit_several(from_file, values, wait=wait, fmt=fmt)
    text = _objective(objective, file)

    from cuekit.service.request import SubmitRequest
    from cuekit.service.submit import submit as submit_task

    request = SubmitRequest(objective=text, **values)
    made = submit_task(request, os.environ, _asker(fmt))
    if options["dry_run"]:
        render.emit(made, fmt, dry_run_text)
        return 0
    if wait:
        return _wait(made, fmt)
    render.emit(made, fmt, submitted_text)
    if attach:
        become(attach_argv(made["task_id"], read_only=False))
    return 0


def _schema(path: str | None) -> dict[str, Any] | None:
    """`--output-schema` as an object. Raises InvalidInput (`bad_json`)."""
    if path is None:
        return None
    import json

    try:
        value = json.loads(texts.text_of_file(path, "output schema"))
    except ValueError as error:
        raise InvalidInput(f"{path} is not JSON: {error}", code="bad_json") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"{path} is not a JSON object", code="bad_json")
    return value


def parse_options(text: str | None) -> dict[str, Any]:
    """`--adapter-options` as an object. Raises InvalidInput (`bad_json`)."""
    if text is None:
        return {}
    import json

    hint = """--adapter-options '{"sandbox": "workspace-write"}'"""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInput(
            f"--adapter-options is not JSON: {error}", code="bad_json", hint=hint
        ) from None
    except RecursionError:
        raise InvalidInput("--adapter-options is nested too deeply", code="bad_json") from None
    if not isinstance(value, dict):
        raise InvalidInput("--adapter-options is not a JSON object", code="bad_json", hint=hint)
    return value


def _objective(argument: str | None, file: str | None) -> str:
    if argument is not None and file is not None:
        raise InvalidInput("give the objective or --file, not both", code="usage")
    if file is not None:
        return texts.text_of_file(file, "objective")
    if argument is None:
        return texts.text_from_editor("objective")
    return texts.text_from(argument, "objective")


def _asker(fmt: str) -> Any:
    """A way to ask a person, where there is one at a terminal."""
    if fmt == "json" or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return lambda question: click.confirm(question, default=False, err=True)


def _wait(made: dict[str, Any], fmt: str) -> int:
    """Wait for the task; its status view, joined to what submit says, is the one output."""
    import time

    from cuekit.cli.task_wait import ProgressLine, exit_status
    from cuekit.service.wait import wait

    if fmt == "text":
        render.tell(submitted_text(made))
    line = ProgressLine(fmt)
    try:
        waited = wait([made["task_id"]], os.environ, progress=line.show if line.wanted else None)
    finally:
        line.clear()
    view = made | waited.views[0]
    render.emit(view, fmt, lambda it: status_text(it, time.time()))
    return exit_status(waited, None)


def submitted_text(made: dict[str, Any]) -> str:
    """What was started, for people."""
    lines = [
        f"{made['task_id']}  {render.coloured(made['status'])}  {made['agent_kind']}, "
        f"{made['mode']}" + (" (submitted before with this key)" if made["reused"] else "")
    ]
    if made["attach_hint"]:
        lines.append(field("attach", render.visible(made["attach_hint"])))
    lines.append(field("transcript", render.visible(made["transcript_path"])))
    if made["worktree"]:
        lines.append(field("worktree", render.visible(worktree_text(made["worktree"]))))
    return "\n".join(lines + _remarks(made))


def dry_run_text(made: dict[str, Any]) -> str:
    """What would have been started, for people."""
    lines = [render.visible(made["command_line"])]
    if made["worktree"]:
        new = "new " if made["worktree"]["new_branch"] else ""
        text = f"{made['worktree']['path']} on the {new}branch {made['worktree']['branch']}"
        lines.append(field("worktree", render.visible(text)))
    lines += [
        field("hook", render.visible(f"{event}: {render.as_json(command)}"))
        for event, command in made["hooks"].items()
    ]
    if made["notifications"]:
        lines.append(field("notifies", ", ".join(made["notifications"])))
    return "\n".join(lines + _remarks(made))


def _remarks(made: dict[str, Any]) -> list[str]:
    defaults = [
        field("default", render.visible(f"{name}: {render.as_json(value)}"))
        for name, value in made["defaults_applied"].items()
    ]
    return defaults + [field("warning", render.visible(text)) for text in made["warnings"]]
