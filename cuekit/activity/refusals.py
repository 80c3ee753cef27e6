"""What a batch run says when something was refused, though it ends with exit status 0. Pure.

opencode 1.18.33 says that it rejects by itself, gemini 0.61.0 that the tool is not there. grok
1.0.41 says nothing in plain text; a warning at submit tells so.
"""

import re

_SAID = {
    "gemini": re.compile(r"Error executing tool (\S+): Tool \"[^\"\n]+\" not found"),
    "opencode": re.compile(r"permission requested: ([^\n]*?); auto-rejecting"),
}


def refused(kind: str, output: str) -> str | None:
    """What was refused, in words for the task's error; None when nothing says so."""
    pattern = _SAID.get(kind)
    found = pattern.search(output) if pattern is not None else None
    if found is None:
        return None
    what = " ".join(found.group(1).split())[:200]
    return f"{kind} had nobody to ask and refused: {what}"
