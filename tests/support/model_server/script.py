"""What the scripted model says: steps, rules, a queue and a default.

A reply is a sequence of steps, played in order. The steps know nothing of the two protocols;
`responses_api` and `messages_api` put them on the wire.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Say:
    """Text of the assistant, streamed in `chunks` pieces with `gap` seconds after each."""

    text: str
    chunks: int = 1
    gap: float = 0.0


@dataclass(frozen=True)
class Think:
    """Reasoning that the agent shows or hides as it likes."""

    text: str


@dataclass(frozen=True)
class Shell:
    """A command for the agent's shell tool: codex `exec_command`, claude `Bash`."""

    command: str
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """Any other tool call, with the name and arguments as that agent knows them."""

    name: str
    arguments: Mapping[str, Any]
    namespace: str | None = None  # codex: the group that the tools of an MCP server are in


@dataclass(frozen=True)
class Pause:
    """Seconds without output."""

    seconds: float


@dataclass(frozen=True)
class Fail:
    """An error inside a stream that began well; ends the reply."""

    message: str
    code: str = "server_error"


@dataclass(frozen=True)
class Drop:
    """The connection is cut; as the first step, before any answer."""


@dataclass(frozen=True)
class HttpError:
    """A plain HTTP answer in place of a stream; the only step of its reply."""

    status: int
    message: str = "scripted failure"
    headers: Mapping[str, str] = field(default_factory=dict)


class Gate:
    """Holds a reply open from the moment it is `reached` until the test calls `release`."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.reached = threading.Event()
        self.released = threading.Event()

    def release(self) -> None:
        """Let the reply go on."""
        self.released.set()

    def wait_reached(self, seconds: float = 30.0) -> None:
        """Wait until a reply stands at this gate: the agent is now busy for certain."""
        assert self.reached.wait(seconds), f"no reply came to gate {self.name!r} in {seconds:g} s"


Step = Say | Think | Shell | Call | Pause | Fail | Drop | HttpError | Gate
Reply = tuple[Step, ...]


def reply_of(*steps: Step | str) -> Reply:
    """A reply from steps; a plain string stands for `Say`. HttpError must stand alone."""
    reply = tuple(Say(step) if isinstance(step, str) else step for step in steps)
    if len(reply) > 1 and any(isinstance(step, HttpError) for step in reply):
        raise ValueError("HttpError must be the only step of a reply")
    return reply


def pieces(text: str, count: int) -> list[str]:
    """`text` cut into at most `count` pieces; never an empty list."""
    size = max(1, -(-len(text) // max(1, count)))
    return [text[i : i + size] for i in range(0, len(text), size)] or [""]


def gaps(step: Say) -> list[Step]:
    """The pause after each piece of a text."""
    return [Pause(step.gap)] if step.gap else []


@dataclass
class Rule:
    """A reply for turns whose newest text contains `contains`; `times` None means always."""

    contains: str
    reply: Reply
    times: int | None = None


class Script:
    """Chooses the reply of each turn: the first rule that fits, else the queue, else default."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[Rule] = []
        self._queue: list[Reply] = []
        self._default: Reply = reply_of("done")

    def add_rule(self, contains: str, reply: Reply, times: int | None = None) -> None:
        """Later rules win over earlier ones, so that a test can narrow a fixture's rule."""
        with self._lock:
            self._rules.insert(0, Rule(contains, reply, times))

    def add_to_queue(self, reply: Reply) -> None:
        """Used once, in order, for turns that no rule fits."""
        with self._lock:
            self._queue.append(reply)

    def set_default(self, reply: Reply) -> None:
        """Used for every turn that neither a rule nor the queue answers."""
        with self._lock:
            self._default = reply

    @property
    def unused(self) -> int:
        """How many queued replies nobody asked for yet."""
        with self._lock:
            return len(self._queue)

    def choose(self, newest: str) -> tuple[str, Reply]:
        """Name of what answered, and the reply, for the newest input of a turn."""
        with self._lock:
            for rule in self._rules:
                if rule.times != 0 and rule.contains in newest:
                    if rule.times is not None:
                        rule.times -= 1
                    return f"rule:{rule.contains}", rule.reply
            if self._queue:
                return "queue", self._queue.pop(0)
            return "default", self._default


def step_from_json(data: Mapping[str, Any], gate: Callable[[str], Gate]) -> Step:
    """One step from its JSON form, as `__main__` documents it. ValueError for an unknown one."""
    match data:
        case {"say": str(text)}:
            return Say(text, int(data.get("chunks", 1)), float(data.get("gap", 0)))
        case {"think": str(text)}:
            return Think(text)
        case {"shell": str(command)}:
            return Shell(command, data.get("extra", {}))
        case {"call": {"name": str(name), "arguments": dict(arguments)}}:
            return Call(name, arguments)
        case {"pause": int() | float() as seconds}:
            return Pause(float(seconds))
        case {"gate": str(name)}:
            return gate(name)
        case {"fail": str(message)}:
            return Fail(message, data.get("code", "server_error"))
        case {"drop": True}:
            return Drop()
        case {"http": int(status)}:
            return HttpError(status, data.get("message", "scripted failure"))
    raise ValueError(f"not a step: {data!r}")


def script_from_json(data: Mapping[str, Any], gate: Callable[[str], Gate]) -> Script:
    """A whole script: `rules`, `queue`, `default`; a reply is a list of steps."""

    def reply(steps: Sequence[Mapping[str, Any]]) -> Reply:
        return reply_of(*(step_from_json(step, gate) for step in steps))

    script = Script()
    for rule in reversed(data.get("rules", [])):
        script.add_rule(rule["contains"], reply(rule["reply"]), rule.get("times"))
    for steps in data.get("queue", []):
        script.add_to_queue(reply(steps))
    if "default" in data:
        script.set_default(reply(data["default"]))
    return script
