"""Two texts as one hunk of a unified diff. Pure, and linear in their length."""

CONTEXT_LINES = 3


def hunk(old: str, new: str) -> str:
    """What lies between the lines that both begin and end with; empty when they are the same."""
    if old == new:
        return ""
    before, after = old.splitlines(), new.splitlines()
    begin = _same(before, after)
    end = _same(before[begin:][::-1], after[begin:][::-1])
    first = max(0, begin - CONTEXT_LINES)
    tail = before[len(before) - end :][:CONTEXT_LINES]
    removed = before[begin : len(before) - end]
    added = after[begin : len(after) - end]
    kept = before[first:begin]
    sizes = [len(kept) + len(lines) + len(tail) for lines in (removed, added)]
    head = f"@@ -{_range(first, sizes[0])} +{_range(first, sizes[1])} @@"
    lines = [
        head,
        *(f" {line}" for line in kept),
        *(f"-{line}" for line in removed),
        *(f"+{line}" for line in added),
        *(f" {line}" for line in tail),
    ]
    return "\n".join(lines) + "\n"


def _same(one: list[str], other: list[str]) -> int:
    """How many lines both begin with."""
    for place, (line, its) in enumerate(zip(one, other, strict=False)):
        if line != its:
            return place
    return min(len(one), len(other))


def _range(first: int, size: int) -> str:
    start = first + 1 if size else first
    return str(start) if size == 1 else f"{start},{size}"
