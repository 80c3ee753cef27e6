"""Anthropic's Claude Code: measured with 2.1.167, 2.1.197 and 2.1.332."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from cuekit.agents import base, inbox
from cuekit.agents.prompt import render
from cuekit.agents.quoting import UserText, shell_form
from cuekit.model.capability import Capabilities
from cuekit.model.task import Mode, TaskSpec, skips_permissions

KIND = "claude-code"
COMMAND = "claude"
VERIFIED = True
VALUES_FROM = "claude 2.1.167, 2.1.197 and 2.1.332, run"
INSTALL = "npm install -g @anthropic-ai/claude-code"
HELP: tuple[tuple[str, ...], ...] = (("--help",),)
HIDDEN_FLAGS: frozenset[str] = frozenset()

SUBCOMMANDS = base.word_set(
    "agents auth auto-mode config doctor gateway help install mcp migrate-installer plugin "
    "plugins project remote-control setup-token ultrareview update upgrade"
)
SPECIAL = "/"
"""A first prompt that begins so is a command, in the TUI and with `-p`; `!` is text in both.

Behind a space, which the model then gets too, it is text with `-p` (all) and in the TUI of 2.1.167
and 2.1.197; the TUI of 2.1.332 looks past any white space.
"""
LAST_WITH_LITERAL_SPACE = (2, 1, 197)
TRUSTED_FOLDER = {"CLAUDE_CODE_SANDBOXED": "1"}
"""Trust in the folder for one launch: no dialog, and nothing is recorded (all three versions)."""
READABLE_SCREEN = {"CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN": "1"}
"""The TUI draws on the normal screen, so that transcript and scrollback can be read (2.1.332)."""
SETTINGS_FILE = "settings.json"
STREAM_WORDS = ("--output-format", "stream-json", "--verbose")
PERMISSION_TOOL = "mcp__cuekit__approve"
CHANNELS = ("stdio", "mcp")
VERBOSITIES = ("full", "whole")
"""Supervised: text as it is written, or each message once it is whole."""


class Asked(NamedTuple):
    """What a conversation or a batch with events is started with."""

    partial_messages: bool = True
    skip_permissions: bool = False
    model: str | None = None
    append_system_prompt: str | None = None
    add_dirs: Sequence[str] = ()
    output_schema: Mapping[str, Any] | None = None
    resume: str | None = None
    fork: bool = False


def capabilities(mode: Mode) -> Capabilities:
    """Hooks tell what it does, in the TUI and with `-p` alike."""
    return base.capabilities_of(
        KIND, mode, supports_activity=True, supports_resume=True, supports_fork=True
    )


def prompt_text(spec: TaskSpec) -> str:
    """The rendered spec."""
    return render(spec)


def arguments(
    spec: TaskSpec, context: base.LaunchContext | None = None, *, binary: str | None = None
) -> tuple[str, ...]:
    """`claude [permissions] [model] [-p] prompt`."""
    prompt = prompt_text(spec)
    return (*_words_before_prompt(spec, context, binary), *_prompt_words(spec, prompt, context))


def command_line(
    spec: TaskSpec, context: base.LaunchContext | None = None, *, binary: str | None = None
) -> str:
    """The shell form of the argument vector."""
    return shell_form(arguments(spec, context, binary=binary))


def launch(spec: TaskSpec, context: base.LaunchContext) -> base.Launch:
    """The start of this task.

    `claude -p` without a prompt reads one of any length from standard input; in the TUI a prompt
    too long for an argument is pasted.
    """
    prompt = prompt_text(spec)
    words = (*_words_before_prompt(spec, context, None), *_resume_words(context))
    files = {}
    if context.hook_program:
        from cuekit.agents.claude_settings import settings

        files[SETTINGS_FILE] = settings(
            context.hook_program,
            bypass=skips_permissions(spec),
            **inbox.limits(spec),
        )
        files |= inbox.files(spec)
    batch = base.is_batch(spec)
    environment = {} if batch else dict(READABLE_SCREEN)
    if context.folder_trusted:
        environment |= TRUSTED_FOLDER
    warnings = _warnings(spec)
    first, changed = base.literal(prompt, SPECIAL, context)
    if base.too_long(first):
        if batch:
            return base.Launch(words, "prompt", environment, files, warnings, "stdin")
        return base.Launch(words, "tty", environment, files, prompt_delivery="paste")
    argv = (*words, *_prompt_words(spec, first, context))
    stdin: Literal["null", "tty"] = "null" if batch else "tty"
    return base.Launch(argv, stdin, environment, files, (*warnings, *changed))


def _resume_words(context: base.LaunchContext) -> tuple[str, ...]:
    if context.resume is None:
        return ()
    fork = ("--fork-session",) if context.fork else ()
    return ("--resume", UserText(context.resume), *fork)


def conversation_arguments(
    argv: Sequence[str], asked: Asked, *, mcp_config: str | None = None
) -> tuple[str, ...]:
    """`claude -p` with a conversation on its standard streams (2.1.167, 2.1.197, 2.1.332).

    `argv` is the executable with whatever the user has put behind it; `mcp_config` the file that
    names cuekit's approval server, None for approvals on the same streams.
    `--permission-prompt-tool` is in no help text, and only `default` names the asking mode in
    every version.
    """
    tool = "stdio" if mcp_config is None else PERMISSION_TOOL
    mode = "bypassPermissions" if asked.skip_permissions else "default"
    words = [*argv, "-p", "--input-format", "stream-json", *STREAM_WORDS, "--replay-user-messages"]
    words += ["--permission-prompt-tool", tool, "--permission-mode", mode, "--strict-mcp-config"]
    if mcp_config is not None:
        words += ["--mcp-config", UserText(mcp_config)]
    return (*words, *_asked_words(asked))


def batch_arguments(argv: Sequence[str], asked: Asked) -> tuple[str, ...]:
    """`claude -p` that tells its events; the prompt comes on standard input, of any length."""
    mode = "bypassPermissions" if asked.skip_permissions else "default"
    return (*argv, "-p", *STREAM_WORDS, "--permission-mode", mode, *_asked_words(asked))


def _asked_words(asked: Asked) -> list[str]:
    words: list[str] = []
    if asked.partial_messages:
        words.append("--include-partial-messages")
    if asked.model is not None:
        words += ["--model", UserText(asked.model)]
    if asked.append_system_prompt is not None:
        words += ["--append-system-prompt", UserText(asked.append_system_prompt)]
    for folder in asked.add_dirs:
        words += ["--add-dir", UserText(folder)]
    if asked.output_schema is not None:
        import json

        words += ["--json-schema", UserText(json.dumps(asked.output_schema))]
    if asked.resume is not None:
        words += ["--resume", UserText(asked.resume)]
        words += ["--fork-session"] if asked.fork else []
    return words


def option_problems(spec: TaskSpec, version: str | None) -> list[base.OptionProblem]:
    """Strict checks."""
    values = {"approval_channel": CHANNELS, "verbosity": VERBOSITIES}
    return [
        *base.check_options(spec, {**values, **inbox.OPTIONS}),
        *inbox.problems(
            spec,
            never_asks=skips_permissions(spec),
            hint='add "dangerously_skip_permissions": false',
        ),
    ]


def first_prompt_problem(prompt: str, mode: Mode, version: str | None) -> str | None:
    """Refused where a space before it does not make it text, or cannot be put there."""
    if mode is Mode.BATCH:
        if base.too_long(" " + prompt):  # it goes by standard input, as it is
            return base.special_character_problem("claude", prompt, SPECIAL)
        return None
    numbers = base.version_numbers(version)
    if numbers and numbers <= LAST_WITH_LITERAL_SPACE:
        return None
    return base.special_character_problem("claude", prompt, SPECIAL)


def root_problem(spec: TaskSpec) -> str | None:
    """Claude refuses bypass as root (exit 1) unless it is told that it is in a sandbox."""
    if not skips_permissions(spec):
        return None
    return (
        "claude refuses to run without asking as root: run as another user, set IS_SANDBOX=1 "
        "where this machine is a sandbox, or give dangerously_skip_permissions: false"
    )


def emitted_flags() -> frozenset[str]:
    """Every long flag that the builder can emit."""
    return frozenset(
        {
            "--add-dir",
            "--dangerously-skip-permissions",
            "--fork-session",
            "--model",
            "--permission-mode",
            "--print",
            "--resume",
            "--settings",
        }
    )


def _words_before_prompt(
    spec: TaskSpec, context: base.LaunchContext | None, binary: str | None
) -> tuple[str, ...]:
    skips = skips_permissions(spec)
    return (
        binary or (context.binary if context else COMMAND),
        *(("--dangerously-skip-permissions",) if skips else ()),
        # the user's own settings may name a mode that does not ask; 2.1.332 lists `manual`
        # in its help, but only `default` works in every version
        *(("--permission-mode", "default") if context and not skips else ()),
        *base.model_words(spec, "--model"),
        *(word for folder in spec.add_dirs for word in ("--add-dir", UserText(folder))),
        *(_settings_words(context) if context else ()),
        *(("-p",) if base.is_batch(spec) else ()),
    )


def _settings_words(context: base.LaunchContext) -> tuple[str, ...]:
    if not context.hook_program:
        return ()
    return ("--settings", UserText(f"{context.run_dir}/{SETTINGS_FILE}"))


def _prompt_words(
    spec: TaskSpec, prompt: str, context: base.LaunchContext | None
) -> tuple[str, ...]:
    words = base.prompt_words(prompt, SUBCOMMANDS, context)
    if spec.add_dirs and words[0] != "--":
        return ("--", *words)  # --add-dir takes every word up to the next option
    return words


def _warnings(spec: TaskSpec) -> tuple[str, ...]:
    if skips_permissions(spec) or not base.is_batch(spec):
        return ()
    return ("claude -p has nobody to ask: in batch what would need approval is refused",)
