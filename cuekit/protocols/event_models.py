"""The values of every kind of event as pydantic models: for tests, documents and their schema.

Decoders build plain tuples, a stream makes thousands of them a second; here they are checked.
Values beyond those named are kept: an agent may tell more.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model

from cuekit.model.event import AgentEvent, EventKind, Tool

Outcome = Literal["completed", "failed", "interrupted"]


class Values(BaseModel):
    """What every model shares: exact types, further values kept."""

    model_config = ConfigDict(extra="allow", strict=True)


class SessionStarted(Values):
    """The agent's own session is open."""

    kind: Literal["session_started"]
    agent_session_id: str
    model: str | None = None
    cwd: str | None = None
    tools: list[str] | None = None
    agent_version: str | None = None


class TurnStarted(Values):
    """A turn has begun; `turn` is the task's own number of it, once the log has it."""

    kind: Literal["turn_started"]
    turn: int | None = None
    agent_turn_id: str | None = None


class PromptAccepted(Values):
    """The agent has taken a message of the user."""

    kind: Literal["prompt_accepted"]
    text: str
    turn: int | None = None
    item_id: str | None = None


class Text(Values):
    """Words of the agent: a piece of them, or a whole message."""

    text: str
    partial: bool
    item_id: str | None = None
    parent_tool_id: str | None = None


class AssistantText(Text):
    """Said to the user."""

    kind: Literal["assistant_text"]


class Thinking(Text):
    """Reasoning, or a summary of it."""

    kind: Literal["thinking"]


class ToolCall(Values):
    """A tool, in the common vocabulary and by the agent's own name for it."""

    tool_id: str
    tool: Literal[tuple(tool.value for tool in Tool)]  # type: ignore[valid-type]
    native_tool: str
    parent_tool_id: str | None = None


class ToolCallStarted(ToolCall):
    """A call has begun; its input may not be whole yet."""

    kind: Literal["tool_call_started"]
    input: dict[str, Any] | None = None


class ToolCallCompleted(ToolCall):
    """A call's input is whole."""

    kind: Literal["tool_call_completed"]
    input: dict[str, Any]


class ToolCallInputDelta(Values):
    """A piece of a call's input, as text."""

    kind: Literal["tool_call_input_delta"]
    tool_id: str
    text: str


class ToolOutputDelta(Values):
    """A piece of a tool's output."""

    kind: Literal["tool_output_delta"]
    tool_id: str
    text: str


class ToolResult(Values):
    """What came of a call."""

    kind: Literal["tool_result"]
    tool_id: str
    text: str
    is_error: bool
    exit_code: int | None = None


class FileChange(Values):
    """A file was changed; `inferred` when only the tool's input says so."""

    kind: Literal["file_change"]
    path: str
    change: Literal["add", "update", "delete"]
    source: Literal["native", "inferred"]
    diff: str | None = None
    moved_to: str | None = None


class PlanEntry(Values):
    """One step of a plan."""

    text: str
    state: str


class Plan(Values):
    """The agent's plan, whole each time."""

    kind: Literal["plan"]
    entries: list[PlanEntry]


class ApprovalRequested(Values):
    """The agent asks; see `cuekit approval show`."""

    kind: Literal["approval_requested"]
    approval_id: str
    tool: str
    input: dict[str, Any]
    risk: str
    options: list[Any]


class ApprovalResolved(Values):
    """A request has ended, decided or not."""

    kind: Literal["approval_resolved"]
    approval_id: str
    decision: str | None
    decided_by: str | None
    how: str | None


class Usage(Values):
    """Tokens; `cost_usd` is null where the agent does not tell it."""

    kind: Literal["usage"]
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None


class TurnCompleted(Values):
    """A turn has ended."""

    kind: Literal["turn_completed"]
    outcome: Outcome
    turn: int | None = None
    message: str | None = None
    code: str | None = None


class RunFinished(Values):
    """The run has ended."""

    kind: Literal["run_finished"]
    outcome: str
    cause: str | None = None
    exit_code: int | None = None
    exit_signal: int | None = None
    error: str | None = None


class Error(Values):
    """Something went wrong; when it is recoverable, the turn goes on."""

    kind: Literal["error"]
    message: str
    recoverable: bool
    code: str | None = None


class Status(Values):
    """Whatever else has changed."""

    kind: Literal["status"]


class Report(Values):
    """What the child itself reports, by `cuekit task report` or over MCP."""

    kind: Literal["report"]
    type: str
    message: str
    payload: Any = None
    key: str | None = None
    via: str
    late: bool = False


class Raw(Values):
    """A native message that nobody knows, whole."""

    kind: Literal["raw"]
    native: Any


MODELS: dict[EventKind, type[Values]] = {
    EventKind.SESSION_STARTED: SessionStarted,
    EventKind.TURN_STARTED: TurnStarted,
    EventKind.PROMPT_ACCEPTED: PromptAccepted,
    EventKind.ASSISTANT_TEXT: AssistantText,
    EventKind.THINKING: Thinking,
    EventKind.TOOL_CALL_STARTED: ToolCallStarted,
    EventKind.TOOL_CALL_INPUT_DELTA: ToolCallInputDelta,
    EventKind.TOOL_CALL_COMPLETED: ToolCallCompleted,
    EventKind.TOOL_OUTPUT_DELTA: ToolOutputDelta,
    EventKind.TOOL_RESULT: ToolResult,
    EventKind.FILE_CHANGE: FileChange,
    EventKind.PLAN: Plan,
    EventKind.APPROVAL_REQUESTED: ApprovalRequested,
    EventKind.APPROVAL_RESOLVED: ApprovalResolved,
    EventKind.USAGE: Usage,
    EventKind.TURN_COMPLETED: TurnCompleted,
    EventKind.RUN_FINISHED: RunFinished,
    EventKind.ERROR: Error,
    EventKind.STATUS: Status,
    EventKind.REPORT: Report,
    EventKind.RAW: Raw,
}


def validate(event: AgentEvent) -> None:
    """Check an event's values. Raises pydantic.ValidationError, which names the wrong one."""
    MODELS[event.kind].model_validate({"kind": event.kind.value, **event.values})


def json_schema() -> dict[str, Any]:
    """The JSON schema of a line of events.jsonl: by `kind`, with seq, time and task_id."""
    lines = tuple(
        create_model(
            model.__name__,
            __base__=model,
            __doc__=model.__doc__,
            seq=(int, ...),
            time=(str, ...),
            task_id=(str, ...),
        )
        for model in MODELS.values()
    )
    union: Any = lines[0]
    for model in lines[1:]:
        union = union | model
    return TypeAdapter(Annotated[union, Field(discriminator="kind")]).json_schema()
