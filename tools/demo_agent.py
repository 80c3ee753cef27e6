"""A scripted agent that speaks ACP, for the demo: no model, no account, one question of leave.

    python -m tools.demo_agent

It answers a prompt that says `make` by asking leave to write a file, and any other in words. The
protocol is the Agent Client Protocol, version 1: one JSON-RPC message a line.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE = "demo.txt"
OPTIONS = [
    {"optionId": "yes", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]


class Agent:
    """One session over standard input and output."""

    def __init__(self) -> None:
        self.cwd = Path()
        self.asked = 0

    def run(self) -> None:
        """Answer until the other side closes."""
        for message in self.messages():
            method, params = message.get("method"), message.get("params") or {}
            if method == "initialize":
                self.reply(message, {"protocolVersion": 1, "agentCapabilities": {}})
            elif method == "session/new":
                self.cwd = Path(params["cwd"])
                self.reply(message, {"sessionId": "demo-session"})
            elif method == "session/prompt":
                self.reply(message, {"stopReason": self.turn(params)})
            elif "id" in message and method is not None:
                error = {"code": -32601, "message": f"no method {method}"}
                self.write({"id": message["id"], "error": error})

    def messages(self) -> Iterator[dict[str, Any]]:
        """The messages of the other side, as they come."""
        while line := sys.stdin.readline():
            yield json.loads(line)

    def turn(self, params: dict[str, Any]) -> str:
        """One turn; the reason why it stopped."""
        text = "".join(part.get("text", "") for part in params["prompt"])
        if "make" not in text.split():
            self.speak(f"You said: {text.strip()}")
            return "end_turn"
        self.speak(f"I would like to write {FILE}.\n")
        if not self.has_leave():
            self.speak("Then I leave it.")
            return "end_turn"
        (self.cwd / FILE).write_text("made by the demo's agent\n", encoding="utf-8")
        self.update("tool_call_update", toolCallId=self.call_id, status="completed")
        self.speak(f"{FILE} is written.")
        return "end_turn"

    @property
    def call_id(self) -> str:
        """The id of the call that is asked for."""
        return f"call-{self.asked}"

    def has_leave(self) -> bool:
        """Ask, and wait for the answer."""
        self.asked += 1
        command = f"echo 'made by the demo'\\''s agent' > {FILE}"
        call = {
            "toolCallId": self.call_id,
            "title": command,
            "kind": "execute",
            "status": "pending",
            "rawInput": {"command": command},
        }
        self.update("tool_call", **call)
        request = {"sessionId": "demo-session", "toolCall": call, "options": OPTIONS}
        self.write({"id": self.asked, "method": "session/request_permission", "params": request})
        for message in self.messages():
            if message.get("id") == self.asked and "method" not in message:
                outcome = (message.get("result") or {}).get("outcome") or {}
                return outcome.get("optionId") == "yes"
        return False

    def speak(self, text: str) -> None:
        """Say something, in two pieces."""
        middle = len(text) // 2
        for piece in (text[:middle], text[middle:]):
            self.update("agent_message_chunk", content={"type": "text", "text": piece})

    def update(self, what: str, /, **values: Any) -> None:
        """Tell what goes on."""
        update = {"sessionUpdate": what, **values}
        params = {"sessionId": "demo-session", "update": update}
        self.write({"method": "session/update", "params": params})

    def reply(self, message: dict[str, Any], result: dict[str, Any]) -> None:
        """Answer a request."""
        self.write({"id": message["id"], "result": result})

    def write(self, message: dict[str, Any]) -> None:
        """One line."""
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main() -> None:
    """Run until the other side closes."""
    Agent().run()


if __name__ == "__main__":
    main()
