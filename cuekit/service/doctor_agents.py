"""The doctor's looks at the agents: installed, known version, flags, sign-in, root."""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from cuekit.agents import registry
from cuekit.agents.base import Agent, LaunchContext, version_numbers
from cuekit.errors import CuekitError
from cuekit.model.task import Mode, TaskSpec
from cuekit.paths import home_from
from cuekit.service.doctor_check import Check, Situation, failure, ok, warning

PROBE_LIMIT_S = 20.0
_PLAIN = TaskSpec(agent_kind="", objective="x", cwd="/")


@dataclass(frozen=True)
class SignIn:
    """What shows that an agent is signed in. Files are looked for, never read."""

    variables: tuple[str, ...]
    folder_variable: str | None
    folder: str  # used when that variable is not set; below HOME
    file: str
    command: str
    keychain: bool = False  # on macOS the credentials lie where no file shows


SIGN_INS: Mapping[str, SignIn] = {
    "codex": SignIn(
        ("OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN"),
        "CODEX_HOME",
        ".codex",
        "auth.json",
        "codex login",
    ),
    "claude-code": SignIn(
        (
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
        ),
        "CLAUDE_CONFIG_DIR",
        ".claude",
        ".credentials.json",
        "claude, then /login",
        keychain=True,
    ),
    "gemini": SignIn(
        ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"),
        None,
        ".gemini",
        "oauth_creds.json",
        "gemini, then sign in",
    ),
    "opencode": SignIn(
        ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_API_KEY"),
        "XDG_DATA_HOME",
        ".local/share",
        "opencode/auth.json",
        "opencode auth login",
    ),
}
"""Only the agents of which this is known; of the others nothing is said."""


def agents(situation: Situation) -> Iterator[Check]:
    """Every agent kind but the shell, all asked side by side."""
    from cuekit.service import adapters

    configured = _commands(situation)
    binaries: dict[str, adapters.Binary] = {}
    for kind in registry.KINDS:
        if kind == "shell":
            continue
        command, source = configured.get(kind, (None, None))
        try:
            binaries[kind] = adapters.find(kind, situation.environ, command)
        except CuekitError as error:
            yield _not_found(kind, error, source)
    if not binaries:
        fix = "install one: npm install -g @openai/codex, or @anthropic-ai/claude-code"
        yield warning("agents", "no agent is installed; only the kind shell can run", fix)
    home = home_from(situation.environ)
    found = adapters.probe_all(binaries, home, situation.environ, PROBE_LIMIT_S)
    for kind, probed in found.items():
        agent = registry.get(kind)
        name = f"agent.{kind}"
        yield _version(name, agent, binaries[kind].path, probed.version)
        yield flag_drift(f"{name}.flags", agent, probed.flags)
        if (check := sign_in(f"{name}.sign_in", kind, situation.environ)) is not None:
            yield check
        if os.getuid() == 0 and (problem := _root_problem(agent)):
            yield warning(f"{name}.root", problem, "run cuekit as a normal user")


def _commands(situation: Situation) -> dict[str, tuple[tuple[str, ...], str | None]]:
    """The commands that were configured, by kind, and where each was."""
    from cuekit.config import load

    try:
        home = home_from(situation.environ)
        effective = load.effective(situation.cwd, home, situation.environ)
    except CuekitError:  # its own check tells of it
        return {}
    return {
        kind: (settings.command, effective.sources.get(f"adapters.{kind}.command"))
        for kind, settings in effective.adapters.items()
        if settings.command
    }


def _not_found(kind: str, error: CuekitError, source: str | None) -> Check:
    name, agent = f"agent.{kind}", registry.get(kind)
    if source is not None:
        return failure(name, error.message, f"mend adapters.{kind}.command ({source})")
    return ok(name, f"{agent.COMMAND} is not installed ({agent.INSTALL})")


def _version(name: str, agent: Agent, path: str, version: str | None) -> Check:
    if version is None:
        said = f"{path} did not tell its version"
        return warning(name, said, f"run {agent.COMMAND} --version; if it fails: {agent.INSTALL}")
    if not agent.VERIFIED:
        return warning(name, f"{version} at {path}; cuekit was not tried with this agent")
    tried = sorted(
        version_numbers(text) for text in re.findall(r"\d+(?:\.\d+)+", agent.VALUES_FROM)
    )
    here = version_numbers(version)
    if tried and here and not tried[0] <= here <= tried[-1]:
        span = " to ".join(".".join(map(str, numbers)) for numbers in (tried[0], tried[-1]))
        return warning(
            name, f"{version} at {path} is outside of what cuekit was tried with: {span}"
        )
    return ok(name, f"{version} at {path}")


def flag_drift(name: str, agent: Agent, known: frozenset[str]) -> Check:
    """Whether the installed program knows every flag that cuekit would give it."""
    if not known:
        said = f"{agent.COMMAND} --help named no flag, so they cannot be compared"
        return warning(name, said, f"run {agent.COMMAND} --help")
    unknown = agent.emitted_flags() - agent.HIDDEN_FLAGS - known
    if unknown:
        unknown -= only_when_known(agent)
    if unknown:
        names = ", ".join(sorted(unknown))
        said = f"cuekit would pass what this {agent.COMMAND} does not know: {names}"
        return failure(name, said, f"another version of it ({agent.INSTALL}), or of cuekit")
    return ok(name, "it knows every flag that cuekit would pass")


def sign_in(name: str, kind: str, environ: Mapping[str, str]) -> Check | None:
    """Whether the agent is signed in, as far as names of variables and files tell."""
    signs = SIGN_INS.get(kind)
    if signs is None:
        return None
    for variable in signs.variables:
        if environ.get(variable):
            return ok(name, f"{variable} is set")
    named = environ.get(signs.folder_variable) if signs.folder_variable else None
    folder = named or os.path.join(environ.get("HOME", "/"), signs.folder)
    path = os.path.join(folder, signs.file)
    if os.path.exists(path):
        return ok(name, f"{path} is there")
    if signs.keychain and sys.platform == "darwin":
        return ok(name, "cannot be told: the credentials would be in the keychain")
    said = f"no sign of it: neither {path} nor {signs.variables[0]}"
    return warning(name, f"{said} (right if you use a provider of your own)", signs.command)


def only_when_known(agent: Agent) -> frozenset[str]:
    """The flags that the builder leaves out by itself where the program does not know them."""
    with_all = _words(agent, agent.emitted_flags())
    with_none = _words(agent, frozenset({"--help"}))
    return with_all - with_none


def _words(agent: Agent, known_flags: frozenset[str]) -> frozenset[str]:
    words: set[str] = set()
    for mode in agent.capabilities(Mode.INTERACTIVE).supported_modes:
        context = LaunchContext(
            binary=f"/{agent.COMMAND}",
            version=None,
            known_flags=known_flags,
            task_id="t_00000000",
            run_dir="/run",
            task_dir="/task",
            cwd="/",
            prompt_file="/prompt",
            folder_trusted=True,
            hook_program=None,
            new_session="SESSION",
        )
        spec = replace(_PLAIN, agent_kind=agent.KIND, adapter_options={"mode": str(mode)})
        words.update(agent.launch(spec, context).argv)
    return frozenset(words)


def _root_problem(agent: Agent) -> str | None:
    return agent.root_problem(replace(_PLAIN, agent_kind=agent.KIND))
