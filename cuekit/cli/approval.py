"""`cuekit approval`: what agents ask leave for, and the answers."""

import os
from typing import TYPE_CHECKING, Any

import click

from cuekit.cli import approval_text as text
from cuekit.cli import render
from cuekit.cli.groups import Entry, LazyGroup
from cuekit.cli.options import TASK, command, format_option
from cuekit.errors import InvalidInput
from cuekit.model.approval import Decision, DecisionKind

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class ApprovalRef(click.ParamType[str]):
    """The id of an approval."""

    name = "approval"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The id as it was typed; the service looks it up."""
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        """The approvals that wait and begin so."""
        from click.shell_completion import CompletionItem

        from cuekit.service.approvals import completions

        found = completions(incomplete, os.environ)
        return [CompletionItem(approval_id, help=words) for approval_id, words in found]


APPROVAL = ApprovalRef()

COMMANDS = {
    "list": Entry("cuekit.cli.approval", "list_approvals", "List what waits for an answer."),
    "show": Entry("cuekit.cli.approval", "show", "Show all of what one approval asks for."),
    "allow": Entry("cuekit.cli.approval", "allow", "Allow what is asked for."),
    "deny": Entry("cuekit.cli.approval", "deny", "Deny it, with a word to the agent."),
    "answer": Entry("cuekit.cli.approval", "answer", "Answer an agent's question."),
    "cancel-run": Entry("cuekit.cli.approval", "cancel_run", "Deny it and end the agent's turn."),
    "handover": Entry("cuekit.cli.approval", "handover", "Give it to the agent's own dialog."),
    "watch": Entry("cuekit.cli.approval", "watch", "Print approvals as they come and end."),
    "rules": Entry("cuekit.cli.approval_rules", "group", "See and change the always-rules."),
}

group = LazyGroup(
    "approval",
    COMMANDS,
    help="See what agents ask leave for, and answer.\n\nThe first answer counts, wherever it is "
    "given. A decision takes the approval's full id.",
    examples=(
        "cuekit approval list",
        "cuekit approval show a_1f00c4d2",
        "cuekit approval allow a_1f00c4d29be37a65",
        'cuekit approval deny a_1f00c4d29be37a65 --message "use the test database"',
    ),
)


@command(
    "list",
    help="List the approvals that wait for an answer, oldest first.",
    short_help="List what waits for an answer.",
    examples=("cuekit approval list", "cuekit approval list --all --task @last --format json"),
)
@click.option("--task", type=TASK, metavar="ID", help="Only those of this task.")
@click.option("--all", "everything", is_flag=True, help="Those that have ended as well.")
@click.option(
    "--limit", type=click.IntRange(1), default=1000, show_default=True, help="The newest so many."
)
@format_option
def list_approvals(task: str | None, everything: bool, limit: int, fmt: str) -> None:
    """Print a table, or `{approvals: [...]}`."""
    from cuekit.service import approvals

    found = approvals.list_approvals(os.environ, task=task, everything=everything, most=limit)
    render.emit({"approvals": found}, fmt, text.table)


@command(
    "show",
    help="Show one approval whole: what would be done, why, and which answers it takes.\n\n"
    "Nothing is shortened. Characters that would act on the terminal, hide or reorder text are "
    "shown as escapes. A unique beginning of the id is enough here.",
    short_help="Show all of what one approval asks for.",
    examples=("cuekit approval show a_1f00c4d2", "cuekit approval show a_1f00c4d2 --format json"),
)
@click.argument("approval", type=APPROVAL, metavar="ID")
@format_option
def show(approval: str, fmt: str) -> None:
    """Print the approval."""
    from cuekit.service import approvals

    render.emit(approvals.show(approval, os.environ), fmt, text.whole)


@command(
    "allow",
    help="Allow what an approval asks for.\n\n--always makes a rule that allows exactly this "
    "again, for the task or for the project. --edit gives another input where the agent can take "
    "one. For a request of permissions, --grant gives a part of what was asked.",
    short_help="Allow what is asked for.",
    examples=(
        "cuekit approval allow a_1f00c4d29be37a65",
        "cuekit approval allow a_1f00c4d29be37a65 --always task",
        'cuekit approval allow a_1f00c4d29be37a65 --edit \'{"command": "ls -l"}\'',
        'cuekit approval allow a_1f00c4d29be37a65 --grant \'{"network": {"enabled": true}}\' '
        "--scope session",
    ),
)
@click.argument("approval", type=APPROVAL, metavar="ID")
@click.option(
    "--always", type=click.Choice(["task", "project"]), help="Allow it from now on, by a rule."
)
@click.option("--edit", metavar="JSON", help="Run it with this input instead.")
@click.option("--grant", metavar="JSON", help="Grant these of the permissions asked for.")
@click.option(
    "--scope", type=click.Choice(["turn", "session"]), help="How long granted permissions hold."
)
@format_option
def allow(
    approval: str,
    always: str | None,
    edit: str | None,
    grant: str | None,
    scope: str | None,
    fmt: str,
) -> None:
    """Allow, once or always."""
    if always and (edit or grant or scope):
        raise InvalidInput("--always stands alone: it is about exactly this", code="usage")
    kind = DecisionKind.ALLOW_ALWAYS if always else DecisionKind.ALLOW
    decision = Decision(
        kind,
        changed_input=_object(edit, "--edit"),
        granted=_object(grant, "--grant"),
        scope=always or scope,
    )
    _decide(approval, decision, fmt)


@command(
    "deny",
    help="Deny what an approval asks for. The agent is told the message and goes on.",
    short_help="Deny it, with a word to the agent.",
    examples=(
        "cuekit approval deny a_1f00c4d29be37a65",
        'cuekit approval deny a_1f00c4d29be37a65 --message "not on the main branch"',
    ),
)
@click.argument("approval", type=APPROVAL, metavar="ID")
@click.option("--message", "-m", help="What the agent is told; - reads it from standard input.")
@format_option
def deny(approval: str, message: str | None, fmt: str) -> None:
    """Deny."""
    from cuekit.cli import texts

    said = texts.text_from(message, "message") if message is not None else None
    _decide(approval, Decision(DecisionKind.DENY, message=said), fmt)


@command(
    "answer",
    help="Answer a question of an agent's: each of its keys with a value.\n\nA key may be "
    "repeated where several answers are taken. A single question needs no key.",
    short_help="Answer an agent's question.",
    examples=(
        "cuekit approval answer a_1f00c4d29be37a65 colour=Red",
        "cuekit approval answer a_1f00c4d29be37a65 Red",
    ),
)
@click.argument("approval", type=APPROVAL, metavar="ID")
@click.argument("answers", metavar="KEY=VALUE...", nargs=-1, required=True)
@format_option
def answer(approval: str, answers: tuple[str, ...], fmt: str) -> None:
    """Answer."""
    values: dict[str, list[str]] = {}
    for word in answers:
        key, sign, value = word.partition("=")
        if sign:
            values.setdefault(key, []).append(value)
        else:
            values.setdefault("", []).append(word)
    _decide(approval, Decision(DecisionKind.ANSWER, answers=values), fmt)


@command(
    "cancel-run",
    help="Deny what an approval asks for and end the agent's turn.",
    short_help="Deny it and end the agent's turn.",
    examples=("cuekit approval cancel-run a_1f00c4d29be37a65",),
)
@click.argument("approval", type=APPROVAL, metavar="ID")
@format_option
def cancel_run(approval: str, fmt: str) -> None:
    """End the turn."""
    _decide(approval, Decision(DecisionKind.CANCEL_RUN), fmt)


@command(
    "handover",
    help="Give an approval back to the agent's own dialog, to be answered in its pane.\n\n"
    "For tasks in the agent's own TUI whose approvals come to the inbox.",
    short_help="Give it to the agent's own dialog.",
    examples=("cuekit approval handover a_1f00c4d29be37a65",),
)
@click.argument("approval", type=APPROVAL, metavar="ID")
@format_option
def handover(approval: str, fmt: str) -> None:
    """Hand over."""
    _decide(approval, Decision(DecisionKind.HANDOVER), fmt)


@command(
    "watch",
    help="Print the approvals that wait, then each new one and each end of one, until ^C.\n\n"
    "With --format json each line is an object as in `approval list`.",
    short_help="Print approvals as they come and end.",
    examples=("cuekit approval watch", "cuekit approval watch --task @last --format json"),
)
@click.option("--task", type=TASK, metavar="ID", help="Only those of this task.")
@format_option
def watch(task: str | None, fmt: str) -> None:
    """Follow the inbox."""
    from cuekit.service import approvals

    for one in approvals.watch(os.environ, task=task):
        render.emit(one, fmt, text.line)


def _decide(approval: str, decision: Decision, fmt: str) -> None:
    from cuekit.service import approvals

    render.emit(approvals.decide(approval, decision, os.environ), fmt, text.decided)


def _object(written: str | None, option: str) -> dict[str, Any] | None:
    if written is None:
        return None
    import json

    try:
        value = json.loads(written)
    except ValueError as error:
        raise InvalidInput(f"{option} is no JSON: {error}", code="bad_json") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"{option} takes a JSON object", code="bad_json")
    return value
