"""A stand-in for `codex app-server` that misbehaves as its first argument says."""

import json
import sys
import time

BEHAVIOUR = sys.argv[1]
THREAD = {"thread": {"id": "T", "cliVersion": "9"}, "model": "m", "cwd": "/x"}
turns = 0


def say(**message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def note(method: str, **params: object) -> None:
    say(method=method, params={"threadId": "T", **params})


def ask(number: object, method: str, **params: object) -> None:
    say(id=number, method=method, params={"threadId": "T", "turnId": turn(), **params})


def turn() -> str:
    return f"turn-{turns}"


def ended(status: str = "completed", **more: object) -> None:
    note("turn/completed", turn={"id": turn(), "status": status, **more})


def begin(text: str) -> None:
    content = [{"type": "text", "text": text}]
    note("turn/started", turn={"id": turn(), "status": "inProgress"})
    note("item/started", item={"type": "userMessage", "id": "u", "content": content})


def play() -> None:
    match BEHAVIOUR:
        case "garbage":
            sys.stdout.write('not json\n[1,2]\n{"id":77}\n{"id":999,"result":1}\n{"method":3}\n')
            note("no/such/notification", x=1)
            ended()
        case "unknown_request":
            ask("r-1", "no/such/request")
        case "big":
            item = {"type": "agentMessage", "id": "i", "text": "x" * 50_000_000}
            note("item/completed", item=item)
            ended()
        case "half":
            sys.stdout.write('{"method":"item/agentMessage/delta","par')
            sys.stdout.flush()
            sys.exit(3)
        case "dies_asking":
            ask(0, "item/commandExecution/requestApproval", itemId="c", command="ls", cwd="/x")
        case "withdraws":
            ask(0, "item/commandExecution/requestApproval", itemId="c", command="ls", cwd="/x")
            note("serverRequest/resolved", requestId=0)
            ended("interrupted")
        case "broken_request":
            ask(0, "item/commandExecution/requestApproval", itemId="c", command=5)
        case "legacy":
            ask(0, "execCommandApproval", command=["ls"])
        case "elicitation":
            fields = {
                "name": {"type": "string", "title": "Your name"},
                "sure": {"type": "boolean"},
                "count": {"type": "integer"},
            }
            schema = {"type": "object", "properties": fields, "required": ["name"]}
            ask(
                "e",
                "mcpServer/elicitation/request",
                serverName="files",
                mode="form",
                message="Who are you?",
                requestedSchema=schema,
            )
        case "asks_permissions":
            wanted = {"fileSystem": {"write": ["/a", "/b"], "read": None}, "network": None}
            ask(0, "item/permissions/requestApproval", itemId="p", permissions=wanted, cwd="/x")
        case "stalls":
            for _ in range(3):
                error = {"message": "Reconnecting... waiting for network"}
                note("error", error=error, willRetry=True)


def answered(message: dict[str, object]) -> None:
    """Our answer to a request: shown to the test as the words of the turn."""
    text = json.dumps({name: message[name] for name in ("result", "error") if name in message})
    note("item/completed", item={"type": "agentMessage", "id": "i", "text": text})
    ended()


for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method is None:
        answered(message)
    elif method == "thread/start":
        say(id=number, result=THREAD)
    elif method == "account/read":
        signed_out = BEHAVIOUR == "signed_out"
        say(id=number, result={"account": None, "requiresOpenaiAuth": signed_out})
    elif method == "turn/start":
        turns += 1
        say(id=number, result={"turn": {"id": turn()}})
        begin(message["params"]["input"][0]["text"])
        if turns > 1:
            ended()
        else:
            play()
    elif method == "turn/steer" and BEHAVIOUR == "late_steer":
        say(id=number, error={"code": -32600, "message": "no active turn to steer"})
        ended()
    elif method == "turn/steer" and BEHAVIOUR == "not_steerable":
        say(id=number, error={"code": -32600, "message": "cannot steer a review"})
        time.sleep(0.05)
        ended()
    elif method == "turn/steer" and BEHAVIOUR == "drops_steer":
        say(id=number, result={"turnId": turn()})
        ended()
    elif method == "turn/interrupt" and BEHAVIOUR == "stalls":
        ended("interrupted")  # and no answer: 0.133.0 and 0.141.0 may owe it for long
    elif number is not None:
        say(id=number, result={})
