"""How a prompt is said over ACP, and in what words it failed. Pure."""

from cuekit.protocols.acp_agents import AcpAgent
from cuekit.protocols.acp_values import Json, text_of
from cuekit.wire.jsonrpc import RemoteError

AUTH_REQUIRED = -32000


def text_blocks(texts: list[str]) -> list[Json]:
    """Texts as the blocks of a prompt."""
    return [{"type": "text", "text": text} for text in texts]


def failure(agent: AcpAgent, error: RemoteError) -> Json:
    """Message and code of a prompt that was answered with an error."""
    data = error.data
    details = text_of(data, "details", "message") if isinstance(data, dict) else data
    said = f": {details}" if isinstance(details, str) and details else ""
    if error.rpc_code == AUTH_REQUIRED:
        login = f"; run: {agent.login}" if agent.login else ""
        return {"message": f"{agent.name} is not signed in{said}{login}", "code": "not_signed_in"}
    return {"message": f"{error}{said}", "code": "agent_error"}


def no_reason(agent: AcpAgent) -> Json:
    """The end of a prompt whose answer says nothing."""
    words = f"{agent.name} answered a prompt without a reason for its end"
    return {"outcome": "failed", "message": words, "code": "agent_error"}


def ended_how(status: int | None, errors: str) -> str:
    """How a process ended, to be put behind the words that it did; empty for a clean end."""
    if status is None or status == 0:
        return ""
    if status < 0:
        return f" (signal {-status})"
    words = errors.splitlines()
    return f" (exit status {status}{f': {words[-1][:500]}' if words else ''})"
