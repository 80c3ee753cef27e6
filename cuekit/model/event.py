"""What happened in a run, the same for every agent: the lines of events.jsonl.

An event is a kind and its values; the log adds seq, time and task_id. Decoders are total: what
they do not know is a `raw` event that holds the native message whole.
"""

from enum import StrEnum
from typing import Any, NamedTuple


class EventKind(StrEnum):
    """The kinds, with the values each has (`?`: only when the agent tells)."""

    SESSION_STARTED = "session_started"  # agent_session_id, model?, cwd?, tools?
    TURN_STARTED = "turn_started"  # turn, agent_turn_id?
    PROMPT_ACCEPTED = "prompt_accepted"  # turn, text
    ASSISTANT_TEXT = "assistant_text"  # text, partial, item_id?, parent_tool_id?
    THINKING = "thinking"  # text, partial, item_id?
    TOOL_CALL_STARTED = "tool_call_started"  # tool_id, tool, native_tool, input?, parent_tool_id?
    TOOL_CALL_INPUT_DELTA = "tool_call_input_delta"  # tool_id, text
    TOOL_CALL_COMPLETED = "tool_call_completed"  # tool_id, tool, native_tool, input
    TOOL_OUTPUT_DELTA = "tool_output_delta"  # tool_id, text
    TOOL_RESULT = "tool_result"  # tool_id, text, is_error, exit_code?
    FILE_CHANGE = (
        "file_change"  # path, change (add, update, delete), source (native, inferred), diff?
    )
    PLAN = "plan"  # entries: [{text, state}]
    APPROVAL_REQUESTED = "approval_requested"  # approval_id, tool, input, risk, options
    APPROVAL_RESOLVED = "approval_resolved"  # approval_id, decision, decided_by, how
    USAGE = (
        "usage"  # input_tokens, cached_input_tokens?, output_tokens, reasoning_tokens?, cost_usd
    )
    TURN_COMPLETED = "turn_completed"  # turn, outcome (completed, failed, interrupted), message?
    RUN_FINISHED = "run_finished"  # outcome, cause, exit_code, exit_signal, error
    ERROR = "error"  # message, recoverable, code?
    STATUS = "status"  # whatever changed
    REPORT = "report"  # type, message, payload, key, via, late: what the child itself reports
    RAW = "raw"  # native: the whole message


class AgentEvent(NamedTuple):
    """One event before it is numbered. A tuple, since a stream makes thousands a second."""

    kind: EventKind
    values: dict[str, Any]


class Tool(StrEnum):
    """One vocabulary for the tools of all agents; the native name stays beside it."""

    SHELL = "shell"  # input: command, cwd?
    READ = "read"  # input: path
    WRITE = "write"  # input: path, content?
    EDIT = "edit"  # input: path
    SEARCH = "search"  # input: pattern, path?
    LIST = "list"  # input: path
    FETCH = "fetch"  # input: url
    WEB_SEARCH = "web_search"  # input: query
    MCP = "mcp"  # input: server, tool, arguments
    TASK = "task"  # a subagent
    PLAN = "plan"
    QUESTION = "question"  # asks the user something
    PERMISSIONS = "permissions"  # asks for more than the sandbox gives
    OTHER = "other"
