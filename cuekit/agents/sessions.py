"""The words by which an agent's command line gives a new conversation an id of ours."""

from cuekit.agents.base import LaunchContext


def new_session(context: LaunchContext) -> tuple[str | None, tuple[str, ...]]:
    """The id that a new conversation is given, and its words; nothing where that is not known."""
    if context.new_session is None or "--session-id" not in context.known_flags:
        return None, ()
    return context.new_session, ("--session-id", context.new_session)
