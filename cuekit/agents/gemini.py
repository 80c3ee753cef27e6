"""Google's gemini: measured with 0.61.0."""

from cuekit.agents import base
from cuekit.agents.prompt import render
from cuekit.agents.quoting import UserText, shell_form
from cuekit.agents.sessions import new_session
from cuekit.model.capability import Capabilities
from cuekit.model.task import Mode, TaskSpec, skips_permissions

KIND = "gemini"
COMMAND = "gemini"
VERIFIED = True
VALUES_FROM = "gemini 0.61.0, run"
INSTALL = "npm install -g @google/gemini-cli"
HELP: tuple[tuple[str, ...], ...] = (("--help",),)
HIDDEN_FLAGS: frozenset[str] = frozenset()

APPROVAL_MODES = ("default", "auto_edit", "yolo", "plan")
SUBCOMMANDS = base.word_set("extension extensions gemma hook hooks mcp skill skills")


def capabilities(mode: Mode) -> Capabilities:
    """It can go on with a conversation, and has no way to branch one off (0.61.0)."""
    return base.capabilities_of(KIND, mode, supports_resume=True)


def prompt_text(spec: TaskSpec) -> str:
    """The rendered spec."""
    return render(spec)


def arguments(
    spec: TaskSpec, context: base.LaunchContext | None = None, *, binary: str | None = None
) -> tuple[str, ...]:
    """`gemini [trust] [permissions] [model] [-p] prompt`."""
    words = _words_before_prompt(spec, context, binary)
    return (*words, *_prompt_words(spec, prompt_text(spec), context))


def command_line(
    spec: TaskSpec, context: base.LaunchContext | None = None, *, binary: str | None = None
) -> str:
    """The shell form of the argument vector."""
    return shell_form(arguments(spec, context, binary=binary))


def launch(spec: TaskSpec, context: base.LaunchContext) -> base.Launch:
    """The start of this task; without `-p`, gemini takes standard input for its prompt."""
    prompt = prompt_text(spec)
    session, session_words = _session(context)
    words = (*_words_before_prompt(spec, context, None), *session_words)
    warnings = _warnings(spec, context)
    batch = base.is_batch(spec)
    if base.too_long(_PROMPT_FLAG[batch] + prompt):
        made = base.Launch(words, warnings=warnings, session_id=session)
        if batch:
            return made._replace(stdin="prompt", prompt_delivery="stdin")
        return made._replace(prompt_delivery="paste")
    argv = (*words, *_prompt_words(spec, prompt, context))
    return base.Launch(argv, "null" if batch else "tty", warnings=warnings, session_id=session)


def supervised_arguments(spec: TaskSpec, context: base.LaunchContext) -> tuple[str, ...]:
    """`gemini --acp` in a mode that asks: `default`, or `plan` when the options say so."""
    plans = base.chosen(spec, "approval_mode", APPROVAL_MODES) == "plan"
    return (
        context.binary,
        "--acp",
        *(("--skip-trust",) if context.folder_trusted else ()),
        "--approval-mode",
        "plan" if plans else "default",
        *base.model_words(spec, "-m"),
        *(word for path in spec.add_dirs for word in ("--include-directories", UserText(path))),
    )


def option_problems(spec: TaskSpec, version: str | None) -> list[base.OptionProblem]:
    """Strict checks."""
    return base.check_options(spec, {"approval_mode": APPROVAL_MODES})


def first_prompt_problem(prompt: str, mode: Mode, version: str | None) -> str | None:
    """Slash commands, shell mode and files to read in."""
    return base.special_character_problem("gemini", prompt, "/@" if mode is Mode.BATCH else "/!@")


def root_problem(spec: TaskSpec) -> str | None:
    """Nothing is known that gemini refuses as root."""
    return None


def emitted_flags() -> frozenset[str]:
    """Every long flag that the builder can emit."""
    return frozenset(
        {
            "--approval-mode",
            "--include-directories",
            "--model",
            "--prompt",
            "--prompt-interactive",
            "--resume",
            "--session-id",
            "--skip-trust",
            "--yolo",
        }
    )


_PROMPT_FLAG = {True: "--prompt=", False: "--prompt-interactive="}


def _words_before_prompt(
    spec: TaskSpec, context: base.LaunchContext | None, binary: str | None
) -> tuple[str, ...]:
    return (
        binary or (context.binary if context else COMMAND),
        *(("--skip-trust",) if context is None or context.folder_trusted else ()),
        *(_permission_words(spec) or (("--approval-mode", "default") if context else ())),
        *base.model_words(spec, "-m"),
        *(word for path in spec.add_dirs for word in ("--include-directories", UserText(path))),
    )


def _session(context: base.LaunchContext) -> tuple[str | None, tuple[str, ...]]:
    """The id of the conversation, as far as it is decided here, and the words that say it."""
    if context.resume is not None:
        return context.resume, ("--resume", UserText(context.resume))
    if not context.folder_trusted and not context.recorded_trust:
        return (
            None,
            (),
        )  # the answer to its own dialog begins the conversation anew, with another id
    return new_session(context)


def _permission_words(spec: TaskSpec) -> tuple[str, ...]:
    mode = base.chosen(spec, "approval_mode", APPROVAL_MODES)
    if mode:
        return ("--approval-mode", mode)
    return ("-y",) if skips_permissions(spec) else ()


def _prompt_words(
    spec: TaskSpec, prompt: str, context: base.LaunchContext | None
) -> tuple[str, ...]:
    """The prompt; joined to its flag where it could be read as a flag or a subcommand."""
    batch = base.is_batch(spec)
    if base.needs_separator(prompt, SUBCOMMANDS, context):
        return (UserText(_PROMPT_FLAG[batch] + prompt),)
    return ("-p", UserText(prompt)) if batch else (UserText(prompt),)


def _warnings(spec: TaskSpec, context: base.LaunchContext) -> tuple[str, ...]:
    warnings = []
    batch = base.is_batch(spec)
    if batch and not context.folder_trusted and not context.recorded_trust:
        warnings.append("gemini -p refuses a folder that is not trusted (exit 55): see --trust")
    if batch and _permission_words(spec) not in (("-y",), ("--approval-mode", "yolo")):
        warnings.append(
            "gemini -p has nobody to ask: tools that need approval are absent, and it exits with 0"
        )
    return tuple(warnings)
