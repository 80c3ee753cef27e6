"""The JSON-RPC peer, with a scripted program at the other end."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from cuekit.errors import CuekitError
from cuekit.launch import processes
from cuekit.wire.jsonrpc import Peer, RemoteError, RequestFailed
from cuekit.wire.process import AgentGone, ProcessHost
from tests.support.wait import wait_until

OTHER_SIDE = """
import json, sys
def say(**message):
    print(json.dumps(message), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if method == "echo":
        say(id=message["id"], result={"params": params, "header": message.get("jsonrpc")})
    elif method == "fail":
        say(id=message["id"], error={"code": -32000, "message": "no such luck"})
    elif method == "hold":
        held = message["id"]
    elif method == "release":
        say(id=message["id"], result="second")
        say(id=held, result="first")
    elif method == "ask":
        for request_id in (0, "zero", 1, "1"):
            say(id=request_id, method=params["method"], params={"n": request_id})
        say(id=message["id"], result="asked")
    elif method == "garbage":
        sys.stdout.write('not json\\n[1,2]\\n{"id":77}\\n{"id":999,"result":1}\\n{"method":3}\\n')
        say(method="note", params={"x": 1})
        say(id=message["id"], result="done")
    elif method == "die":
        sys.stderr.write("out of memory\\n")
        sys.exit(3)
    elif "result" in message or "error" in message:
        say(method="answered", params=message)
"""


class Bench:
    def __init__(self, folder: Path, header: bool) -> None:
        program = folder / "other_side.py"
        program.write_text(OTHER_SIDE)
        self.host = ProcessHost(
            [sys.executable, str(program)], cwd=str(folder), environment={"PATH": "/usr/bin:/bin"}
        )
        self.notes: list[tuple[str, Any]] = []
        self.strays: list[Any] = []
        self.answer: Callable[[str, Any, Any], Awaitable[Any]] = self.refuse
        self.peer = Peer(
            self.host,
            on_request=lambda method, params, number: self.answer(method, params, number),
            on_notification=lambda method, params: self.notes.append((method, params)),
            on_stray=self.strays.append,
            header=header,
        )

    async def refuse(self, method: str, params: Any, number: Any) -> Any:
        raise RequestFailed(-32601, f"no method {method}")

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(5):
            while not condition():
                await asyncio.sleep(0.005)


def run(folder: Path, body: Callable[[Bench], Awaitable[None]], *, header: bool = False) -> Bench:
    async def main() -> Bench:
        bench = Bench(folder, header)
        await bench.host.start()
        reading = asyncio.create_task(bench.peer.run())
        try:
            async with asyncio.timeout(20):
                await body(bench)
        finally:
            await bench.host.shut_down()
            await reading
        return bench

    return asyncio.run(main())


@pytest.mark.parametrize(("header", "seen"), [(False, None), (True, "2.0")])
def test_a_request_gets_its_own_answer(tmp_path: Path, header: bool, seen: str | None) -> None:
    async def body(bench: Bench) -> None:
        assert await bench.peer.request("echo", {"a": 1}) == {"params": {"a": 1}, "header": seen}

    run(tmp_path, body, header=header)


def test_answers_out_of_order_reach_their_requests(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        held = asyncio.create_task(bench.peer.request("hold"))
        await asyncio.sleep(0)
        assert await bench.peer.request("release") == "second"
        assert await held == "first"

    run(tmp_path, body)


def test_an_error_is_raised_with_its_words(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        with pytest.raises(RemoteError, match="no such luck") as caught:
            await bench.peer.request("fail")
        assert caught.value.rpc_code == -32000

    run(tmp_path, body)


def test_unknown_requests_are_refused_at_once_with_the_id_as_it_came(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        await bench.peer.request("ask", {"method": "item/unknown"})
        await bench.until(lambda: len(bench.notes) == 4)

    bench = run(tmp_path, body)
    refusal = {"code": -32601, "message": "no method item/unknown"}
    assert sorted((note[1] for note in bench.notes), key=lambda one: repr(one["id"])) == [
        {"id": "1", "error": refusal},
        {"id": "zero", "error": refusal},
        {"id": 0, "error": refusal},
        {"id": 1, "error": refusal},
    ]


def test_a_request_that_waits_holds_up_no_other(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        go = asyncio.Event()

        async def answer(method: str, params: Any, number: Any) -> Any:
            if number == 0:
                await go.wait()
            return number

        bench.answer = answer
        await bench.peer.request("ask", {"method": "approve"})
        await bench.until(lambda: len(bench.notes) == 3)
        assert bench.peer.open_requests == 1
        go.set()
        await bench.until(lambda: len(bench.notes) == 4)
        assert bench.notes[-1] == ("answered", {"id": 0, "result": 0})

    run(tmp_path, body)


def test_a_withdrawn_request_is_not_answered(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        why: list[Any] = []

        async def answer(method: str, params: Any, number: Any) -> Any:
            if number != 0:
                return number
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError as cancelled:
                why.extend(cancelled.args)
                raise

        bench.answer = answer
        await bench.peer.request("ask", {"method": "approve"})
        await bench.until(lambda: len(bench.notes) == 3)
        assert bench.peer.cancel_serving(0, "withdrawn")
        await bench.until(lambda: bench.peer.open_requests == 0)
        assert why == ["withdrawn"]
        assert await bench.peer.request("echo") is not None
        assert len(bench.notes) == 3

    run(tmp_path, body)


def test_a_handler_that_breaks_answers_with_an_error(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        async def answer(method: str, params: Any, number: Any) -> Any:
            raise KeyError("oops")

        bench.answer = answer
        await bench.peer.request("ask", {"method": "approve"})
        await bench.until(lambda: len(bench.notes) == 4)

    bench = run(tmp_path, body)
    assert {note[1]["error"]["code"] for note in bench.notes} == {-32603}


def test_garbage_is_kept_and_the_connection_goes_on(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        assert await bench.peer.request("garbage") == "done"

    bench = run(tmp_path, body)
    strays: list[Any] = ["not json", [1, 2], {"id": 77}, {"id": 999, "result": 1}, {"method": 3}]
    assert bench.strays == strays
    assert bench.notes == [("note", {"x": 1})]


def test_the_end_of_the_stream_fails_every_request_with_the_last_words(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        waiting = asyncio.create_task(bench.peer.request("hold"))
        dying = asyncio.create_task(bench.peer.request("die"))
        for task in (waiting, dying):
            with pytest.raises(AgentGone):
                await task
        with pytest.raises(AgentGone):
            await bench.peer.request("echo")

    run(tmp_path, body)


def test_a_program_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        host = ProcessHost(["/no/such/agent"], cwd=str(tmp_path), environment={})
        with pytest.raises(CuekitError) as caught:
            await host.start()
        assert caught.value.code == "agent_not_started"

    asyncio.run(main())


def test_shut_down_ends_a_group_that_ignores_term(tmp_path: Path) -> None:
    async def main() -> int | None:
        script = "trap '' TERM; sleep 300 & echo ready; while :; do sleep 1; done"
        host = ProcessHost(["/bin/sh", "-c", script], cwd=str(tmp_path), environment={})
        await host.start()
        async for line in host.lines():
            assert line == b"ready"
            break
        pid = host.pid
        code = await host.shut_down(close_seconds=0.1)

        def left() -> list[processes.Process]:
            group = [one for one in processes.everything().values() if one.group == pid]
            return [one for one in group if not one.zombie]

        wait_until(lambda: not left(), 5, what=left)  # a kill that was sent takes a moment
        return code

    assert asyncio.run(main()) == -9
