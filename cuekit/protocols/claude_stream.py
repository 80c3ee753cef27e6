"""A session with `claude -p` in stream-json both ways: one process, its turns, its approvals.

Measured with Claude Code 2.1.167, 2.1.197 and 2.1.332.
"""

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

from cuekit.agents.claude_code import TRUSTED_FOLDER, Asked, conversation_arguments
from cuekit.errors import CuekitError
from cuekit.model.event import AgentEvent, EventKind
from cuekit.protocols import claude_results
from cuekit.protocols.base import Links, Sent, SessionSetup
from cuekit.protocols.claude_control import Approver, Control
from cuekit.protocols.claude_permission import ENVIRONMENT, PermissionEndpoint, not_connected
from cuekit.protocols.claude_wire import Json, encode_line, raw_line, read_message
from cuekit.protocols.decode_claude import Decoder
from cuekit.protocols.processes import Commands
from cuekit.wire.process import AgentGone, ProcessHost

START_SECONDS = 60.0
CONNECT_SECONDS = 20.0
TURN_START_SECONDS = 30.0
NEXT_TURN_SECONDS = 5.0
INTERRUPT_SECONDS = 10.0
CLEAN_SECONDS = 3.0
LOOK_SECONDS = 0.05
CLOSE_BUSY_SECONDS = 0.3  # with its input closed claude finishes the turn first
BYPASS = "dangerously_skip_permissions"

LAST_WORDS_SECONDS = 1.0  # from the end of its output to its exit

_WATCHED = frozenset(
    {
        EventKind.TURN_STARTED,
        EventKind.TURN_COMPLETED,
        EventKind.PROMPT_ACCEPTED,
        EventKind.ERROR,
    }
)


def asked_of(setup: SessionSetup, *, skip_permissions: bool) -> Asked:
    """What a setup says of the command line."""
    return Asked(
        partial_messages=setup.options.get("verbosity") != "whole",
        skip_permissions=skip_permissions,
        model=setup.model,
        append_system_prompt=setup.append_system_prompt,
        add_dirs=setup.add_dirs,
        output_schema=setup.output_schema,
        resume=setup.resume,
        fork=setup.fork,
    )


def literal(text: str) -> str:
    """A message as claude takes it as text: behind a space no slash makes a command (all)."""
    return f" {text}" if text.startswith("/") else text


class ClaudeStream:
    """One claude. See `protocols.base.AgentSession`.

    `setup.argv` is the executable, with whatever of the user's own stands behind it. Options:
    `approval_channel` (stdio, mcp), `verbosity` (full, whole), `dangerously_skip_permissions`.
    """

    def __init__(self, setup: SessionSetup, links: Links) -> None:
        self._setup = setup
        self._links = links
        self._decoder = Decoder()
        self._host: ProcessHost | None = None
        self._endpoint: PermissionEndpoint | None = None
        self._reader: asyncio.Task[None] | None = None
        self._side_tasks: set[asyncio.Task[Any]] = set()
        self._approver = Approver(links, setup.cwd)
        self._control = Control(self._write, self._approver.decide)
        self._sending = asyncio.Lock()
        self._changed = asyncio.Event()
        self._commands = Commands()
        self._unread: dict[str, str] = {}  # sent, not yet read by claude: uuid and text
        self._turns = 0  # begun so far
        self._in_turn = False
        self._starting = False  # a message is sent, its turn has not begun
        self._failing: Json | None = None  # why the running turn is being ended by us
        self._gone: AgentGone | None = None
        self._closing = False

    @property
    def busy(self) -> bool:
        """Whether a turn runs, or is about to."""
        return self._in_turn or self._starting

    # -- the session -----------------------------------------------------------------------

    async def start(self) -> None:
        """Spawn and initialise. Raises CuekitError, AgentGone.

        The session's id comes with the first turn: claude says nothing of it before.
        """
        try:
            await self._spawn()
            self._reader = asyncio.create_task(self._read())
            async with asyncio.timeout(START_SECONDS):
                await self.control({"subtype": "initialize"})
            if self._endpoint is not None:
                await self._endpoint.wait_connected(CONNECT_SECONDS)
        except TimeoutError:
            await self.close()
            raise CuekitError(
                f"claude did not open a session within {START_SECONDS:g} s",
                code="agent_not_started",
                hint="cuekit doctor",
            ) from None
        except AgentGone as gone:
            await self.close()
            code = claude_results.error_code(gone.message, None)
            raise CuekitError(gone.message, code=code or "agent_not_started") from None
        except BaseException:
            await self.close()
            raise

    async def send(self, text: str) -> Sent:
        """Give a message: a turn of its own, or into the turn that runs.

        A message that begins with a slash is text here too: a space before it makes it so.
        """
        async with self._sending:
            if self._gone is not None:
                raise self._gone
            sent = Sent.JOINED if self.busy else Sent.STARTED
            name = str(uuid.uuid4())
            content = [{"type": "text", "text": literal(text)}]
            message = {"type": "user", "message": {"role": "user", "content": content}}
            if sent is Sent.STARTED:
                self._starting = True
                self._commands.turn_begins(self._running.pid)
            self._unread[name] = text
            try:
                await self._write({**message, "uuid": name})
            except AgentGone:
                self._unread.pop(name, None)
                if sent is Sent.STARTED and not self._in_turn:
                    self._starting = False
                raise
            return sent

    async def control(self, request: Json) -> Json:
        """A control request of claude's protocol, and its answer. Raises CuekitError, AgentGone."""
        return await self._control.request(request)

    async def interrupt(self) -> bool:
        """End the running turn and what it runs; False when there was none.

        A message that claude has not read yet begins the next turn (all versions).
        """
        if self._starting and not self._in_turn:
            await self._until(lambda: self._in_turn or not self._starting, TURN_START_SECONDS)
        if not self._in_turn:
            return False
        turn = self._turns

        def over() -> bool:
            self._commands.look(self._running.pid)  # a command may start more until it is ended
            return not self._is_open(turn)

        over()
        self._aside(self._request_interrupt())
        if not await self._until(over, INTERRUPT_SECONDS, poll=LOOK_SECONDS):
            self._finish({"outcome": "interrupted", "message": "claude did not confirm it"})
        if not await self._until(
            lambda: not self._commands.left(), CLEAN_SECONDS, poll=LOOK_SECONDS
        ):
            await self._commands.end()
        return True

    async def close(self) -> None:
        """End the session and every process of it; a request that is open ends as abandoned."""
        self._closing = True
        if self._host is not None:
            with contextlib.suppress(AgentGone):
                self._commands.look_at_all(self._host.pid)
            if self.busy:
                await self._host.shut_down(close_seconds=CLOSE_BUSY_SECONDS)
            else:
                await self._host.shut_down()
            await self._commands.end()
        await self._control.end(AgentGone("the session is closed"))
        if self._endpoint is not None:
            await self._endpoint.close()
        for task in list(self._side_tasks):
            task.cancel()
        await asyncio.gather(*self._side_tasks, return_exceptions=True)
        if self._reader is not None:
            await asyncio.gather(self._reader, return_exceptions=True)

    async def wait(self) -> int | None:
        """Wait for the process to end and its last words to be read; its exit status."""
        status = await self._running.wait()
        if self._reader is not None:
            await asyncio.shield(asyncio.gather(self._reader, return_exceptions=True))
        return status

    # -- to claude -------------------------------------------------------------------------

    async def _spawn(self) -> None:
        setup, options = self._setup, self._setup.options
        environment = dict(setup.environment)
        if setup.folder_trusted:
            environment |= TRUSTED_FOLDER
        if options.get("approval_channel") == "mcp":
            self._endpoint = PermissionEndpoint(
                setup.run_dir, self._approver.decide, tap=self._links.tap
            )
            await self._endpoint.start()
            environment |= ENVIRONMENT
        asked = asked_of(setup, skip_permissions=options.get(BYPASS) is True)
        config = self._endpoint.config_file if self._endpoint else None
        argv = conversation_arguments(setup.argv, asked, mcp_config=config)
        self._host = ProcessHost(argv, cwd=setup.cwd, environment=environment, tap=self._links.tap)
        await self._host.start()

    @property
    def _running(self) -> ProcessHost:
        if self._host is None:
            raise AgentGone("claude was not started")
        return self._host

    async def _write(self, message: Json) -> None:
        await self._running.write_line(encode_line(message))

    async def _request_interrupt(self) -> None:
        with contextlib.suppress(CuekitError):
            await self.control({"subtype": "interrupt"})

    # -- from claude -----------------------------------------------------------------------

    async def _read(self) -> None:
        try:
            async for line in self._running.lines():
                self._take(line)
        finally:
            await self._ended()

    def _take(self, line: bytes) -> None:
        message = read_message(line)
        if message is None:
            self._links.emit(raw_line(line))
            return
        kind = message.get("type")
        if isinstance(kind, str) and kind.startswith("control_"):
            self._control.take(message)
        elif kind == "system" and message.get("subtype") == "init":
            self._check_channel(message)
        for event in self._decoder.decode(message):
            if event.kind in _WATCHED:
                self._take_event(event)
            else:
                self._links.emit(event)

    def _take_event(self, event: AgentEvent) -> None:
        kind, values = event
        if kind is EventKind.TURN_STARTED:
            self._begin()
            return
        if kind is EventKind.TURN_COMPLETED:
            if self._in_turn:
                self._finish(values)
            return
        if kind is EventKind.PROMPT_ACCEPTED:
            text = self._unread.pop(values["item_id"], values["text"])
            event = AgentEvent(kind, {**values, "text": text})
        self._links.emit(event)
        if kind is EventKind.ERROR and values.get("code") == claude_results.NOT_SIGNED_IN:
            self._fail({"message": values["message"], "code": values["code"]})
            self._aside(self.interrupt())

    def _begin(self) -> None:
        self._turns += 1
        self._in_turn, self._starting = True, False
        self._links.emit(AgentEvent(EventKind.TURN_STARTED, {}))
        self._changed.set()

    def _finish(self, values: Json) -> None:
        """The end of the running turn, told once. What claude has not read makes the next one."""
        if self._failing is not None:
            values = {**values, "outcome": "failed", **self._failing}
        self._in_turn, self._failing = False, None
        if self._unread and self._gone is None:
            self._starting = True
            loop = asyncio.get_running_loop()
            loop.call_later(NEXT_TURN_SECONDS, self._forget_unread, self._turns)
        self._links.emit(AgentEvent(EventKind.TURN_COMPLETED, values))
        self._changed.set()

    def _forget_unread(self, turn: int) -> None:
        """No turn has begun since: claude has dropped the messages, and nothing runs."""
        if self._turns != turn or not self._starting:
            return
        self._starting = False
        lost, self._unread = list(self._unread.values()), {}
        self._lose(lost)
        self._changed.set()

    def _lose(self, lost: list[str]) -> None:
        for text in lost:
            words = f"claude did not read this message: {text}"
            values = {"message": words, "recoverable": True, "code": "message_not_read"}
            self._links.emit(AgentEvent(EventKind.ERROR, values))

    def _fail(self, why: Json) -> None:
        if self._failing is None:
            self._failing = why

    def _is_open(self, turn: int) -> bool:
        return self._in_turn and self._turns == turn

    def _check_channel(self, init: Json) -> None:
        """Without its approval tool claude would die at the first call that needs it, unsaid."""
        if self._endpoint is None or (state := not_connected(init)) is None:
            return
        words = f"claude could not reach cuekit's approval channel (its state: {state})"
        why = {"message": words, "code": "approval_channel_failed"}
        self._links.emit(AgentEvent(EventKind.ERROR, {**why, "recoverable": False}))
        self._fail(why)
        self._aside(self._running.shut_down(close_seconds=0))

    async def _ended(self) -> None:
        """The end of claude's output: everything that waits for it fails."""
        said = await last_words(self._running)
        self._gone = AgentGone(f"claude has ended{said}")
        await self._control.end(self._gone)
        if self._endpoint is not None:
            await self._endpoint.close()
        if self.busy:
            if not self._in_turn:
                self._begin()
            if self._closing:
                self._finish({"outcome": "interrupted"})
            else:
                message = f"claude ended in the middle of the turn{said}"
                self._finish({"outcome": "failed", "message": message, "code": "agent_gone"})
        lost, self._unread = list(self._unread.values()), {}
        self._lose(lost)

    # -- waiting ---------------------------------------------------------------------------

    def _aside(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self._side_tasks.add(task)
        task.add_done_callback(self._side_tasks.discard)

    async def _until(
        self, done: Callable[[], bool], seconds: float, *, poll: float | None = None
    ) -> bool:
        """Wait for a condition that messages (or, with `poll`, time) may make true."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while not done():
            left = end - loop.time()
            if left <= 0:
                return False
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), min(left, poll or left))
        return True


async def last_words(host: ProcessHost) -> str:
    """What claude said last on standard error, as the end of a sentence; it is about to exit."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LAST_WORDS_SECONDS):
            await host.wait()
    words = host.error_text().splitlines()
    return f": {words[-1][:500]}" if words else ""
