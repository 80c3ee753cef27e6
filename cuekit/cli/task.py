"""The `task` commands, as a table; each one is in a module of its own kind."""

from cuekit.cli.groups import Entry, LazyGroup

COMMANDS = {
    "submit": Entry("cuekit.cli.task_submit", "submit", "Start a child agent with a task."),
    "list": Entry("cuekit.cli.task_list", "list_tasks", "List tasks: active first, then newest."),
    "status": Entry("cuekit.cli.task_status", "status", "Show what is known of tasks now."),
    "attach": Entry("cuekit.cli.task_attach", "attach", "Show a task's pane on this terminal."),
    "steer": Entry("cuekit.cli.task_steer", "steer", "Send a message to a task's agent."),
    "wait": Entry("cuekit.cli.task_wait", "wait", "Wait until tasks end, idle or need somebody."),
    "result": Entry("cuekit.cli.task_result", "result", "Show what came out of a task."),
    "finish": Entry("cuekit.cli.task_end", "finish", "End an idle agent politely: completed."),
    "transcript": Entry(
        "cuekit.cli.task_transcript", "transcript", "Print what the task's pane showed."
    ),
    "events": Entry("cuekit.cli.task_events", "events", "Print what happened, event by event."),
    "resume": Entry("cuekit.cli.task_resume", "resume", "Go on with an ended conversation."),
    "cancel": Entry("cuekit.cli.task_end", "cancel", "Stop tasks and end their processes."),
    "report": Entry(
        "cuekit.cli.task_report", "report", "For the agent itself: report to its parent."
    ),
    "delete": Entry("cuekit.cli.task_remove", "delete", "Remove ended tasks and their files."),
    "cleanup": Entry("cuekit.cli.task_remove", "cleanup", "Remove all ended tasks that fit."),
}

group = LazyGroup(
    "task",
    COMMANDS,
    help="Start, watch, steer and end tasks.",
    examples=(
        'cuekit task submit --agent-kind codex "write the tests that are missing"',
        "cuekit task status @last",
    ),
)
