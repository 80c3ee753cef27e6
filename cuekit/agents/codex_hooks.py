"""Codex hooks for one launch, and the trust that keeps its review screen away.

Both are given on the command line and nothing is written: the user's own hooks and their trust
stay in force beside them. Codex knows a hook of the command line by the key
`/<session-flags>/config.toml:EVENT:GROUP:HOOK` and trusts it when the SHA-256 of its normal form
is the recorded one (measured with 0.133.0, 0.141.0 and 0.171.0; not documented by codex).
"""

import hashlib
import json

EVENTS = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "user_prompt_submit",
    "PreToolUse": "pre_tool_use",
    "PermissionRequest": "permission_request",
    "PostToolUse": "post_tool_use",
    "Stop": "stop",
    "Interrupt": "interrupt",  # 0.171.0; older versions pass over it
    "SessionEnd": "session_end",  # 0.171.0; older versions pass over it
}
"""The hook events in use, with the names that codex hashes."""

TIMEOUT_S = 30
"""Seconds that codex waits for one hook; ours needs milliseconds."""

SHORT_TIMEOUT_S = 3
"""The most that 0.171.0 gives to the hooks of an end; it hashes this, whatever was asked for."""

_SOURCE = "/<session-flags>/config.toml"


def hook_command(hook_program: str, event: str) -> str:
    """The shell command line that codex runs for an event."""
    return "'" + hook_program.replace("'", "'\\''") + "' " + event


def trusted_hash(event: str, command: str, approval_limit_s: int = TIMEOUT_S) -> str:
    """The hash by which codex knows that the hook is the one that was trusted."""
    timeout = _timeout(event, approval_limit_s)
    normal = {
        "event_name": EVENTS[event],
        "hooks": [{"async": False, "command": command, "timeout": timeout, "type": "command"}],
    }
    text = json.dumps(normal, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def hook_arguments(hook_program: str, approval_limit_s: int = TIMEOUT_S) -> tuple[str, ...]:
    """The `-c` options that run `HOOK_PROGRAM EVENT` on each event, with their trust.

    `approval_limit_s`: seconds that codex waits for the hook that may decide an approval.
    """
    arguments: list[str] = []
    states: list[str] = []
    for event, name in EVENTS.items():
        command = hook_command(hook_program, event)
        limit_s = _timeout(event, approval_limit_s)
        hook = f'{{type="command",command={toml_string(command)},timeout={limit_s}}}'
        arguments += ["-c", f"hooks.{event}=[{{hooks=[{hook}]}}]"]
        key = toml_string(f"{_SOURCE}:{name}:0:0")
        states.append(f'{key}={{trusted_hash="{trusted_hash(event, command, approval_limit_s)}"}}')
    return (*arguments, "-c", "hooks.state={" + ",".join(states) + "}")


def _timeout(event: str, approval_limit_s: int) -> int:
    if event == "PermissionRequest":
        return approval_limit_s
    return SHORT_TIMEOUT_S if event in ("Interrupt", "SessionEnd") else TIMEOUT_S


def toml_string(text: str) -> str:
    """A TOML basic string: JSON's escapes, and DEL, which TOML wants escaped as well."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
