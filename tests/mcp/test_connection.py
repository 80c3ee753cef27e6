"""A client that sends garbage, takes a call back, or is suddenly gone."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.wait import wait_until
from tests.support.workplace import Workplace

HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


class Wire:
    """A server, and the bytes to and from it."""

    def __init__(self, place: Workplace) -> None:
        self.errors = place.root / "stderr"
        with self.errors.open("wb") as errors:
            self.server = subprocess.Popen(
                [sys.executable, "-m", "cuekit", "--mcp"],
                env=place.env,
                cwd=place.project,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self.send(HELLO)
        assert self.answer(0)["result"]["serverInfo"]["name"] == "cuekit"
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: Any) -> None:
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def send_bytes(self, data: bytes) -> None:
        assert self.server.stdin is not None
        self.server.stdin.write(data)
        self.server.stdin.flush()

    def call(self, number: int, tool: str, **arguments: Any) -> None:
        params = {"name": tool, "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})

    def answer(self, number: int) -> Any:
        """The answer to a request; every line on the way must be JSON-RPC."""
        assert self.server.stdout is not None
        while True:
            line = self.server.stdout.readline()
            assert line, self.errors.read_text()
            message = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            if message.get("id") == number:
                return message

    def works(self, number: int) -> bool:
        """Whether it still answers."""
        self.call(number, "list", kind="sessions")
        return not self.answer(number)["result"].get("isError", False)

    def close(self) -> None:
        self.server.kill()
        self.server.wait(timeout=20)
        for pipe in (self.server.stdin, self.server.stdout):
            if pipe is not None and not pipe.closed:
                pipe.close()


@pytest.fixture
def wire(workplace: Workplace) -> Iterator[Wire]:
    connection = Wire(workplace)
    yield connection
    connection.close()


def waiters(place: Workplace, task_id: str) -> list[str]:
    return os.listdir(Path(place.home.run(task_id), "waiters"))


def waiting(wire: Wire, place: Workplace, number: int) -> str:
    """A task that goes on, and a call that waits for it."""
    task_id = place.submit("read stop")
    wire.call(number, "wait", task_ids=[task_id], until="terminal")
    wait_until(lambda: waiters(place, task_id) != [], 20, "it waits")
    return task_id


def test_garbage_is_passed_over(wire: Wire) -> None:
    deep = b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":' + b"[" * 20_000
    for line in (
        b"hello\n",
        b"\n",
        b"{}\n",
        b"[]\n",
        b"null\n",
        b"\xff\xfe\x00\n",
        deep + b"\n",
        b'{"jsonrpc":"2.0","id":6,"method":"tools/nonesuch"}\n',
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":7}\n',
        b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"wait","arguments":[]}}\n',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}\n',
        b"x" * 300_000 + b"\n",
    ):
        wire.send_bytes(line)
    assert wire.works(9)
    assert "Traceback" not in wire.errors.read_text()


def test_a_call_that_is_taken_back_ends(wire: Wire, workplace: Workplace) -> None:
    task_id = waiting(wire, workplace, 2)
    wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
    wait_until(lambda: waiters(workplace, task_id) == [], 10, "the wait ends")
    assert wire.works(3)


def test_the_server_ends_with_its_input_in_the_middle_of_a_wait(
    wire: Wire, workplace: Workplace
) -> None:
    task_id = waiting(wire, workplace, 2)
    assert wire.server.stdin is not None
    wire.server.stdin.close()
    began = time.monotonic()
    assert wire.server.wait(timeout=20) == 0
    assert time.monotonic() - began < 10
    assert waiters(workplace, task_id) == []
    assert wire.errors.read_text() == ""
    assert workplace.status(task_id)["status"] == "running"


def test_a_client_that_is_gone_altogether_leaves_nothing(wire: Wire, workplace: Workplace) -> None:
    task_id = waiting(wire, workplace, 2)
    for pipe in (wire.server.stdout, wire.server.stdin):
        assert pipe is not None
        pipe.close()
    assert wire.server.wait(timeout=20) == 0
    assert waiters(workplace, task_id) == []
    assert "Traceback" not in wire.errors.read_text()


def test_what_a_command_of_a_child_prints_never_reaches_the_wire(
    wire: Wire, workplace: Workplace
) -> None:
    Path(workplace.home.root).mkdir(exist_ok=True)
    Path(workplace.home.config).write_text("mcp: {shell: allow}\n")
    wire.call(2, "submit_task", objective="echo noise; echo noise >&2", agent_kind="shell")
    assert wire.answer(2)["result"]["isError"] is False
    assert wire.works(3)


def test_an_interrupt_ends_it(wire: Wire) -> None:
    wire.server.send_signal(signal.SIGTERM)
    assert wire.server.wait(timeout=20) == -signal.SIGTERM
