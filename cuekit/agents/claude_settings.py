"""The settings file that Claude Code gets for one launch: hooks that tell what it does. Pure."""

import json

from cuekit.agents.quoting import single_quoted

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "Notification",
    "Stop",
    "StopFailure",
    "SessionEnd",
)
"""Known to 2.1.167, 2.1.197 and 2.1.332. An event that a version does not know would open its
"Settings Error" dialog at the start, so none is here that only some of them have."""

LIMIT_S = 10
"""Seconds after which Claude gives up on a hook; the program needs some 10 ms."""


def settings(hook_program: str, *, bypass: bool, approval_limit_s: int = LIMIT_S) -> str:
    """The text of a file for `claude --settings FILE`.

    Each hook runs `hook_program EVENT`, an absolute path, by way of /bin/sh. The user's own
    hooks and settings stay in force beside it (measured). `bypass` accepts the warning that
    --dangerously-skip-permissions shows, which would otherwise wait for a person; given by this
    file that is not stored in the user's settings. `approval_limit_s`: seconds that Claude waits
    for the hook that may decide an approval.
    """
    program = single_quoted(hook_program)
    limits = {"PermissionRequest": approval_limit_s}
    hooks = {event: _hook(f"{program} {event}", limits.get(event, LIMIT_S)) for event in EVENTS}
    content: dict[str, object] = {"hooks": hooks}
    if bypass:
        content["skipDangerousModePermissionPrompt"] = True
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _hook(command: str, limit_s: int) -> list[dict[str, object]]:
    return [{"hooks": [{"type": "command", "command": command, "timeout": limit_s}]}]
