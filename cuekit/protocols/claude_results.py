"""Events from claude's whole messages: sessions, results of tools, changes of files, ends. Pure.

Shapes of Claude Code 2.1.167, 2.1.197 and 2.1.332.
"""

import re
from typing import Any

from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols.claude_tools import CHANGING, PATH_FIELDS, Json, tool_of
from cuekit.protocols.claude_wire import optional_text, present, raw, text, texts, whole

NOT_SIGNED_IN = "not_signed_in"
LOGIN_HINT = "claude is not signed in; run: claude, then /login (or set ANTHROPIC_API_KEY)"
_NO_CREDENTIALS = ("Not logged in", "Invalid API key", "Please run /login", "API Error: 401")
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d+)\b")
_INTERRUPTED = "[Request interrupted by user"
_NO_CONVERSATION = "No conversation found with session ID"


def session(message: Json) -> Json:
    """The values of session_started, from `init`."""
    return present(
        agent_session_id=text(message, "session_id"),
        model=_text_or_none(message.get("model")),
        cwd=_text_or_none(message.get("cwd")),
        tools=texts(message["tools"]) if "tools" in message else None,
        agent_version=_text_or_none(message.get("claude_code_version")),
        permission_mode=_text_or_none(message.get("permissionMode")),
    )


def tool_result(
    message: Json, block: Json, call: tuple[str, Json | None] | None
) -> list[AgentEvent]:
    """The result of a call, and the file that it changed."""
    words = _content_text(block.get("content"))
    failed = block.get("is_error") is True
    details = message.get("tool_use_result")
    values: Json = {
        "tool_id": text(block, "tool_use_id"),
        "text": words,
        "is_error": failed,
        **present(parent_tool_id=optional_text(message, "parent_tool_use_id")),
    }
    if failed and (code := _EXIT_CODE.match(words)):
        values["exit_code"] = int(code.group(1))
    if isinstance(details, dict) and details.get("interrupted") is True:
        values["interrupted"] = True
    events = [AgentEvent(EventKind.TOOL_RESULT, values)]
    if call is not None and not failed and call[0] in CHANGING:
        events += _file_change(values["tool_id"], call, details)
    return events


def _content_text(content: Any) -> str:
    """A result as text; what is no text (an image, say) is named in brackets."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = []
    for block in content:
        parts.append(text(block, "text") if block["type"] == "text" else f"[{block['type']}]")
    return "\n".join(parts)


def _file_change(tool_id: str, call: tuple[str, Json | None], details: Any) -> list[AgentEvent]:
    """Claude tells path and patch beside the result; without them the call's input says it."""
    native, values = call
    field = PATH_FIELDS[native]
    if isinstance(details, dict) and isinstance(details.get("filePath"), str):
        created = details.get("type") == "create" or details.get("originalFile", "") is None
        told = present(
            path=details["filePath"],
            change="add" if created else "update",
            source="native",
            diff=_added(details) if created else _patch(details.get("structuredPatch")),
        )
    else:
        path = (values or {}).get(field)
        if not isinstance(path, str):
            return []
        told = {"path": path, "change": "update", "source": "inferred"}
    return [AgentEvent(EventKind.FILE_CHANGE, {**told, "tool_id": tool_id})]


def _patch(hunks: Any) -> str | None:
    """Claude's `structuredPatch` as the hunks of a unified diff."""
    if not isinstance(hunks, list):
        return None
    lines: list[str] = []
    for hunk in hunks:
        old = f"-{whole(hunk, 'oldStart')},{whole(hunk, 'oldLines')}"
        new = f"+{whole(hunk, 'newStart')},{whole(hunk, 'newLines')}"
        lines += [f"@@ {old} {new} @@", *texts(hunk["lines"])]
    return "\n".join([*lines, ""]) if lines else None


def _added(details: Json) -> str | None:
    """The diff of a new file, for which claude gives its content and no patch."""
    content = details.get("content")
    if not isinstance(content, str) or not content:
        return None
    lines = content.split("\n")
    ended = lines[-1] == ""
    lines = lines[:-1] if ended else lines
    body = [f"@@ -0,0 +1,{len(lines)} @@", *(f"+{line}" for line in lines)]
    if not ended:
        body.append("\\ No newline at end of file")
    return "\n".join([*body, ""])


def plan(native: str, values: Json) -> list[AgentEvent]:
    """The list of tasks that claude keeps with TodoWrite, whole each time."""
    todos = values.get("todos")
    if native != "TodoWrite" or not isinstance(todos, list):
        return []
    entries = [{"text": text(todo, "content"), "state": text(todo, "status")} for todo in todos]
    return [AgentEvent(EventKind.PLAN, {"entries": entries})]


def user_line(message: Json, words: str) -> AgentEvent:
    """A line that claude wrote in the user's name: an interrupt, a subagent's prompt, a note."""
    what = "note"
    if words.startswith(_INTERRUPTED):
        what = "interrupted"
    elif optional_text(message, "parent_tool_use_id") is not None:
        what = "subagent_prompt"
    parent = optional_text(message, "parent_tool_use_id")
    values = {"what": what, "text": words, **present(parent_tool_id=parent)}
    return AgentEvent(EventKind.STATUS, values)


def api_retry(message: Json) -> list[AgentEvent]:
    """A request that failed and is tried again; with a 401 that would never end well.

    Claude tries a refused key ten times, over two minutes (2.1.167, 2.1.197, 2.1.332).
    """
    status, error = message.get("error_status"), message.get("error")
    reason = error if isinstance(error, str) else "unknown"
    if status == 401:
        values = {"message": LOGIN_HINT, "recoverable": False, "code": NOT_SIGNED_IN}
        return [AgentEvent(EventKind.ERROR, values)]
    attempt, most = whole(message, "attempt"), whole(message, "max_retries")
    delay = message.get("retry_delay_ms")
    wait = f" in {delay / 1000:.1f} s" if isinstance(delay, int | float) else ""
    number = f"{status} " if status is not None else ""
    words = f"the model's server failed ({number}{reason}); try {attempt} of {most}{wait}"
    values = {"message": words, "recoverable": True, "code": reason}
    return [AgentEvent(EventKind.ERROR, values)]


def api_error(message: Json) -> list[AgentEvent]:
    """An assistant line that is no answer but claude's account of an error."""
    words = "\n".join(block["text"] for block in message["message"]["content"])
    code = error_code(words, None) or text(message, "error")
    if code == "authentication_failed":
        code = NOT_SIGNED_IN
    if code == "unknown":
        code = "api_error"
    values = {"message": words, "recoverable": False, "code": code}
    return [AgentEvent(EventKind.ERROR, values)]


def permission_denied(message: Json) -> list[AgentEvent]:
    """2.1.332 without anybody to ask."""
    native = text(message, "tool_name")
    values = {
        "what": "permission_denied",
        "tool": tool_of(native).value,
        "native_tool": native,
        **present(tool_id=message.get("tool_use_id"), message=message.get("message")),
    }
    return [AgentEvent(EventKind.STATUS, values)]


def task(message: Json) -> list[AgentEvent]:
    """A command or subagent that runs for a while, its beginning and end."""
    values = {
        "what": "task",
        "task_id": text(message, "task_id"),
        "state": message.get("status") or text(message, "subtype").removeprefix("task_"),
        **present(
            tool_id=message.get("tool_use_id"),
            text=message.get("description") or message.get("summary"),
            task_type=message.get("task_type"),
        ),
    }
    return [AgentEvent(EventKind.STATUS, values)]


def compacted(message: Json) -> list[AgentEvent]:
    """The conversation was summarised."""
    return [AgentEvent(EventKind.STATUS, {"what": "compacted"})]


def rate_limits(message: Json) -> list[AgentEvent]:
    """Named by the first design document; not seen with a key."""
    limits = message["rate_limit_info"]
    if not isinstance(limits, dict):
        return [raw(message)]
    return [AgentEvent(EventKind.STATUS, {"what": "rate_limits", "limits": limits})]


def end_of_turn(message: Json, told: float) -> tuple[list[AgentEvent], Json]:
    """Events before the end of a turn, and the end's values.

    A result that cannot be read is the end all the same: not a good one, and with the message raw.
    """
    try:
        return usage(message, told), outcome(message)
    except (KeyError, TypeError, ValueError, AttributeError):
        words = "claude ended the turn with a result that cuekit cannot read"
        return [raw(message)], {"outcome": "failed", "message": words}


def usage(message: Json, told: float) -> list[AgentEvent]:
    """Tokens of this turn. The cost is claude's sum over the process: `told` is taken off.

    `input_tokens` is without those read from the cache, as claude counts.
    """
    tokens = message.get("usage")
    if not isinstance(tokens, dict):
        return []
    total = message.get("total_cost_usd")
    cost = round(total - told, 10) if isinstance(total, int | float) else None
    values = {
        "input_tokens": whole(tokens, "input_tokens"),
        "cached_input_tokens": whole(tokens, "cache_read_input_tokens"),
        "cache_write_tokens": whole(tokens, "cache_creation_input_tokens"),
        "output_tokens": whole(tokens, "output_tokens"),
        "cost_usd": cost,
        "scope": "turn",
        **present(total_cost_usd=total),
    }
    return [AgentEvent(EventKind.USAGE, values)]


def outcome(message: Json) -> Json:
    """The values of turn_completed."""
    reason = message.get("terminal_reason")
    values = present(
        duration_ms=message.get("duration_ms"),
        structured_output=message.get("structured_output"),
    )
    if denials := _denials(message.get("permission_denials")):
        values["permission_denials"] = denials
    if message["is_error"] is not True:
        return {"outcome": "completed", **values}
    if isinstance(reason, str) and reason.startswith("aborted"):
        return {"outcome": "interrupted", **values}
    said = message.get("result")
    errors = "; ".join(texts(message.get("errors")))
    words = said if isinstance(said, str) and said else errors or text(message, "subtype")
    code = error_code(words, message.get("api_error_status")) or _subtype_code(message)
    if code == NOT_SIGNED_IN:
        words = f"{LOGIN_HINT} (claude says: {words})"
    return {"outcome": "failed", **present(message=words, code=code), **values}


def _subtype_code(message: Json) -> str | None:
    subtype = text(message, "subtype")
    if message.get("api_error_status") is not None:
        return "api_error"
    return None if subtype == "success" else subtype


def error_code(words: str, status: Any) -> str | None:
    """The short name of an error that somebody can do something about."""
    if status == 401 or any(part in words for part in _NO_CREDENTIALS):
        return NOT_SIGNED_IN
    return "session_not_found" if _NO_CONVERSATION in words else None


def _denials(listed: Any) -> list[Json]:
    """What was refused in the turn: exit 0 and `success` say nothing of it."""
    found = []
    for denial in listed if isinstance(listed, list) else ():
        native = text(denial, "tool_name")
        found.append(
            {
                "tool": tool_of(native).value,
                "native_tool": native,
                **present(tool_id=denial.get("tool_use_id"), input=denial.get("tool_input")),
            }
        )
    return found


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None
