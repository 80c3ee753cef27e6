"""A command line of the user's own in the pane: for scripts, demos and tests."""

from cuekit.agents import base
from cuekit.agents.quoting import UserText, shell_form
from cuekit.model.capability import Capabilities
from cuekit.model.task import Mode, TaskSpec

KIND = "shell"
COMMAND = "/bin/sh"
VERIFIED = True
VALUES_FROM = "POSIX sh"
INSTALL = "install a POSIX shell as /bin/sh"
HELP: tuple[tuple[str, ...], ...] = ()
HIDDEN_FLAGS: frozenset[str] = frozenset()


def capabilities(mode: Mode) -> Capabilities:
    """A program reads what is typed into the pane, and has no model and no turns."""
    return base.capabilities_of(
        KIND,
        mode,
        supports_model_selection=False,
        supports_interrupt=False,
        follow_up_while_running=False,
    )


def prompt_text(spec: TaskSpec) -> str:
    """The objective alone, verbatim."""
    return spec.objective


def arguments(
    spec: TaskSpec, context: base.LaunchContext | None = None, *, binary: str | None = None
) -> tuple[str, ...]:
    """The objective, verbatim, as the command line of a shell; nothing else of the spec."""
    shell = binary or (context.binary if context else COMMAND)
    return (shell, "-c", UserText(spec.objective))


def command_line(
    spec: TaskSpec, context: base.LaunchContext | None = None, *, binary: str | None = None
) -> str:
    """The shell form of the argument vector."""
    return shell_form(arguments(spec, context, binary=binary))


def launch(spec: TaskSpec, context: base.LaunchContext) -> base.Launch:
    """The start of the command line; one too long for an argument is read from the prompt file."""
    if base.too_long(spec.objective):
        argv: tuple[str, ...] = (context.binary, context.prompt_file)
    else:
        argv = arguments(spec, context)
    ignored = [
        name
        for name, given in (
            ("context", spec.context),
            ("constraints", spec.constraints),
            ("inputs", spec.inputs),
            ("expected output", spec.expected_output),
            ("role", spec.role),
            ("model", spec.model),
            ("additional folders", spec.add_dirs),
        )
        if given
    ]
    said = (f"a shell command line takes no {', '.join(ignored)}",) if ignored else ()
    return base.Launch(argv, stdin="null" if base.is_batch(spec) else "tty", warnings=said)


def option_problems(spec: TaskSpec, version: str | None) -> list[base.OptionProblem]:
    """Strict checks; a command line asks nobody, whatever the option says."""
    return base.check_options(spec, {}, asks=False)


def first_prompt_problem(prompt: str, mode: Mode, version: str | None) -> str | None:
    """A command line has no special first character."""
    return None


def root_problem(spec: TaskSpec) -> str | None:
    """A shell runs as anybody."""
    return None


def emitted_flags() -> frozenset[str]:
    """No long flag."""
    return frozenset()
