"""A stand-in for an agent that speaks ACP, and does what its first argument says."""

import json
import os
import subprocess
import sys
from typing import Any

BEHAVIOUR = sys.argv[1]
OPTIONS = [
    {"optionId": "a", "name": "Always", "kind": "allow_always"},
    {"optionId": "o", "name": "Once", "kind": "allow_once"},
    {"optionId": "r", "name": "No", "kind": "reject_once"},
]
TWICE = [
    {"optionId": "switch", "name": "Once, and switch", "kind": "allow_once"},
    {"optionId": "proceed_once", "name": "Once", "kind": "allow_once"},
    {"optionId": "odd", "name": "Odd", "kind": "never_heard_of"},
    {"optionId": "cancel", "name": "No", "kind": "reject_once"},
]
MODES = {
    "wild": ("auto", ["auto", "default"]),
    "only_wild": ("auto", ["auto", "yolo"]),
    "stubborn": ("auto", ["auto", "default"]),
    "leaves": ("default", ["auto", "default"]),
}
CALL = {
    "toolCallId": "call",
    "title": "Run",
    "kind": "execute",
    "rawInput": {"command": "rm x"},
}
seen: list[Any] = []
prompts: list[Any] = []


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(kind: str, **values: Any) -> None:
    values = {"sessionId": "S", "update": {"sessionUpdate": kind, **values}}
    say(method="session/update", params=values)


def text(words: str, **more: Any) -> None:
    update("agent_message_chunk", content={"type": "text", "text": words}, **more)


def ask(number: Any, options: Any = OPTIONS, call: Any = CALL) -> None:
    params = {"sessionId": "S", "toolCall": call, "options": options}
    say(id=number, method="session/request_permission", params=params)


def answer(prompt: Any, stop: str = "end_turn", **more: Any) -> None:
    say(id=prompt, result={"stopReason": stop, **more})


def opened() -> Any:
    if BEHAVIOUR not in MODES:
        return {}
    current, names = MODES[BEHAVIOUR]
    modes = [{"id": name, "name": name} for name in names]
    return {"modes": {"currentModeId": current, "availableModes": modes}}


def prompted(number: Any, words: list[str]) -> None:
    match BEHAVIOUR:
        case "zero" | "asks" | "dies" | "unanswered":
            ask(0)
            if BEHAVIOUR == "dies":
                sys.exit(3)
        case "string":
            ask("u-1")
        case "twice":
            ask(1, TWICE)
        case "no_once":
            ask(1, OPTIONS[:1])
        case "broken":
            ask(1, OPTIONS, None)
        case "withdraws":
            ask(7)
            say(method="$/cancel_request", params={"requestId": 7})
        case "ends_asking":
            ask(0)
            answer(number, "cancelled")
        case "unknown":
            say(method="_vendor/notice", params={"x": 1})
            update("never_heard_of", y=2)
            say(id="f", method="fs/read_text_file", params={"path": "/etc/passwd"})
        case "pending":
            values = {"sessionUpdate": "pending_interaction", "tool_call_id": "call"}
            say(method="_x.ai/session_notification", params={"sessionId": "S", "update": values})
            answer(number)
        case "marked":
            text("[MODE_UPDATE] yolo")
            text("take care", _meta={"claudeCode": {"kind": "informational"}})
            text("done")
            answer(number)
        case "long":
            commands = [{"name": "c" * 600_000, "description": ""}]
            update("available_commands_update", availableCommands=commands)
            text("x" * 600_000)
            answer(number)
        case "chatty":
            sys.stderr.write("an error of a handled request\n" * 200_000)
            sys.stderr.flush()
            answer(number)
        case "children":
            child = subprocess.Popen(["sleep", "300"])
            text(f"{child.pid}")
            answer(number)
        case "leaves":
            update("current_mode_update", currentModeId="auto")
        case "busy":
            text("|".join(words))
        case "burst" if len(prompts) == 2:
            end = {"jsonrpc": "2.0", "id": prompts[0], "result": {"stopReason": "end_turn"}}
            sys.stdout.write(json.dumps(end) + "\n")  # in one write with what is behind it
            text("of the second")
            answer(number)
        case "burst":
            pass
        case "fails":
            say(id=number, error={"code": -32603, "message": "Internal error", "data": "no model"})
        case "odd_stop":
            answer(number, "tired")
        case "garbage":
            sys.stdout.write('not json\n[1]\n{"jsonrpc":"2.0","id":99,"result":{}}\n')
            answer(number)
        case "half":
            sys.stdout.write('{"jsonrpc":"2.0","meth')
            sys.stdout.flush()
            sys.exit(0)
        case _:
            text(json.dumps(seen))
            answer(number)


def replied(message: Any) -> None:
    text(json.dumps(message))
    if BEHAVIOUR != "unanswered":
        answer(prompts.pop())


for line in sys.stdin:
    message = json.loads(line)
    seen.append(message)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        say(method="_x.ai/models/update", params={})
        meta = {"steering": {"supported": True}} if BEHAVIOUR == "steers" else {}
        abilities = {"loadSession": True}
        result = {"protocolVersion": 1, "agentCapabilities": abilities, "_meta": meta}
        say(id=number, result=result)
    elif method == "session/new":
        if BEHAVIOUR == "no_login" or (BEHAVIOUR == "login" and len(seen) == 2):
            say(id=number, error={"code": -32000, "message": "Authentication required"})
        else:
            say(id=number, result={"sessionId": "S", **opened()})
    elif method == "session/load":
        text("told before")
        say(id=number, result={})
    elif method == "session/set_mode":
        if BEHAVIOUR == "stubborn":
            say(id=number, error={"code": -32602, "message": "no such mode"})
        else:
            say(id=number, result={})
            if BEHAVIOUR == "leaves":
                text(json.dumps(message["params"]))
                answer(prompts.pop())
    elif method == "session/prompt":
        prompts.append(number)
        prompted(number, [part["text"] for part in message["params"]["prompt"]])
    elif method == "session/cancel":
        if BEHAVIOUR == "deaf":
            continue
        if prompts and BEHAVIOUR not in ("asks", "leaves"):
            answer(prompts.pop(0), "cancelled")
    elif method is None and ("result" in message or "error" in message):
        if BEHAVIOUR not in ("ends_asking",) and prompts:
            replied(message)
        else:
            text(json.dumps(message))
    if BEHAVIOUR == "busy" and len(prompts) == 2:
        for prompt in list(prompts):
            answer(prompt)
        prompts.clear()
os._exit(0)
