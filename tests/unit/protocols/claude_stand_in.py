"""A stand-in for `claude -p` in stream-json that misbehaves as its first argument says."""

import json
import os
import sys
import time

BEHAVIOUR = sys.argv[1]
SAID = {"type": "text", "text": "hello"}


def say(**message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def ask(number: object, **request: object) -> None:
    say(type="control_request", request_id=number, request=request)


def ask_for(command: object, number: object = "r1") -> None:
    ask(number, subtype="can_use_tool", tool_name="Bash", input=command, tool_use_id="t1")


def ended() -> None:
    say(type="result", subtype="success", is_error=False)


def play() -> None:
    match BEHAVIOUR:
        case "garbage":
            sys.stdout.write('not json\n[1,2]\n{"type":3}\n{"type":"no_such_type"}\n\xff\n')
            say(type="control_response", response={"subtype": "success", "request_id": "nobody"})
            say(type="control_response", response=5)
            say(type="control_cancel_request", request_id="nobody")
            say(type="control_request", request_id=5, request={})
            ended()
        case "unknown_request":
            ask("r1", subtype="no_such_request")
        case "broken_request":
            ask_for("no object")
        case "big":
            text = {"type": "text", "text": "x" * 50_000_000}
            say(type="assistant", message={"id": "m", "content": [text]})
            ended()
        case "half":
            sys.stdout.write('{"type":"assistant","mess')
            sys.stdout.flush()
            sys.stderr.write("out of memory\n")
            sys.exit(3)
        case "asks":
            ask_for({"command": "ls \ud800 \u2028"})
        case "withdraws":
            ask_for({"command": "ls"})
            say(type="control_cancel_request", request_id="r1")
            ended()
        case "dies_asking":
            ask_for({"command": "ls"})
            time.sleep(0.2)
            os.kill(os.getpid(), 9)
        case "deaf":
            pass
        case "no_result":
            say(type="result", subtype="success", usage="none")


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "control_request":
            number = message["request_id"]
            if message["request"]["subtype"] != "interrupt" or BEHAVIOUR != "deaf":
                say(type="control_response", response={"subtype": "success", "request_id": number})
        elif message["type"] == "user":
            say(type="system", subtype="init", session_id="s")
            say(**message, isReplay=True)
            play()
        else:
            say(type="assistant", message={"id": "m", "content": [SAID]}, got=message)
            sys.stderr.write(f"{json.dumps(message)}\n")
            sys.stderr.flush()
            ended()


main()
