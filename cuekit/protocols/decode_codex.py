"""What `codex app-server` writes, as events: pure, total, one decoder for each connection.

Notifications of codex 0.133.0, 0.141.0 and 0.171.0; what is not in the tables becomes `raw`.
"""

from collections.abc import Callable
from typing import Any

from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols.codex_items import Items
from cuekit.protocols.codex_wire import (
    Json,
    failure,
    integer,
    mapping,
    objects,
    optional_integer,
    optional_text,
    present,
    raw,
    raw_line,
    read_message,
    text,
)

OUTCOMES = frozenset({"completed", "failed", "interrupted"})
REQUESTS = frozenset(
    {
        "item/commandExecution/requestApproval",
        "item/fileChange/requestApproval",
        "item/permissions/requestApproval",
        "item/tool/requestUserInput",
        "mcpServer/elicitation/request",
        "execCommandApproval",
        "applyPatchApproval",
    }
)
"""Requests that the session answers; the coordinator makes the events of an approval."""

QUIET = frozenset(
    {
        "account/updated",
        "app/list/updated",
        "fs/changed",
        "item/commandExecution/terminalInteraction",
        "item/plan/delta",  # the whole plan comes with its item
        "item/reasoning/summaryPartAdded",
        "remoteControl/status/changed",
        "serverRequest/resolved",
        "skills/changed",
        "thread/goal/cleared",
        "thread/readState/changed",
        "thread/settings/updated",
        "thread/started",  # the answer to thread/start says it, and the model too
        "turn/diff/updated",  # the sum of the file changes that are told one by one
    }
)
"""Known, and told by other messages or of no use to anybody."""

OF_A_TURN = frozenset({"turn/started", "turn/completed", "thread/tokenUsage/updated", "error"})
"""Of another thread (a subagent's) these are not about our turn."""

Handler = Callable[[Json], list[AgentEvent]]


class Decoder:
    """Keeps the thread's id, the files of each open change, and output not yet told whole."""

    def __init__(self) -> None:
        self.thread_id: str | None = None
        self.items = Items()
        self._handlers: dict[str, Handler] = {
            "item/started": self.items.started,
            "item/completed": self.items.completed,
            "item/agentMessage/delta": _text_delta,
            "item/reasoning/textDelta": _thinking_delta,
            "item/reasoning/summaryTextDelta": _thinking_delta,
            "item/commandExecution/outputDelta": self.items.output_delta,
            "item/fileChange/outputDelta": self.items.output_delta,
            "item/fileChange/patchUpdated": self.items.patch_updated,
            "item/mcpToolCall/progress": _progress,
            "turn/started": _turn_started,
            "turn/completed": _turn_completed,
            "turn/plan/updated": _plan,
            "thread/tokenUsage/updated": _usage,
            "thread/status/changed": _thread_status,
            "thread/name/updated": _thread_name,
            "error": _error,
            "warning": _warning("warning"),
            "guardianWarning": _warning("warning"),
            "configWarning": _warning("config_warning"),
            "deprecationNotice": _warning("deprecation"),
            "account/rateLimits/updated": _rate_limits,
            "mcpServer/startupStatus/updated": _mcp_server,
            "model/rerouted": _rerouted,
            "thread/compacted": _compacted,
            "hook/started": _hook,
            "hook/completed": _hook,
        }

    def decode_line(self, line: bytes) -> list[AgentEvent]:
        """The events of a line of standard output."""
        message = read_message(line)
        return [raw_line(line)] if message is None else self.decode(message)

    def decode(self, message: Json) -> list[AgentEvent]:
        """The events of a message: a notification, an answer or a request."""
        method = message.get("method")
        if method.__class__ is not str:
            return self._answer(message)
        if "id" in message:
            return [] if method in REQUESTS else [raw(message)]
        handler = self._handlers.get(method)
        if handler is None:
            return [] if method in QUIET else [raw(message)]
        try:
            params = message["params"]
            if params.get("threadId", self.thread_id) != self.thread_id:
                return self._of_another_thread(method, params, handler)
            return handler(params)
        except (KeyError, TypeError, ValueError, AttributeError):
            return [raw(message)]

    def _answer(self, message: Json) -> list[AgentEvent]:
        """An answer to a request of ours: only the opening of a thread says something new."""
        if "id" not in message or ("result" not in message and "error" not in message):
            return [raw(message)]
        result = message.get("result")
        try:
            if not isinstance(result, dict) or "thread" not in result:
                return []
            thread = mapping(result, "thread")
            values = present(
                agent_session_id=text(thread, "id"),
                model=optional_text(result, "model"),
                cwd=optional_text(result, "cwd"),
                agent_version=optional_text(thread, "cliVersion"),
            )
        except (KeyError, TypeError):
            return [raw(message)]
        self.thread_id = values["agent_session_id"]
        return [AgentEvent(EventKind.SESSION_STARTED, values)]

    def _of_another_thread(self, method: str, params: Json, handler: Handler) -> list[AgentEvent]:
        if self.thread_id is None:
            return handler(params)
        if method in OF_A_TURN or not method.startswith("item/"):
            values = {"what": "subagent", "thread_id": text(params, "threadId"), "method": method}
            return [AgentEvent(EventKind.STATUS, values)]
        thread = text(params, "threadId")
        return [
            AgentEvent(kind, {**values, "parent_tool_id": thread})
            for kind, values in handler(params)
        ]


def _text_delta(params: Json) -> list[AgentEvent]:
    values = {
        "text": text(params, "delta"),
        "partial": True,
        "item_id": text(params, "itemId"),
    }
    return [AgentEvent(EventKind.ASSISTANT_TEXT, values)]


def _thinking_delta(params: Json) -> list[AgentEvent]:
    values = {
        "text": text(params, "delta"),
        "partial": True,
        "item_id": text(params, "itemId"),
    }
    return [AgentEvent(EventKind.THINKING, values)]


def _progress(params: Json) -> list[AgentEvent]:
    values = {"tool_id": text(params, "itemId"), "text": text(params, "message") + "\n"}
    return [AgentEvent(EventKind.TOOL_OUTPUT_DELTA, values)]


def _turn_started(params: Json) -> list[AgentEvent]:
    turn = mapping(params, "turn")
    return [AgentEvent(EventKind.TURN_STARTED, {"agent_turn_id": text(turn, "id")})]


def _turn_completed(params: Json) -> list[AgentEvent]:
    """A turn's end. With a status that nobody knows it has ended all the same: not well."""
    turn = mapping(params, "turn")
    status = text(turn, "status")
    values: Json = {"outcome": status, "agent_turn_id": text(turn, "id")}
    if status not in OUTCOMES:
        values |= {"outcome": "failed", "message": f"the turn ended as {status!r}"}
    elif turn.get("error") is not None:
        error = mapping(turn, "error")
        values |= failure(text(error, "message"), error.get("codexErrorInfo"))
    values |= present(duration_ms=optional_integer(turn, "durationMs"))
    ended = AgentEvent(EventKind.TURN_COMPLETED, values)
    known = status in OUTCOMES
    return [ended] if known else [raw({"method": "turn/completed", "params": params}), ended]


def _plan(params: Json) -> list[AgentEvent]:
    entries = [
        {"text": text(step, "step"), "state": text(step, "status")}
        for step in objects(params, "plan")
    ]
    values = {"entries": entries, **present(explanation=optional_text(params, "explanation"))}
    return [AgentEvent(EventKind.PLAN, values)]


def _tokens(usage: Json) -> Json:
    return {
        "input_tokens": integer(usage, "inputTokens"),
        "cached_input_tokens": integer(usage, "cachedInputTokens"),
        "output_tokens": integer(usage, "outputTokens"),
        "reasoning_tokens": integer(usage, "reasoningOutputTokens"),
        **present(cache_write_tokens=optional_integer(usage, "cacheWriteInputTokens")),
    }


def _usage(params: Json) -> list[AgentEvent]:
    """Of the last request to the model; `total` is the thread's. Codex tells no cost."""
    usage = mapping(params, "tokenUsage")
    values = {
        **_tokens(mapping(usage, "last")),
        "cost_usd": None,
        "scope": "request",
        "total": _tokens(mapping(usage, "total")),
        **present(context_window=optional_integer(usage, "modelContextWindow")),
    }
    return [AgentEvent(EventKind.USAGE, values)]


def _thread_status(params: Json) -> list[AgentEvent]:
    status = mapping(params, "status")
    flags = status.get("activeFlags") or []
    values = {"what": "thread", "state": text(status, "type"), "waiting_for": list(flags)}
    return [AgentEvent(EventKind.STATUS, values)]


def _thread_name(params: Json) -> list[AgentEvent]:
    values = {"what": "title", "title": optional_text(params, "threadName")}
    return [AgentEvent(EventKind.STATUS, values)]


def _error(params: Json) -> list[AgentEvent]:
    """An error that will be retried is no failure: the turn goes on."""
    error = mapping(params, "error")
    recoverable = params.get("willRetry") is True
    values = {
        **failure(text(error, "message"), error.get("codexErrorInfo")),
        "recoverable": recoverable,
        **present(details=optional_text(error, "additionalDetails")),
    }
    return [AgentEvent(EventKind.ERROR, values)]


def _warning(what: str) -> Handler:
    def decode(params: Json) -> list[AgentEvent]:
        words = optional_text(params, "message") or text(params, "summary")
        details = optional_text(params, "details")
        values = {"what": what, "message": words, **present(details=details)}
        return [AgentEvent(EventKind.STATUS, values)]

    return decode


def _rate_limits(params: Json) -> list[AgentEvent]:
    """Comes after each request, mostly empty; told only when it says something."""
    limits = mapping(params, "rateLimits")
    telling: dict[str, Any] = {
        name: value
        for name, value in limits.items()
        if value is not None and name not in ("limitId", "limitName")
    }
    if not telling:
        return []
    return [AgentEvent(EventKind.STATUS, {"what": "rate_limits", "limits": telling})]


def _mcp_server(params: Json) -> list[AgentEvent]:
    values = {
        "what": "mcp_server",
        "name": text(params, "name"),
        "state": text(params, "status"),
        **present(message=optional_text(params, "error")),
    }
    return [AgentEvent(EventKind.STATUS, values)]


def _rerouted(params: Json) -> list[AgentEvent]:
    values = {
        "what": "model",
        "model": text(params, "toModel"),
        "instead_of": text(params, "fromModel"),
    }
    return [AgentEvent(EventKind.STATUS, values)]


def _compacted(params: Json) -> list[AgentEvent]:
    return [AgentEvent(EventKind.STATUS, {"what": "compacted"})]


def _hook(params: Json) -> list[AgentEvent]:
    run = mapping(params, "run")
    values = {"what": "hook", "name": text(run, "eventName"), "state": text(run, "status")}
    return [AgentEvent(EventKind.STATUS, values)]
