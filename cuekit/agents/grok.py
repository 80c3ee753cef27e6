"""xAI's grok: measured with 1.0.41."""

from cuekit.agents import base
from cuekit.agents.prompt import render
from cuekit.agents.quoting import UserText, shell_form
from cuekit.agents.sessions import new_session
from cuekit.model.capability import Capabilities
from cuekit.model.task import Mode, TaskSpec, skips_permissions

KIND = "grok"
COMMAND = "grok"
VERIFIED = True
VALUES_FROM = "grok 1.0.41, run"
INSTALL = "npm install -g @xai-official/grok"
HELP: tuple[tuple[str, ...], ...] = (("--help",),)
HIDDEN_FLAGS = frozenset({"--no-leader"})

SUBCOMMANDS = base.word_set(
    "agent clone completions cursor-worker dashboard disk-usage doctor du export help inspect "
    "leader login logout mcp memory models plugin sessions setup trace update usage v version "
    "worktree wrap"
)

LONGEST = 8_000
"""Characters of a prompt that reached the model with 1.0.41; it cut off the rest without a word."""


def capabilities(mode: Mode) -> Capabilities:
    """It can go on with a conversation and branch one off (1.0.41)."""
    return base.capabilities_of(KIND, mode, supports_resume=True, supports_fork=True)


def prompt_text(spec: TaskSpec) -> str:
    """The rendered spec."""
    return render(spec)


def arguments(
    spec: TaskSpec, context: base.LaunchContext | None = None, *, binary: str | None = None
) -> tuple[str, ...]:
    """`grok [permissions] [model] [-p] prompt`."""
    words = _words_before_prompt(spec, context, binary)
    return (*words, *_prompt_words(spec, prompt_text(spec), context))


def command_line(
    spec: TaskSpec, context: base.LaunchContext | None = None, *, binary: str | None = None
) -> str:
    """The shell form of the argument vector."""
    return shell_form(arguments(spec, context, binary=binary))


def launch(spec: TaskSpec, context: base.LaunchContext) -> base.Launch:
    """The start of this task; a long prompt is one that names the prompt file."""
    prompt = prompt_text(spec)
    if len(prompt) > LONGEST:
        prompt = base.pointer(context)
    batch = base.is_batch(spec)
    warnings = (
        ("grok -p has nobody to ask: what would need approval is left out, and it exits with 0",)
        if batch and not skips_permissions(spec)
        else ()
    )
    session, session_words = _session(context)
    words = (*_words_before_prompt(spec, context, None), *session_words)
    argv = (*words, *_prompt_words(spec, prompt, context))
    return base.Launch(argv, "null" if batch else "tty", warnings=warnings, session_id=session)


def supervised_arguments(spec: TaskSpec, context: base.LaunchContext) -> tuple[str, ...]:
    """`grok agent stdio`, which speaks ACP, without a process that outlives it."""
    model = base.model_words(spec, "-m")
    return (context.binary, "agent", "--no-leader", *model, "stdio")


def option_problems(spec: TaskSpec, version: str | None) -> list[base.OptionProblem]:
    """Strict checks."""
    return base.check_options(spec, {})


def first_prompt_problem(prompt: str, mode: Mode, version: str | None) -> str | None:
    """Slash commands, shell mode and files to read in."""
    return base.special_character_problem("grok", prompt, "/!@")


def root_problem(spec: TaskSpec) -> str | None:
    """Nothing is known that grok refuses as root."""
    return None


def emitted_flags() -> frozenset[str]:
    """Every long flag that the builder can emit."""
    return frozenset(
        {
            "--always-approve",
            "--fork-session",
            "--model",
            "--no-alt-screen",
            "--no-leader",
            "--permission-mode",
            "--resume",
            "--session-id",
            "--single",
        }
    )


def _words_before_prompt(
    spec: TaskSpec, context: base.LaunchContext | None, binary: str | None
) -> tuple[str, ...]:
    skips = skips_permissions(spec)
    return (
        binary or (context.binary if context else COMMAND),
        *(("--always-approve",) if skips else ()),
        *(("--permission-mode", "default") if context and not skips else ()),
        *base.model_words(spec, "-m"),
        *(_context_words(spec, context) if context else ()),
    )


def _context_words(spec: TaskSpec, context: base.LaunchContext) -> tuple[str, ...]:
    """No shared background process, and a transcript in which finished text is contiguous."""
    if base.is_batch(spec):
        return ("--no-leader",)
    inline = ("--no-alt-screen",) if "--no-alt-screen" in context.known_flags else ()
    return ("--no-leader", *inline)


def _session(context: base.LaunchContext) -> tuple[str | None, tuple[str, ...]]:
    """The id of the conversation, as far as it is decided here, and the words that say it."""
    if context.resume is None:
        return new_session(context)
    words = ("--resume", UserText(context.resume))
    if not context.fork:
        return context.resume, words
    branch, named = new_session(context)
    return branch, (*words, "--fork-session", *named)


def _prompt_words(
    spec: TaskSpec, prompt: str, context: base.LaunchContext | None
) -> tuple[str, ...]:
    if not base.is_batch(spec):
        return base.prompt_words(prompt, SUBCOMMANDS, context)
    if prompt.startswith("-"):
        return (UserText("--single=" + prompt),)
    return ("-p", UserText(prompt))
