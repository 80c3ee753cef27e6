"""A scripted model for real agents: Responses API for codex, Messages API for claude.

    with ModelServer() as model:
        gate = model.gate()
        model.when("list the files", Shell("ls"), times=1)
        model.when("be slow", Say("thinking"), gate, Say(" done"))
        model.queue("first answer")
        model.default(HttpError(500))
        ...                       # start an agent with model.url as its provider
        gate.wait_reached()       # the agent is busy now
        gate.release()
        assert model.user_messages == ["be slow"]

The record holds no credentials. Requests for titles are answered apart and are not turns.
"""

from .script import Call, Drop, Fail, Gate, HttpError, Pause, Say, Shell, Think
from .server import ModelServer, Request

__all__ = [
    "Call",
    "Drop",
    "Fail",
    "Gate",
    "HttpError",
    "ModelServer",
    "Pause",
    "Request",
    "Say",
    "Shell",
    "Think",
]
