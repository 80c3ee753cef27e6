"""Chat completions, as grok 1.0.41 and opencode 1.18.33 speak them: replies, and what was asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from .script import Call, Fail, Reply, Say, Shell, Step, Think, gaps, pieces, reply_of

Event = dict[str, Any]
Body = Mapping[str, Any]

MODEL = "fake-1"
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
SHELL_TOOLS = {"run_terminal_command": "command", "bash": "command"}
"""The shell tool of each agent, and the argument that has the command."""

CONTEXT_OPENINGS = ("<system-reminder>", "<user_info>", "<project_", "<git_status")
SIDE_REPLY = reply_of("Scripted title")


def is_side(body: Body) -> bool:
    """True for what is not a turn: a title (no tools), grok's guess at what comes next."""
    return not body.get("tools") or not (newest_user_messages(body) or tool_results(body))


def _messages(body: Body) -> list[Mapping[str, Any]]:
    return [message for message in body.get("messages") or [] if isinstance(message, Mapping)]


def newest_messages(body: Body) -> list[Mapping[str, Any]]:
    """Messages after the model's last own one."""
    messages = _messages(body)
    own = (i for i, message in enumerate(messages) if message.get("role") == "assistant")
    return messages[max(own, default=-1) + 1 :]


def _texts(message: Mapping[str, Any]) -> list[str]:
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    found = []
    for block in blocks:
        text = str(block.get("text", "")) if block.get("type") == "text" else ""
        begin, mark, rest = text.partition("<user_query>\n")
        if mark and not begin.strip():  # grok puts the user's words into a frame
            text = rest.removesuffix("\n</user_query>")
        if text and not text.startswith(CONTEXT_OPENINGS):
            found.append(text)
    return found


def user_messages(body: Body) -> list[str]:
    """Every message of the user in the conversation of this request, oldest first."""
    return [text for m in _messages(body) if m.get("role") == "user" for text in _texts(m)]


def newest_user_messages(body: Body) -> list[str]:
    """The user's messages since the model's last own one."""
    return [text for m in newest_messages(body) if m.get("role") == "user" for text in _texts(m)]


def tool_results(body: Body) -> list[str]:
    """Outputs of tools since the model's last own message."""
    return ["\n".join(_texts(m)) for m in newest_messages(body) if m.get("role") == "tool"]


def conversation_id(body: Body) -> str:
    """Nothing tells one conversation from another but how it begins."""
    return (user_messages(body) or [""])[0]


def _call(step: Shell | Call, body: Body, number: int, index: int) -> Event:
    if isinstance(step, Shell):
        names = [tool["function"]["name"] for tool in body.get("tools") or ()]
        name = next((name for name in SHELL_TOOLS if name in names), "bash")
        arguments = {"command": step.command, "description": "scripted", **step.extra}
        step = Call(name, arguments)
    function = {"name": step.name, "arguments": json.dumps(dict(step.arguments))}
    return {
        "index": index,
        "id": f"call_{number}_{index}",
        "type": "function",
        "function": function,
    }


def events(reply: Reply, body: Body, number: int) -> Iterator[Event | Step]:
    """The chunks of one reply; steps that only the connection can play are passed on as such."""
    base = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": body.get("model", MODEL),
    }

    def chunk(delta: Event, finish: str | None = None) -> Event:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    calls = 0
    for step in reply:
        match step:
            case Say(text, count):
                for piece in pieces(text, count):
                    yield chunk({"content": piece})
                    yield from gaps(step)
            case Think(text):
                yield chunk({"reasoning_content": text})
            case Shell() | Call():
                yield chunk({"tool_calls": [_call(step, body, number, calls)]})
                calls += 1
            case Fail(message, code):
                yield {"error": {"message": message, "code": code, "type": "server_error"}}
                return
            case _:
                yield step
    yield chunk({}, "tool_calls" if calls else "stop")
    yield {**base, "choices": [], "usage": USAGE}
    yield {}


def encode(event: Event) -> bytes:
    """A chunk on the wire; the empty one is the end."""
    return f"data: {json.dumps(event) if event else '[DONE]'}\n\n".encode()


def whole(reply: Reply, body: Body, number: int) -> Event:
    """The same reply as one object, for requests that do not stream."""
    calls = [_call(step, body, number, 0) for step in reply if isinstance(step, Shell | Call)]
    text = "".join(step.text for step in reply if isinstance(step, Say))
    message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    finish = "tool_calls" if calls else "stop"
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": body.get("model", MODEL),
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": USAGE,
    }
