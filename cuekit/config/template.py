"""The `.cuekit.yaml` that `cuekit init` writes."""

KINDS = ("claude-code", "codex", "opencode", "gemini", "antigravity")
"""The agents that get a block of their own: those whose permissions a file can hold back."""

_HEAD = """\
# Settings of cuekit for this project. What a command says itself goes before what stands here;
# what stands here goes before the user's own config.yaml. See: cuekit config show
#
# Until `cuekit trust` was given for this content, a file like this may only hold agents back:
# programs, `permissions: bypass` and options that widen are ignored.

# What a task gets when the command does not say it.
submit:
  # agent_kind: codex
  # model: gpt-5
  # mode: interactive          # or batch: one prompt, then the agent ends
  # timeout: 30m

# One block an agent, by its exact kind. `prompt` makes it ask before it acts.
# `bypass` is what an agent in a pane does anyway; it gives nothing more.
adapters:
"""

_TAIL = """
# The terminal that agents run in.
# multiplexer:
#   width: 200
#   height: 50
"""


def config_text(permissions: str) -> str:
    """The file's content, with `prompt` or `bypass` in every agent's block."""
    blocks = (f"  {kind}:\n    permissions: {permissions}\n" for kind in KINDS)
    return _HEAD + "".join(blocks) + _TAIL


IGNORE_LINE = ".cuekit/"
_IGNORE_FORMS = frozenset(
    f"{start}.cuekit{end}" for start in ("", "/", "**/") for end in ("", "/", "/*", "/**")
)


def with_ignore_line(content: bytes) -> bytes | None:
    """What to append to a .gitignore so that git leaves cuekit's files out; None: it does so."""
    lines = [line.strip() for line in content.decode("utf-8", "surrogateescape").splitlines()]
    if any(line in _IGNORE_FORMS for line in lines):
        return None
    end = b"\r\n" if b"\r\n" in content else b"\n"
    start = b"" if not content or content.endswith(b"\n") else end
    return start + IGNORE_LINE.encode() + end
