"""Gemini's generateContent, as gemini 0.61.0 speaks it: replies, and what was asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from .script import Call, Fail, Reply, Say, Shell, Step, Think, gaps, pieces, reply_of

Event = dict[str, Any]
Body = Mapping[str, Any]

USAGE = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
CONTEXT_OPENINGS = ("<session_context>", "This is the Gemini CLI", "System:")
ROUTER = {
    "reasoning": "scripted",
    "model_choice": "flash",
    "complexity_score": 5,
    "complexity_reasoning": "scripted",
    "next_speaker": "user",
}
"""What gemini's own router of models wants to be told, in JSON."""

SIDE_REPLY = reply_of(json.dumps(ROUTER))


def is_side(body: Body) -> bool:
    """True for requests that are not a turn: the router and the like offer no tools."""
    return not body.get("tools")


def _contents(body: Body) -> list[Mapping[str, Any]]:
    return [entry for entry in body.get("contents") or [] if isinstance(entry, Mapping)]


def newest_messages(body: Body) -> list[Mapping[str, Any]]:
    """Contents after the model's last own one."""
    contents = _contents(body)
    own = (i for i, entry in enumerate(contents) if entry.get("role") == "model")
    return contents[max(own, default=-1) + 1 :]


def _texts(contents: list[Mapping[str, Any]]) -> list[str]:
    return [
        part["text"]
        for entry in contents
        if entry.get("role") == "user"
        for part in entry.get("parts") or ()
        if part.get("text") and not part["text"].lstrip().startswith(CONTEXT_OPENINGS)
    ]


def user_messages(body: Body) -> list[str]:
    """Every message of the user in the conversation of this request, oldest first."""
    return _texts(_contents(body))


def newest_user_messages(body: Body) -> list[str]:
    """The user's messages since the model's last own one."""
    return _texts(newest_messages(body))


def tool_results(body: Body) -> list[str]:
    """Outputs of tools since the model's last own content."""
    return [
        json.dumps(part["functionResponse"].get("response"))
        for entry in newest_messages(body)
        for part in entry.get("parts") or ()
        if "functionResponse" in part
    ]


def conversation_id(body: Body) -> str:
    """Nothing tells one conversation from another but how it begins."""
    return (user_messages(body) or [""])[0]


def _frame(parts: list[Event], body: Body, number: int, finish: str | None = None) -> Event:
    candidate: Event = {"index": 0, "content": {"role": "model", "parts": parts}}
    frame = {
        "modelVersion": body.get("model", "fake-1"),
        "responseId": f"r{number}",
        "candidates": [candidate],
    }
    if finish:
        candidate["finishReason"] = finish
        frame["usageMetadata"] = USAGE
    return frame


def _part(step: Step) -> Event | None:
    match step:
        case Think(text):
            return {"text": text, "thought": True}
        case Shell(command, extra):
            arguments = {"command": command, "description": "scripted", **extra}
            return {"functionCall": {"name": "run_shell_command", "args": arguments}}
        case Call(name, arguments):
            return {"functionCall": {"name": name, "args": dict(arguments)}}
    return None


def events(reply: Reply, body: Body, number: int) -> Iterator[Event | Step]:
    """The frames of one reply; steps that only the connection can play are passed on as such."""
    for step in reply:
        match step:
            case Say(text, count):
                for piece in pieces(text, count):
                    yield _frame([{"text": piece}], body, number)
                    yield from gaps(step)
            case Fail(message):
                yield {"error": {"code": 500, "message": message, "status": "INTERNAL"}}
                return
            case _:
                part = _part(step)
                yield step if part is None else _frame([part], body, number)
    yield _frame([{"text": ""}], body, number, "STOP")


def encode(event: Event) -> bytes:
    """A frame on the wire."""
    return f"data: {json.dumps(event)}\n\n".encode()


def whole(reply: Reply, body: Body, number: int) -> Event:
    """The same reply as one object."""
    text = "".join(step.text for step in reply if isinstance(step, Say))
    parts = [{"text": text}] if text else []
    parts += [part for step in reply if (part := _part(step))]
    return _frame(parts, body, number, "STOP")
