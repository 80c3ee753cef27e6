"""The Messages API as claude speaks it: replies as server-sent events, and what was asked.

Events and block shapes as Claude Code 2.1.167, 2.1.197 and 2.1.332 accept them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .script import Call, Fail, Reply, Say, Shell, Step, Think, gaps, pieces, reply_of

Event = dict[str, Any]
Body = Mapping[str, Any]

USAGE: Mapping[str, int] = {
    "input_tokens": 100,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 40,
    "output_tokens": 20,
}

CONTEXT_OPENINGS = ("<system-reminder>",)
"""How the text blocks begin that claude itself adds to the user's messages."""


MID_TURN_BEGIN = "The user sent a new message while you were working:\n"
MID_TURN_END = re.compile(
    r"\n\n(?:IMPORTANT: After completing your current task, you MUST address|"
    r"This is how Claude Code surfaces messages)[^\n]*\Z"
)
"""What claude puts around a message that it hands over within a running turn: the first end in
2.1.167 and 2.1.197 (in a message of role system, several in one text), the second in 2.1.332
(of role user, each in a block)."""

SIDE_REPLY = reply_of("Scripted title")


def is_side(body: Body) -> bool:
    """True for requests that are not a turn: those for a title or a summary offer no tools."""
    return not body.get("tools")


def _messages(body: Body) -> list[Mapping[str, Any]]:
    return [message for message in body.get("messages") or [] if isinstance(message, Mapping)]


def newest_messages(body: Body) -> list[Mapping[str, Any]]:
    """Messages after the model's last own one."""
    messages = _messages(body)
    own = (i for i, message in enumerate(messages) if message.get("role") == "assistant")
    return messages[max(own, default=-1) + 1 :]


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content or ())


def _mid_turn(text: str) -> list[str]:
    """The user's messages inside such frames; empty when `text` is anything else."""
    text = text.strip("\n")
    if not text.startswith(MID_TURN_BEGIN):
        return []
    frames = f"\n\n{text}".split(f"\n\n{MID_TURN_BEGIN}")[1:]
    return [MID_TURN_END.sub("", frame) for frame in frames]


def _texts(messages: list[Mapping[str, Any]]) -> list[str]:
    found = []
    for message in messages:
        own: list[str] = []
        for block in _blocks(message):
            if block.get("type") != "text" or block["text"].startswith(CONTEXT_OPENINGS):
                continue
            if framed := _mid_turn(block["text"]):
                found.extend(framed)
            elif message.get("role") == "user":
                own.append(block["text"])
        # Messages that were queued while claude was busy come as the blocks of one message, and
        # claude ends each but the last with a newline of its own.
        found.extend(text.removesuffix("\n") for text in own[:-1])
        found.extend(own[-1:])
    return found


def user_messages(body: Body) -> list[str]:
    """Every message of the user in the conversation of this request, oldest first."""
    return _texts(_messages(body))


def newest_user_messages(body: Body) -> list[str]:
    """The user's messages since the model's last own one."""
    return _texts(newest_messages(body))


def tool_results(body: Body) -> list[str]:
    """Outputs of tools since the model's last own message."""
    found = []
    for message in newest_messages(body):
        for block in _blocks(message):
            if block.get("type") == "tool_result":
                content = block.get("content")
                found.append(content if isinstance(content, str) else json.dumps(content))
    return found


def conversation_id(body: Body) -> str:
    """What tells one session from another (claude puts its session id in the metadata)."""
    return str((body.get("metadata") or {}).get("user_id") or "")


def _block(step: Step, number: int, index: int) -> Event | None:
    match step:
        case Say(text):
            return {"type": "text", "text": text}
        case Think(text):
            return {"type": "thinking", "thinking": text, "signature": "c2NyaXB0ZWQ="}
        case Shell(command, extra):
            return _block(Call("Bash", {"command": command, **extra}), number, index)
        case Call(name, arguments):
            made = f"toolu_01Scripted{number:06d}{index:02d}"
            return {"type": "tool_use", "id": made, "name": name, "input": dict(arguments)}
    return None


def _block_events(index: int, block: Event, step: Step) -> Iterator[Event | Step]:
    start: Event
    match block["type"]:
        case "text":
            start = {"type": "text", "text": ""}
        case "thinking":
            start = {"type": "thinking", "thinking": "", "signature": ""}
        case _:
            start = {**block, "input": {}}
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in _deltas(block, step.chunks if isinstance(step, Say) else 1):
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        if isinstance(step, Say):
            yield from gaps(step)
    yield {"type": "content_block_stop", "index": index}


def _deltas(block: Event, chunks: int) -> list[Event]:
    match block["type"]:
        case "text":
            return [{"type": "text_delta", "text": p} for p in pieces(block["text"], chunks)]
        case "thinking":
            return [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        case _:
            text = json.dumps(block["input"], ensure_ascii=False)
            return [{"type": "input_json_delta", "partial_json": text}]


def _envelope(body: Body, number: int) -> Event:
    return {
        "id": f"msg_01Scripted{number:06d}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "unknown"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**USAGE, "output_tokens": 1},
    }


def _stop_reason(reply: Reply) -> str:
    return "tool_use" if any(isinstance(s, Shell | Call) for s in reply) else "end_turn"


def events(reply: Reply, body: Body, number: int) -> Iterator[Event | Step]:
    """The events of one reply; steps that only the connection can play are passed on as such."""
    yield {"type": "message_start", "message": _envelope(body, number)}
    index = 0
    for step in reply:
        if isinstance(step, Fail):
            yield {"type": "error", "error": {"type": "api_error", "message": step.message}}
            return
        block = _block(step, number, index)
        if block is None:
            yield step
            continue
        yield from _block_events(index, block, step)
        index += 1
    delta = {"stop_reason": _stop_reason(reply), "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": dict(USAGE)}
    yield {"type": "message_stop"}


def whole(reply: Reply, body: Body, number: int) -> Event:
    """The same reply as one object, for requests that do not stream."""
    blocks = [b for i, step in enumerate(reply) if (b := _block(step, number, i))]
    done = {"content": blocks, "stop_reason": _stop_reason(reply), "usage": dict(USAGE)}
    return {**_envelope(body, number), **done}
