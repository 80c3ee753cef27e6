"""The MCP endpoint of one session, over real sockets: who may speak, and what is answered."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from cuekit.errors import CuekitError
from cuekit.protocols.claude_permission import PermissionEndpoint, not_connected

ALLOW = {"behavior": "allow", "updatedInput": {"command": "ls"}}
ARGUMENTS = {"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t1"}


class Place:
    """An endpoint, a client of it, and a person who decides when told to."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[Any] = []
        self.ended: list[str] = []
        self.decided: asyncio.Queue[Any] = asyncio.Queue()
        self.endpoint = PermissionEndpoint(str(folder), self._decide, progress_seconds=0.02)

    async def _decide(self, arguments: Any) -> Any:
        self.asked.append(arguments)
        try:
            return await self.decided.get()
        except asyncio.CancelledError as cancelled:
            self.ended.append(str(cancelled.args[0]))
            raise

    @property
    def config(self) -> Any:
        text = Path(self.endpoint.config_file).read_text(encoding="utf-8")
        return json.loads(text)["mcpServers"]["cuekit"]

    @property
    def port(self) -> int:
        return int(self.config["url"].split(":")[2].split("/")[0])

    async def raw(self, head: str, body: bytes = b"") -> bytes:
        """Everything that comes back for a request; the connection is closed then."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(head.encode() + body)
        try:
            return await asyncio.wait_for(reader.read(), 10)
        finally:
            writer.close()

    async def post(self, message: Any, **headers: str) -> tuple[int, bytes]:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        sent = {"Authorization": self.config["headers"]["Authorization"], "Connection": "close"}
        lines = "".join(f"{name}: {value}\r\n" for name, value in {**sent, **headers}.items())
        head = f"POST /mcp HTTP/1.1\r\n{lines}Content-Length: {len(body)}\r\n\r\n"
        answer = await self.raw(head, body)
        head_bytes, _, rest = answer.partition(b"\r\n\r\n")
        return int(head_bytes.split(b" ")[1]), rest

    async def call(self, request_id: Any = 7) -> tuple[int, list[Any]]:
        meta = {"progressToken": 3}
        params = {"name": "approve", "arguments": ARGUMENTS, "_meta": meta}
        status, body = await self.post(rpc("tools/call", params, request_id))
        lines = [line for line in body.split(b"\n") if line.startswith(b"data: ")]
        return status, [json.loads(line.removeprefix(b"data: ")) for line in lines]

    async def until_asked(self) -> None:
        async with asyncio.timeout(10):
            while not self.asked:
                await asyncio.sleep(0.005)


def rpc(method: str, params: Any = None, request_id: Any = 1) -> Any:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}


def at(folder: Path, script: Callable[[Place], Awaitable[None]]) -> Place:
    async def whole() -> Place:
        place = Place(folder)
        await place.endpoint.start()
        try:
            await script(place)
        finally:
            await place.endpoint.close()
        return place

    return asyncio.run(whole())


def test_a_call_is_answered_at_once_and_kept_alive_until_somebody_decides(tmp_path: Path) -> None:
    async def script(place: Place) -> None:
        calling = asyncio.create_task(place.call())
        await place.until_asked()
        await asyncio.sleep(0.2)
        place.decided.put_nowait(ALLOW)
        status, messages = await calling

        *notes, reply = messages
        text = json.dumps(ALLOW)
        assert status == 200
        assert len(notes) > 2
        assert [note["params"]["progress"] for note in notes] == list(range(1, len(notes) + 1))
        assert {note["params"]["progressToken"] for note in notes} == {3}
        result = {"content": [{"type": "text", "text": text}]}
        assert reply == {"jsonrpc": "2.0", "id": 7, "result": result}
        assert place.asked == [ARGUMENTS]

    at(tmp_path, script)


def test_only_whoever_has_the_token_is_served(tmp_path: Path) -> None:
    async def script(place: Place) -> None:
        right = place.config["headers"]["Authorization"]
        for wrong in ("", "Bearer ", "Bearer x", right[:-1], right + "x", right.lower(), "\xff"):
            for message in (rpc("initialize"), rpc("tools/call", {"name": "approve"})):
                status, body = await place.post(message, Authorization=wrong)
                assert (status, body) == (401, b"")
        status, _ = await place.post(rpc("ping"))
        assert status == 200
        assert place.asked == []

    at(tmp_path, script)


def test_the_token_is_in_a_file_for_its_owner_alone_and_ends_with_the_session(
    tmp_path: Path,
) -> None:
    async def script(place: Place) -> None:
        mode = os.stat(place.endpoint.config_file).st_mode
        assert stat.S_IMODE(mode) == 0o600
        assert place.config["url"].startswith("http://127.0.0.1:")
        assert len(place.config["headers"]["Authorization"]) > 40

    place = at(tmp_path, script)

    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        place.config["url"]


def test_another_local_user_cannot_read_the_token(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        return  # only root can become another user; the file's mode is tested above
    tmp_path.chmod(0o755)
    for folder in tmp_path.parents[:2]:
        folder.chmod(folder.stat().st_mode | 0o055)

    async def script(place: Place) -> None:
        pid = os.fork()
        if pid == 0:
            os.setgid(65534)
            os.setuid(65534)
            try:
                Path(place.endpoint.config_file).read_bytes()
            except PermissionError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(pid, 0)[1] == 0

    at(tmp_path, script)


def test_the_handshake_of_every_version(tmp_path: Path) -> None:
    async def script(place: Place) -> None:
        (_, discovered) = await place.post(rpc("server/discover"))
        assert json.loads(discovered)["error"]["code"] == -32601
        asked = {"protocolVersion": "2025-11-25"}
        (_, opened) = await place.post(rpc("initialize", asked, "a"))
        result = json.loads(opened)["result"]
        assert json.loads(opened)["id"] == "a"
        assert (result["protocolVersion"], result["capabilities"]) == ("2025-11-25", {"tools": {}})
        (_, newer) = await place.post(rpc("initialize", {"protocolVersion": "2099-01-01"}))
        assert json.loads(newer)["result"]["protocolVersion"] == "2025-11-25"
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert await place.post(note) == (202, b"")
        (_, listed) = await place.post(rpc("tools/list"))
        assert [tool["name"] for tool in json.loads(listed)["result"]["tools"]] == ["approve"]
        await place.endpoint.wait_connected(1)
        token = place.config["headers"]["Authorization"]
        answer = await place.raw(
            f"GET /mcp HTTP/1.1\r\nAuthorization: {token}\r\nConnection: close\r\n\r\n"
        )
        assert answer.startswith(b"HTTP/1.1 405 ")
        assert b"Allow: POST" in answer

    at(tmp_path, script)


def test_several_requests_go_over_one_connection(tmp_path: Path) -> None:
    async def script(place: Place) -> None:
        token = place.config["headers"]["Authorization"]
        body = json.dumps(rpc("ping")).encode()
        head = f"POST /mcp HTTP/1.1\r\nAuthorization: {token}\r\nContent-Length: {len(body)}\r\n"
        last = f"{head}Connection: close\r\n\r\n".encode() + body
        answer = await place.raw(f"{head}\r\n", body + last)
        assert answer.count(b"HTTP/1.1 200 OK") == 2

    at(tmp_path, script)


def test_nobody_who_connects_is_said(tmp_path: Path) -> None:
    async def script(place: Place) -> None:
        with pytest.raises(CuekitError) as failed:
            await place.endpoint.wait_connected(0.01)
        assert failed.value.code == "approval_channel_failed"

    at(tmp_path, script)


def test_a_cancelled_call_is_withdrawn_and_refused(tmp_path: Path) -> None:
    async def script(place: Place) -> None:
        calling = asyncio.create_task(place.call(7))
        await place.until_asked()
        for other in ("7", 8, None, [7]):  # calls of nobody
            params = {"requestId": other}
            note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            assert (await place.post(note))[0] == 202
        assert place.ended == []
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        assert (await place.post(note))[0] == 202
        _, messages = await calling
        reply = json.loads(messages[-1]["result"]["content"][0]["text"])
        assert reply["behavior"] == "deny"

    assert at(tmp_path, script).ended == ["withdrawn"]


def test_a_caller_that_hangs_up_abandons_its_request(tmp_path: Path) -> None:
    async def script(place: Place) -> None:
        calling = asyncio.create_task(place.call())
        await place.until_asked()
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        async with asyncio.timeout(10):
            while not place.ended:
                await asyncio.sleep(0.005)

    assert at(tmp_path, script).ended == ["abandoned"]


def test_a_session_that_ends_refuses_what_is_open(tmp_path: Path) -> None:
    async def script(place: Place) -> None:
        calling = asyncio.create_task(place.call())
        await place.until_asked()
        await place.endpoint.close()
        _, messages = await calling
        reply = json.loads(messages[-1]["result"]["content"][0]["text"])
        assert reply["behavior"] == "deny"

    assert at(tmp_path, script).ended == ["abandoned"]


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (b"garbage", 400),
        (b"[]", 400),
        (b"", 400),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', 202),
        (rpc("no/such"), 200),
        (rpc("tools/call", {"name": "other", "arguments": ARGUMENTS}), 200),
        (rpc("tools/call", {"name": "approve", "arguments": "x"}), 200),
    ],
)
def test_bad_messages_are_refused_and_ask_nobody(tmp_path: Path, message: Any, status: int) -> None:
    async def script(place: Place) -> None:
        got, body = await place.post(message)
        assert got == status
        assert got != 200 or "error" in json.loads(body)
        assert place.asked == []

    at(tmp_path, script)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("POST /other HTTP/1.1\r\n{auth}Content-Length: 2\r\nConnection: close\r\n\r\n{{}}", 404),
        ("POST /mcp HTTP/1.1\r\n{auth}\r\n", 411),
        ("POST /mcp HTTP/1.1\r\n{auth}Content-Length: -1\r\n\r\n", 411),
        ("POST /mcp HTTP/1.1\r\n{auth}Content-Length: 99999999999\r\n\r\n", 413),
        ("POST /mcp HTTP/1.1\r\n{auth}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
    ],
)
def test_bad_requests_are_refused(tmp_path: Path, head: str, status: int) -> None:
    async def script(place: Place) -> None:
        auth = f"Authorization: {place.config['headers']['Authorization']}\r\n"
        answer = await place.raw(head.format(auth=auth))
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())

    at(tmp_path, script)


@pytest.mark.parametrize("head", ["no http\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/1.1\r\nx\r\n\r\n"])
def test_what_is_no_http_is_hung_up_on(tmp_path: Path, head: str) -> None:
    async def script(place: Place) -> None:
        assert await place.raw(head) == b""
        assert (await place.post(rpc("ping")))[0] == 200

    at(tmp_path, script)


def test_a_run_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(CuekitError) as failed:
        at(tmp_path / "missing", lambda place: asyncio.sleep(0))

    assert failed.value.code == "approval_channel_failed"


@pytest.mark.parametrize(
    ("servers", "state"),
    [
        ([{"name": "cuekit", "status": "connected"}], None),
        ([{"name": "cuekit", "status": "failed"}], "failed"),
        ([{"name": "other", "status": "connected"}], "missing"),
        ([], "missing"),
        (None, "missing"),
        (["x"], "missing"),
    ],
)
def test_what_init_says_of_the_channel(servers: Any, state: str | None) -> None:
    assert not_connected({"mcp_servers": servers}) == state
