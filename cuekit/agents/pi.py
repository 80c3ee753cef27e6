"""The pi coding agent: measured with 0.73.1."""

from cuekit.agents import base
from cuekit.agents.prompt import render
from cuekit.agents.quoting import UserText, shell_form
from cuekit.model.capability import Capabilities
from cuekit.model.task import Mode, TaskSpec

KIND = "pi"
COMMAND = "pi"
VERIFIED = True
VALUES_FROM = "pi 0.73.1, run"
INSTALL = "npm install -g @mariozechner/pi-coding-agent"
HELP: tuple[tuple[str, ...], ...] = (("--help",),)
HIDDEN_FLAGS: frozenset[str] = frozenset()

SPECIAL = "-@/!"
"""Flags (pi knows no `--`), files to read in, slash commands and shell mode (0.73.1)."""


def capabilities(mode: Mode) -> Capabilities:
    """As most agents."""
    return base.capabilities_of(KIND, mode)


def prompt_text(spec: TaskSpec) -> str:
    """The rendered spec."""
    return render(spec)


def arguments(
    spec: TaskSpec, context: base.LaunchContext | None = None, *, binary: str | None = None
) -> tuple[str, ...]:
    """`pi [model] [-p] prompt`; pi has no permissions to give, it never asks."""
    words = _words_before_prompt(spec, context, binary)
    return (*words, UserText(prompt_text(spec)))


def command_line(
    spec: TaskSpec, context: base.LaunchContext | None = None, *, binary: str | None = None
) -> str:
    """The shell form of the argument vector."""
    return shell_form(arguments(spec, context, binary=binary))


def launch(spec: TaskSpec, context: base.LaunchContext) -> base.Launch:
    """The start of this task; `pi -p` reads a prompt from standard input."""
    prompt, changed = base.literal(prompt_text(spec), SPECIAL, context)
    words = _words_before_prompt(spec, context, None)
    batch = base.is_batch(spec)
    if base.too_long(prompt) and batch:
        return base.Launch(words, "prompt", prompt_delivery="stdin")
    if base.too_long(prompt):
        prompt = base.pointer(context)  # its TUI does not tell when it waits for a paste
    argv = (*words, UserText(prompt))
    return base.Launch(argv, "null" if batch else "tty", warnings=changed)


def option_problems(spec: TaskSpec, version: str | None) -> list[base.OptionProblem]:
    """Strict checks; pi cannot be made to ask."""
    return base.check_options(spec, {}, asks=False)


def first_prompt_problem(prompt: str, mode: Mode, version: str | None) -> str | None:
    """Nothing is refused: a space stands before what pi would act on."""
    return None


def root_problem(spec: TaskSpec) -> str | None:
    """Nothing is known that pi refuses as root."""
    return None


def emitted_flags() -> frozenset[str]:
    """Every long flag that the builder can emit."""
    return frozenset({"--model", "--print"})


def _words_before_prompt(
    spec: TaskSpec, context: base.LaunchContext | None, binary: str | None
) -> tuple[str, ...]:
    return (
        binary or (context.binary if context else COMMAND),
        *base.model_words(spec, "--model"),
        *(("-p",) if base.is_batch(spec) else ()),
    )
