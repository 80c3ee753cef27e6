"""Google's antigravity (`agy`): built from a description, never run, since it cannot be had."""

from cuekit.agents import base
from cuekit.agents.prompt import render
from cuekit.agents.quoting import UserText, shell_form
from cuekit.model.capability import Capabilities
from cuekit.model.task import Mode, TaskSpec, skips_permissions

KIND = "antigravity"
COMMAND = "agy"
VERIFIED = False
VALUES_FROM = "a description of agy; not run"
INSTALL = "install Antigravity's command line, agy, from its vendor"
HELP: tuple[tuple[str, ...], ...] = (("--help",),)
HIDDEN_FLAGS: frozenset[str] = frozenset()


def capabilities(mode: Mode) -> Capabilities:
    """It has no flag for a model."""
    return base.capabilities_of(
        KIND, mode, supports_model_selection=False, supports_interrupt=False
    )


def prompt_text(spec: TaskSpec) -> str:
    """The rendered spec."""
    return render(spec)


def arguments(
    spec: TaskSpec, context: base.LaunchContext | None = None, *, binary: str | None = None
) -> tuple[str, ...]:
    """`agy [permissions] [--sandbox] -i prompt`, or `-p prompt` in batch."""
    return _words(spec, prompt_text(spec), binary or (context.binary if context else COMMAND))


def command_line(
    spec: TaskSpec, context: base.LaunchContext | None = None, *, binary: str | None = None
) -> str:
    """The shell form of the argument vector."""
    return shell_form(arguments(spec, context, binary=binary))


def launch(spec: TaskSpec, context: base.LaunchContext) -> base.Launch:
    """The start of this task; a prompt too long for an argument is one that names its file."""
    warnings: tuple[str, ...] = ("agy was never run with cuekit: its flags are from a description",)
    if spec.model:
        warnings = (*warnings, "agy has no flag for a model: the model is ignored")
    prompt = prompt_text(spec)
    argv = _words(spec, base.pointer(context) if base.too_long(prompt) else prompt, context.binary)
    return base.Launch(argv, "null" if base.is_batch(spec) else "tty", warnings=warnings)


def option_problems(spec: TaskSpec, version: str | None) -> list[base.OptionProblem]:
    """Strict checks; the sandbox of agy is a switch."""
    return base.check_options(spec, {"sandbox": (True, False)})


def first_prompt_problem(prompt: str, mode: Mode, version: str | None) -> str | None:
    """Nothing is known of how agy reads its first prompt, so what others act on is refused."""
    return base.special_character_problem("agy", prompt, "-/!$@#")


def root_problem(spec: TaskSpec) -> str | None:
    """Nothing is known that agy refuses as root."""
    return None


def emitted_flags() -> frozenset[str]:
    """Every long flag that the builder can emit."""
    return frozenset({"--dangerously-skip-permissions", "--sandbox"})


def _words(spec: TaskSpec, prompt: str, command: str) -> tuple[str, ...]:
    return (
        command,
        *(("--dangerously-skip-permissions",) if skips_permissions(spec) else ()),
        *(("--sandbox",) if spec.adapter_options.get("sandbox") is True else ()),
        "-p" if base.is_batch(spec) else "-i",
        UserText(prompt),
    )
