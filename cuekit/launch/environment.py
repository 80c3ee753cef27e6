"""The environment of a child agent: the submitting shell's, less what would mislead it. Pure."""

import re
from collections.abc import Mapping

# Names that belong to the terminal, the shell or the agent that submits, not to its child.
DROPPED = re.compile(
    r"""TERM|TERMCAP|TERM_PROGRAM(_VERSION)?|COLORTERM|TMUX.*|COLUMNS|LINES|OLDPWD|PWD|SHLVL|_
    |CLAUDECODE|CLAUDE_CODE_.*|CLAUDE_PROJECT_DIR|CLAUDE_PID|CLAUDE_SESSION_ID
    |CODEX_(THREAD|SESSION|TURN|SANDBOX|INTERNAL|MANAGED|CI|SHELL).*
    |CUEKIT_.*""",
    re.VERBOSE,
)
# Settings that users make for Claude Code, in contrast to what it tells its own children.
CLAUDE_SETTINGS = re.compile(
    r"CLAUDE_CODE_(USE|SKIP|DISABLE|ENABLE|MAX|API|OAUTH_TOKEN|CLIENT|EXTRA|GIT|IDE_SKIP|MCP|"
    r"SUBAGENT_MODEL|EFFORT_LEVEL|SHELL|TMPDIR|AUTO|PLAN|PROXY).*"
)
KEPT = frozenset({"CUEKIT_HOME", "CUEKIT_TMUX_SOCKET", "TMUX_TMPDIR"})
LOCALE_NAMES = ("LC_ALL", "LC_CTYPE", "LANG")


def is_kept(name: str) -> bool:
    """Whether a variable of the submitting shell reaches the child."""
    if name in KEPT or CLAUDE_SETTINGS.fullmatch(name):
        return True
    return DROPPED.fullmatch(name) is None


def child_environment(
    submitting: Mapping[str, str], added: Mapping[str, str], cwd: str
) -> dict[str, str]:
    """What the child gets, but for TERM and TMUX, which come from its pane."""
    kept = {name: value for name, value in submitting.items() if is_kept(name)}
    return {**kept, **utf8_locale(kept), **added, "PWD": cwd}


def utf8_locale(environ: Mapping[str, str]) -> dict[str, str]:
    """The one variable that makes the locale a UTF-8 one; nothing when it is one already."""
    value = next((environ[name] for name in LOCALE_NAMES if environ.get(name)), "")
    if re.search(r"utf-?8", value, re.IGNORECASE):
        return {}
    return {"LC_ALL" if environ.get("LC_ALL") else "LC_CTYPE": "C.UTF-8"}
