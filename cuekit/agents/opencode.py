"""SST's opencode: measured with 1.18.33."""

from cuekit.agents import base
from cuekit.agents.prompt import render
from cuekit.agents.quoting import UserText, shell_form
from cuekit.model.capability import Capabilities
from cuekit.model.task import Mode, TaskSpec, skips_permissions

KIND = "opencode"
COMMAND = "opencode"
VERIFIED = True
VALUES_FROM = "opencode 1.18.33, run"
INSTALL = "npm install -g opencode-ai"
HELP: tuple[tuple[str, ...], ...] = (("--help",), ("run", "--help"))
HIDDEN_FLAGS: frozenset[str] = frozenset()

ASKING = '{"bash":"ask","edit":"ask"}'
"""OPENCODE_PERMISSION for a launch that must ask: by default opencode allows everything."""


def capabilities(mode: Mode) -> Capabilities:
    """It goes on with a conversation in batch; its TUI opens one and drops the prompt (1.18.33)."""
    able = mode is Mode.BATCH
    return base.capabilities_of(KIND, mode, supports_resume=able, supports_fork=able)


def prompt_text(spec: TaskSpec) -> str:
    """The rendered spec."""
    return render(spec)


def arguments(
    spec: TaskSpec, context: base.LaunchContext | None = None, *, binary: str | None = None
) -> tuple[str, ...]:
    """`opencode ... --prompt P` (a bare word would be a folder), or `opencode run ... -- P`."""
    words = _words_before_prompt(spec, context, binary)
    return (*words, *_prompt_words(spec, prompt_text(spec)))


def command_line(
    spec: TaskSpec, context: base.LaunchContext | None = None, *, binary: str | None = None
) -> str:
    """The shell form of the argument vector."""
    return shell_form(arguments(spec, context, binary=binary))


def launch(spec: TaskSpec, context: base.LaunchContext) -> base.Launch:
    """The start of this task.

    `opencode run` puts quotes around an argument that has spaces, and the model gets them too
    (1.18.33); standard input it leaves alone, so a batch prompt always goes there.
    """
    prompt = prompt_text(spec)
    words = (*_words_before_prompt(spec, context, None), *_resume_words(context))
    asks = not skips_permissions(spec)
    environment = {"OPENCODE_PERMISSION": ASKING} if asks else {}
    if base.is_batch(spec):
        said = ("opencode run has nobody to ask: what would need approval is refused",)
        return base.Launch(words, "prompt", environment, {}, said if asks else (), "stdin")
    if base.too_long("--prompt=" + prompt):
        prompt = base.pointer(context)  # its TUI does not tell when it waits for a paste
    return base.Launch((*words, *_prompt_words(spec, prompt)), environment=environment)


def supervised_arguments(spec: TaskSpec, context: base.LaunchContext) -> tuple[str, ...]:
    """`opencode acp`; the session sets the model, and the environment makes it ask."""
    return (context.binary, "acp")


def option_problems(spec: TaskSpec, version: str | None) -> list[base.OptionProblem]:
    """Strict checks."""
    return base.check_options(spec, {})


def first_prompt_problem(prompt: str, mode: Mode, version: str | None) -> str | None:
    """Slash commands and shell mode."""
    return base.special_character_problem("opencode", prompt, "/!")


def root_problem(spec: TaskSpec) -> str | None:
    """Nothing is known that opencode refuses as root."""
    return None


def emitted_flags() -> frozenset[str]:
    """Every long flag that the builder can emit."""
    return frozenset({"--auto", "--fork", "--model", "--prompt", "--session"})


def _words_before_prompt(
    spec: TaskSpec, context: base.LaunchContext | None, binary: str | None
) -> tuple[str, ...]:
    return (
        binary or (context.binary if context else COMMAND),
        *(("run",) if base.is_batch(spec) else ()),
        *(("--auto",) if skips_permissions(spec) else ()),
        *base.model_words(spec, "--model"),
    )


def _resume_words(context: base.LaunchContext) -> tuple[str, ...]:
    """A new conversation cannot be given an id: it is looked for when it is wanted."""
    if context.resume is None:
        return ()
    return ("--session", UserText(context.resume), *(("--fork",) if context.fork else ()))


def _prompt_words(spec: TaskSpec, prompt: str) -> tuple[str, ...]:
    if base.is_batch(spec):
        return ("--", UserText(prompt))
    if prompt.startswith("-"):
        return (UserText("--prompt=" + prompt),)
    return ("--prompt", UserText(prompt))
