"""Keys that may be pressed by name, without a message. Pure."""

from cuekit.errors import InvalidInput

ALLOWED = (
    "Enter",
    "Escape",
    "Tab",
    "BTab",
    "BSpace",
    "Up",
    "Down",
    "Left",
    "Right",
    "Home",
    "End",
    "PageUp",
    "PageDown",
    "C-a",
    "C-c",
    "C-d",
    "C-e",
    "C-k",
    "C-l",
    "C-o",
    "C-r",
    "C-t",
    "C-u",
)


def checked_key(name: str) -> str:
    """The key's name as tmux knows it. Raises InvalidInput (`unknown_key`).

    Characters that print are not among them: those are messages, and answer dialogs.
    """
    for allowed in ALLOWED:
        if allowed.lower() == name.lower():
            return allowed
    from difflib import get_close_matches

    near = get_close_matches(name, ALLOWED, 1, 0.5)
    raise InvalidInput(
        f"not a key that can be pressed: {name!r}",
        code="unknown_key",
        hint=f"did you mean {near[0]}?" if near else "one of: " + ", ".join(ALLOWED),
    )
