"""Whether an agent's composer holds just what was typed into it. Pure."""

import re
from unicodedata import category

SURE_LENGTH = 200
UNSHOWN = frozenset({"Cc", "Cf", "Mn", "Me", "Zs", "Zl", "Zp"})
PLACEHOLDER = re.compile(r"\[Pasted[^\]\n]*\]", re.IGNORECASE)


def holds(draft: str | None, typed: str) -> bool:
    """Whether a draft is exactly the typed text, its paste placeholder, or its visible end.

    A composer wraps lines, shows a long text in part, and an agent may show a large paste as a
    placeholder; line breaks and blanks therefore do not count.
    """
    if draft is None:
        return False
    shown, sent = _bare(PLACEHOLDER.sub("", draft)), _bare(typed)
    if PLACEHOLDER.search(draft):
        return shown in sent
    return shown == sent or (len(shown) >= SURE_LENGTH and sent.endswith(shown))


def shows_end(draft: str | None, typed: str) -> bool:
    """Whether the end of the typed text, or a placeholder for it, has reached the composer."""
    if draft is None:
        return False
    if PLACEHOLDER.search(draft):
        return True
    return _bare(draft).endswith(_bare(typed)[-20:])


def _bare(text: str) -> str:
    """The text without what a terminal shows differently or not at all."""
    return "".join(c for c in text if not c.isspace() and category(c) not in UNSHOWN)
