"""The Responses API as codex speaks it: replies as server-sent events, and what was asked.

Events and item shapes as codex 0.133.0, 0.141.0 and 0.171.0 accept them.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from typing import Any

from .script import Call, Fail, Reply, Say, Shell, Step, Think, gaps, pieces, reply_of

Event = dict[str, Any]
Body = Mapping[str, Any]

USAGE: Mapping[str, Any] = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 40},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 120,
}

CONTEXT_OPENINGS = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<turn_aborted>",
    "<skills_instructions>",
    "<collaboration_mode>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
)
"""How the user items begin that codex itself adds to the conversation."""


SIDE_REPLY = reply_of(json.dumps({"title": "Scripted title"}))


def is_side(body: Body) -> bool:
    """True for requests that are not a turn: 0.171 asks for a title, as JSON with that key."""
    output_format = (body.get("text") or {}).get("format") or {}
    properties = (output_format.get("schema") or {}).get("properties") or {}
    return list(properties) == ["title"] or not body.get("tools") or _title_of_grok(body)


def _title_of_grok(body: Body) -> bool:
    """grok 1.0.41 speaks this API for a title only, which it wants from a call of one tool."""
    framed = any(text.startswith("<user_query>") for text in user_messages(body))
    return framed and len(body.get("tools") or ()) == 1


def _items(body: Body) -> list[Mapping[str, Any]]:
    items = body.get("input") or []
    if isinstance(items, str):
        return [{"type": "message", "role": "user", "content": items}]
    return [item for item in items if isinstance(item, Mapping)]


def _is_output(item: Mapping[str, Any]) -> bool:
    made = ("function_call", "custom_tool_call", "reasoning", "local_shell_call")
    return item.get("role") == "assistant" or item.get("type") in made


def newest_items(body: Body) -> list[Mapping[str, Any]]:
    """Input items after the model's last own output."""
    items = _items(body)
    last = max((i for i, item in enumerate(items) if _is_output(item)), default=-1)
    return items[last + 1 :]


def _texts(items: list[Mapping[str, Any]]) -> list[str]:
    texts = []
    for item in items:
        if item.get("role") != "user":
            continue
        content = item.get("content")
        parts = [content] if isinstance(content, str) else [p.get("text") for p in content or ()]
        own = [p for p in parts if isinstance(p, str) and not p.startswith(CONTEXT_OPENINGS)]
        if own:
            texts.append("".join(own))
    return texts


def user_messages(body: Body) -> list[str]:
    """Every message of the user in the conversation of this request, oldest first."""
    return _texts(_items(body))


def newest_user_messages(body: Body) -> list[str]:
    """The user's messages since the model's last own output."""
    return _texts(newest_items(body))


def tool_results(body: Body) -> list[str]:
    """Outputs of tools since the model's last own output."""
    found = []
    for item in newest_items(body):
        if str(item.get("type", "")).endswith("_output"):
            output = item.get("output")
            found.append(output if isinstance(output, str) else json.dumps(output))
    return found


def conversation_id(body: Body) -> str:
    """What tells one thread from another (codex sends the thread id as cache key)."""
    return str(body.get("prompt_cache_key") or "")


def events(reply: Reply, body: Body, number: int) -> Iterator[Event | Step]:
    """The events of one reply; steps that only the connection can play are passed on as such."""
    base = {"id": f"resp_{number:05d}", "object": "response", "model": body.get("model")}
    yield {
        "type": "response.created",
        "response": {**base, "status": "in_progress", "output": []},
    }
    output: list[Event] = []
    for step in reply:
        item_id = f"item_{number:05d}_{len(output)}"
        match step:
            case Say():
                item = yield from _message(item_id, len(output), step)
            case Think():
                item = yield from _reasoning(item_id, len(output), step)
            case Shell(command, extra):
                call = Call("exec_command", {"cmd": command, **extra})
                item = yield from _tool_call(item_id, len(output), call)
            case Call():
                item = yield from _tool_call(item_id, len(output), step)
            case Fail(message, code):
                error = {"code": code, "message": message}
                failed = {**base, "status": "failed", "error": error}
                yield {"type": "response.failed", "response": failed}
                return
            case _:
                yield step
                continue
        output.append(item)
    completed = {**base, "status": "completed", "output": output, "usage": USAGE}
    yield {"type": "response.completed", "response": completed}


def _message(item_id: str, index: int, step: Say) -> Generator[Event | Step, None, Event]:
    item = {"id": item_id, "type": "message", "role": "assistant", "status": "in_progress"}
    yield _added(index, {**item, "content": []})
    for piece in pieces(step.text, step.chunks):
        yield {
            "type": "response.output_text.delta",
            "item_id": item_id,
            "output_index": index,
            "content_index": 0,
            "delta": piece,
        }
        yield from gaps(step)
    part = {"type": "output_text", "text": step.text, "annotations": []}
    return (yield from _done(index, {**item, "status": "completed", "content": [part]}))


def _reasoning(item_id: str, index: int, step: Think) -> Generator[Event | Step, None, Event]:
    item: Event = {"id": item_id, "type": "reasoning", "summary": [], "encrypted_content": None}
    yield _added(index, item)
    place = {"item_id": item_id, "output_index": index, "summary_index": 0}
    part = {"type": "summary_text", "text": ""}
    yield {"type": "response.reasoning_summary_part.added", "part": part, **place}
    yield {"type": "response.reasoning_summary_text.delta", "delta": step.text, **place}
    return (yield from _done(index, {**item, "summary": [{**part, "text": step.text}]}))


def _tool_call(item_id: str, index: int, step: Call) -> Generator[Event | Step, None, Event]:
    item: Event = {
        "id": item_id,
        "status": "completed",
        "call_id": item_id.replace("item", "call"),
        "name": step.name,
    }
    if step.name == "apply_patch":
        item |= {"type": "custom_tool_call", "input": step.arguments["input"]}
    else:
        item |= {"type": "function_call", "arguments": json.dumps(step.arguments)}
        if step.namespace:
            item["namespace"] = step.namespace
    yield _added(index, item)
    return (yield from _done(index, item))


def _added(index: int, item: Event) -> Event:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def _done(index: int, item: Event) -> Generator[Event, None, Event]:
    yield {"type": "response.output_item.done", "output_index": index, "item": item}
    return item
