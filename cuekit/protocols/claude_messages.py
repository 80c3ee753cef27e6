"""Which block of which API message a line of claude's belongs to: ids that partials share."""


class Message:
    """One message of the model, in one agent (the main one or a subagent)."""

    __slots__ = ("_next", "_waiting", "message_id", "tools")

    def __init__(self, message_id: str) -> None:
        self.message_id = message_id
        self.tools: dict[int, str] = {}  # block: tool id
        self._waiting: list[tuple[int, str]] = []  # begun in pieces, not yet told whole
        self._next = 0

    def begin(self, index: int, kind: str, tool_id: str | None) -> None:
        """A block begins to stream."""
        self._waiting.append((index, kind))
        self._next = index + 1
        if tool_id is not None:
            self.tools[index] = tool_id

    def whole(self, kind: str) -> int:
        """The number of a block that is told whole.

        It is the oldest streamed one of its kind; without partial messages the next one.
        """
        for place, (index, waiting) in enumerate(self._waiting):
            if waiting == kind:
                del self._waiting[: place + 1]
                return index
        index, self._next = self._next, self._next + 1
        return index


class Messages:
    """The open message of each agent, by the tool call that started the agent."""

    def __init__(self) -> None:
        self._open: dict[str | None, Message] = {}

    def get(self, parent: str | None, message_id: str) -> Message:
        """The message of that id, which becomes the open one."""
        message = self._open.get(parent)
        if message is None or message.message_id != message_id:
            message = self._open[parent] = Message(message_id)
        return message

    def current(self, parent: str | None) -> Message:
        """The open message; one without a name where the stream began in the middle."""
        message = self._open.get(parent)
        if message is None:
            message = self._open[parent] = Message("")
        return message
