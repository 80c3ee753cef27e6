"""The tools as a client sees them: names, words, and the JSON schemas of their arguments.

Written by hand and without schemas of results: a client puts all of it into its model's context.
"""

from typing import Any, NamedTuple

from cuekit.model.lifecycle import ENDS, Status
from cuekit.model.report import ReportType

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
TASK: Schema = {"type": "string", "description": "task id, or a unique prefix of it"}
TASKS: Schema = {"type": "array", "items": TEXT, "minItems": 1, "description": "task ids"}
MODE: Schema = {"type": "string", "enum": ["interactive", "batch", "supervised"]}


class Tool(NamedTuple):
    """One tool. `destructive` and `idempotent` mean something only where it changes things."""

    name: str
    title: str
    description: str
    properties: dict[str, Schema]
    required: tuple[str, ...] = ()
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False

    @property
    def schema(self) -> Schema:
        """The JSON schema of the arguments; names beyond it are refused."""
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.required),
            "additionalProperties": False,
        }


def _said(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


def _one_of(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


SUBMIT: dict[str, Schema] = {
    "objective": _said(TEXT, "what the child is to do"),
    "agent_kind": _said(TEXT, "codex, claude-code, gemini, opencode, ... (list kind=adapters)"),
    "model": TEXT,
    "role": _said(TEXT, "a role (list kind=agent_profiles), or auto"),
    "mode": _said(
        MODE,
        "interactive: its TUI stays for more messages; batch: one prompt, then it"
        " ends; supervised: approvals come to you or the user",
    ),
    "cwd": _said(TEXT, "where it works; by default where this server was started"),
    "add_dirs": TEXTS,
    "worktree": _said(TEXT, "a git worktree of its own: a branch's name, or empty for a new one"),
    "context": TEXT,
    "constraints": TEXTS,
    "inputs": TEXTS,
    "expect": _said(TEXT, "what is to come out of it"),
    "adapter_options": _said(OBJECT, 'the agent\'s own, as {"sandbox": "workspace-write"}'),
    "timeout": _said(TEXT, "ends the task: 90s, 30m, 2h"),
    "labels": TEXTS,
    "name": TEXT,
    "idempotency_key": _said(TEXT, "the same key again gives the first one's task"),
    "keep": _said(FLAG, "leave its pane open at the end"),
    "reporting": _said(FLAG, "tell the child how to report back (default true)"),
    "append_system_prompt": _said(TEXT, "supervised only"),
    "output_schema": _said(OBJECT, "supervised only: JSON schema of its last answer"),
    "dry_run": _said(FLAG, "start nothing; show the command line"),
}

TOOLS = (
    Tool(
        "submit_task",
        "Start a child agent",
        "Use when another agent should do a task beside you. Returns at once with task_id;"
        " then wait, steer_task, get_result.",
        SUBMIT,
        ("objective",),
    ),
    Tool(
        "submit_tasks",
        "Start several child agents",
        "Use for several tasks at once: all are checked before the first one starts.",
        {
            "tasks": {
                "type": "array",
                "minItems": 1,
                "maxItems": 32,
                "items": _said(OBJECT, "arguments as of submit_task"),
            }
        },
        ("tasks",),
    ),
    Tool(
        "get_status",
        "Look at tasks",
        "Use to see how tasks do now: status, activity, turn, last message, pending approvals.",
        {"task_ids": TASKS},
        ("task_ids",),
        read_only=True,
    ),
    Tool(
        "list",
        "List things",
        "Use to find tasks (of this session, or with all=true of everybody), a task's events,"
        " adapters, approvals, sessions, agent_profiles.",
        {
            "kind": _one_of(
                "tasks", "events", "adapters", "approvals", "sessions", "agent_profiles"
            ),
            "task_id": _said(TASK, "events: whose (needed); approvals: only its"),
            "all": _said(FLAG, "tasks: every session's; approvals: the ended ones too"),
            "statuses": {"type": "array", "items": _one_of(*Status)},
            "agent_kinds": TEXTS,
            "labels": TEXTS,
            "session": _said(TEXT, "tasks: another session's"),
            "cwd": _said(TEXT, "tasks: in or below this folder; adapters: whose configuration"),
            "since": {"type": "integer", "minimum": 0, "description": "events after this seq"},
            "kinds": _said(TEXTS, "events: only these"),
            "limit": {"type": "integer", "minimum": 1, "maximum": 500},
            "cursor": _said(TEXT, "next_cursor of the page before"),
        },
        ("kind",),
        read_only=True,
    ),
    Tool(
        "steer_task",
        "Send a message to a child",
        "Use to tell a running child more, or to answer its help_requested. It is delivered"
        " exactly, as one message; the receipt says what was seen of it.",
        {
            "task_id": TASK,
            "message": TEXT,
            "interrupt": _said(FLAG, "break off what it does first"),
            "when_idle": _said(FLAG, "only once it is idle (waits up to 40 s)"),
        },
        ("task_id", "message"),
    ),
    Tool(
        "wait",
        "Wait for tasks",
        "Use after submit or steer. Returns state `reached` when the tasks ended, are idle after"
        " a turn, or need somebody; state `running` before 45 s at the latest: then call it again."
        " Nothing is lost in between.",
        {
            "task_ids": TASKS,
            "until": _said(_one_of("any", "terminal", "idle", "approval"), "default any"),
            "after": {
                "type": "integer",
                "minimum": 0,
                "description": "idle counts only after a later turn than this one",
            },
            "timeout": _said(TEXT, "at most 45s, which is the default"),
            "first": _said(FLAG, "as soon as one of them is so"),
        },
        ("task_ids",),
        read_only=True,
    ),
    Tool(
        "get_result",
        "Read what came out",
        "Use when a task ended or is idle (then final is false): summary, files changed, exit,"
        " usage, artifacts. The whole pane: resource cuekit://tasks/ID/transcript.",
        {"task_id": TASK},
        ("task_id",),
        read_only=True,
    ),
    Tool(
        "finish_task",
        "End an idle child politely",
        "Use when an interactive child is idle and its work is done: the task is completed then.",
        {"task_id": TASK},
        ("task_id",),
    ),
    Tool(
        "cancel_tasks",
        "Stop tasks",
        "Use to stop children: each is asked, then its whole process tree is ended.",
        {"task_ids": TASKS},
        ("task_ids",),
        destructive=True,
        idempotent=True,
    ),
    Tool(
        "cleanup",
        "Remove ended tasks",
        "Use to remove ended tasks of this session, with their files: those named, or"
        " all that fit.",
        {
            "task_ids": TASKS,
            "statuses": {"type": "array", "items": _one_of(*sorted(ENDS))},
            "older_than": _said(TEXT, "ended so long ago: 2h, 14d"),
            "dry_run": FLAG,
        },
        destructive=True,
        idempotent=True,
    ),
    Tool(
        "report",
        "Report on your own task",
        "Use when you are yourself the child of a task: progress, the outcome, or"
        " help_requested; end your turn then, and the answer comes as your next message.",
        {
            "type": _one_of(*ReportType),
            "message": TEXT,
            "payload": _said({}, "any JSON, for programs"),
            "key": _said(TEXT, "the same key again is the same report"),
        },
        ("type", "message"),
    ),
    Tool(
        "resolve_approval",
        "Decide an approval",
        "Use to decide what a child of yours asks leave for (list kind=approvals). Only where the"
        " user's own configuration lets parents decide.",
        {
            "approval_id": _said(TEXT, "the full id"),
            "decision": _one_of(
                "allow", "allow_always", "deny", "answer", "cancel_run", "handover"
            ),
            "message": _said(TEXT, "deny: what the child is told"),
            "scope": _said(TEXT, "allow_always: task; a grant: turn or session"),
            "changed_input": OBJECT,
            "granted": _said(OBJECT, "some of the permissions that were asked for"),
            "answers": _said(OBJECT, "answer: each question's key with a list of values"),
        },
        ("approval_id", "decision"),
    ),
    Tool(
        "resume_task",
        "Go on with an ended conversation",
        "Use when a task has ended and its agent should go on with the same conversation, as a new"
        " task; fork leaves the old conversation as it is.",
        {"task_id": TASK, "message": TEXT, "fork": FLAG, "mode": MODE},
        ("task_id", "message"),
    ),
)
