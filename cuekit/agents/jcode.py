"""jcode: built from a description, never run, since it cannot be had."""

from cuekit.agents import base
from cuekit.agents.prompt import render
from cuekit.agents.quoting import UserText, shell_form
from cuekit.model.capability import Capabilities
from cuekit.model.task import Mode, TaskSpec

KIND = "jcode"
COMMAND = "jcode"
VERIFIED = False
VALUES_FROM = "a description of jcode; not run"
INSTALL = "install jcode from its vendor"
HELP: tuple[tuple[str, ...], ...] = (("--help",),)
HIDDEN_FLAGS: frozenset[str] = frozenset()

FEEDER = """\
prompt=$1; shift
fifo=$(mktemp -u "${TMPDIR:-/tmp}/cuekit-jcode.XXXXXX") && mkfifo -m 600 "$fifo" || exit 126
{ printf '%s\\n' "$prompt"; exec cat < /dev/tty; } > "$fifo" &
feeder=$!
"$@" < "$fifo"
status=$?
kill "$feeder" 2> /dev/null
rm -f "$fifo"
exit "$status"
"""
"""The repl of jcode reads lines from its standard input and takes no prompt as an argument: a
feeder gives it the prompt as the first line, then what is typed in the pane."""


def capabilities(mode: Mode) -> Capabilities:
    """What is typed reaches a line reader; nothing is known of interrupting it."""
    return base.capabilities_of(KIND, mode, supports_interrupt=False, follow_up_while_running=False)


def prompt_text(spec: TaskSpec) -> str:
    """The rendered spec."""
    return render(spec)


def arguments(
    spec: TaskSpec, context: base.LaunchContext | None = None, *, binary: str | None = None
) -> tuple[str, ...]:
    """`jcode run --no-update ... -- prompt`, or the repl behind a feeder."""
    return _words(spec, prompt_text(spec), binary or (context.binary if context else COMMAND))


def command_line(
    spec: TaskSpec, context: base.LaunchContext | None = None, *, binary: str | None = None
) -> str:
    """The shell form of the argument vector."""
    return shell_form(arguments(spec, context, binary=binary))


def launch(spec: TaskSpec, context: base.LaunchContext) -> base.Launch:
    """The start of this task; a prompt too long for an argument is one that names its file."""
    warnings: tuple[str, ...] = (
        "jcode was never run with cuekit: its flags are from a description",
    )
    batch = base.is_batch(spec)
    prompt = prompt_text(spec)
    if base.too_long(prompt):
        prompt = base.pointer(context)
    elif not batch and "\n" in prompt:
        warnings = (*warnings, "jcode's repl reads lines: the prompt was joined to a single one")
    argv = _words(spec, prompt, context.binary)
    return base.Launch(argv, "null" if batch else "tty", warnings=warnings)


def option_problems(spec: TaskSpec, version: str | None) -> list[base.OptionProblem]:
    """Strict checks; no flag is known that would make jcode ask."""
    return base.check_options(spec, {"provider_profile": None}, asks=False)


def first_prompt_problem(prompt: str, mode: Mode, version: str | None) -> str | None:
    """Nothing is known of how jcode reads its first prompt, so what others act on is refused."""
    return base.special_character_problem("jcode", prompt, "/!$@#")


def root_problem(spec: TaskSpec) -> str | None:
    """Nothing is known that jcode refuses as root."""
    return None


def emitted_flags() -> frozenset[str]:
    """Every long flag that the builder can emit."""
    return frozenset({"--model", "--no-update", "--provider-profile"})


def _words(spec: TaskSpec, prompt: str, command: str) -> tuple[str, ...]:
    profile = spec.adapter_options.get("provider_profile")
    named = isinstance(profile, str) and profile != ""
    options = (
        "--no-update",
        *(("--provider-profile", UserText(profile)) if named else ()),
        *base.model_words(spec, "--model"),
    )
    if base.is_batch(spec):
        return (command, "run", *options, "--", UserText(prompt))
    line = UserText(" ".join(prompt.splitlines()))
    return (
        "/bin/sh",
        "-c",
        UserText(FEEDER),
        "jcode-feeder",
        line,
        UserText(command),
        "repl",
        *options,
    )
