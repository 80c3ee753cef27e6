"""OpenAI's codex: measured with 0.133.0, 0.141.0 and 0.171.0."""

import re

from cuekit.agents import base, inbox
from cuekit.agents.prompt import render
from cuekit.agents.quoting import UserText, shell_form
from cuekit.model.capability import Capabilities
from cuekit.model.task import Mode, TaskSpec, skips_permissions

KIND = "codex"
COMMAND = "codex"
VERIFIED = True
VALUES_FROM = "codex 0.133.0, 0.141.0 and 0.171.0, run"
INSTALL = "npm install -g @openai/codex"
HELP: tuple[tuple[str, ...], ...] = (("--help",), ("exec", "--help"))
HIDDEN_FLAGS: frozenset[str] = frozenset()

SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
POLICIES = ("untrusted", "on-failure", "on-request", "never")
_FEATURE = re.compile(r"[a-z][a-z0-9_]*")
POLICIES_SINCE_0_171 = ("on-request", "never")
SUBCOMMANDS = base.word_set(
    "a agents app-server apply archive cloud completion debug delete doctor e exec exec-server "
    "features fork help login logout mcp mcp-server migrate-nfs-db migrate-rollouts plugin queue "
    "remote-control resume review sandbox unarchive update"
)
"""Words that one of the versions takes for a subcommand, of codex itself or of `codex exec`."""


SPECIAL_IN_TUI = "!"
"""A first prompt that begins so is run as a shell command by the TUI, not by `codex exec`.

`/` is text there, and `$name` adds that skill to the message wherever it stands (0.133.0, 0.171.0).
"""


def capabilities(mode: Mode) -> Capabilities:
    """Hooks tell what it does, in the TUI and in `codex exec` alike."""
    return base.capabilities_of(
        KIND,
        mode,
        supports_activity=True,
        supports_resume=True,
        supports_fork=mode is not Mode.BATCH,
    )


def policies(version: str | None) -> tuple[str, ...]:
    """The values of `-a`: 0.171.0 no longer takes `untrusted` and `on-failure` (exit 2)."""
    return POLICIES_SINCE_0_171 if base.version_at_least(version, (0, 171)) else POLICIES


def prompt_text(spec: TaskSpec) -> str:
    """The rendered spec."""
    return render(spec)


def arguments(
    spec: TaskSpec, context: base.LaunchContext | None = None, *, binary: str | None = None
) -> tuple[str, ...]:
    """`codex [exec] [permissions] [model] prompt`; `exec` stands before every option."""
    words = _words_before_prompt(spec, context, binary)
    return (*words, *base.prompt_words(prompt_text(spec), SUBCOMMANDS, context))


def command_line(
    spec: TaskSpec, context: base.LaunchContext | None = None, *, binary: str | None = None
) -> str:
    """The shell form of the argument vector."""
    return shell_form(arguments(spec, context, binary=binary))


def launch(spec: TaskSpec, context: base.LaunchContext) -> base.Launch:
    """The start of this task.

    `codex exec` reads a prompt of any length from standard input when `-` stands in its place;
    in the TUI a prompt too long for an argument is pasted.
    """
    prompt = prompt_text(spec)
    words = _words_before_prompt(spec, context, None)
    warnings = _warnings(spec)
    if not base.is_batch(spec):
        first, changed = base.literal(prompt, SPECIAL_IN_TUI, context)
        words += (UserText(context.resume),) if context.resume else ()
        if base.too_long(first):
            return base.Launch(words, files=inbox.files(spec), prompt_delivery="paste")
        argv = (*words, *base.prompt_words(first, SUBCOMMANDS, context))
        return base.Launch(argv, files=inbox.files(spec), warnings=changed)
    last_message = _last_message_file(context)
    if context.resume:
        words += ("resume", UserText(context.resume))
    if base.too_long(prompt) or prompt == "-":
        return base.Launch(
            (*words, "-"),
            stdin="prompt",
            warnings=warnings,
            prompt_delivery="stdin",
            last_message_file=last_message,
        )
    return base.Launch(
        (*words, *base.prompt_words(prompt, SUBCOMMANDS, context)),
        stdin="null",  # exec reads an open pipe to its end before it does anything
        warnings=warnings,
        last_message_file=last_message,
    )


def supervised_arguments(spec: TaskSpec, context: base.LaunchContext) -> tuple[str, ...]:
    """`codex app-server` for a supervised task; the rest is said over its protocol.

    thread/start with a writable sandbox records in the user's configuration that the folder is
    trusted (0.133.0, 0.141.0, 0.171.0), unless the folder has a record; one given for this launch
    is enough, and "untrusted" gives nothing away.
    """
    words: list[str] = [context.binary, "app-server"]
    if context.folder_trusted:
        words += ["-c", UserText(_trust_setting(context.cwd, "trusted"))]
    elif context.recorded_trust is None:
        words += ["-c", UserText(_trust_setting(context.cwd, "untrusted"))]
    named = spec.adapter_options.get("features")
    for feature in named.split(",") if isinstance(named, str) else ():
        if _FEATURE.fullmatch(feature.strip()):
            words += ["-c", f"features.{feature.strip()}=true"]
    return tuple(words)


def stream_arguments(spec: TaskSpec, context: base.LaunchContext) -> tuple[str, ...]:
    """`codex exec --json` without a prompt, for a batch whose events are wanted."""
    binary, word, *rest = _words_before_prompt(spec, context, None)
    return (binary, word, "--json", *rest)


def option_problems(spec: TaskSpec, version: str | None) -> list[base.OptionProblem]:
    """Strict checks, with the approval policies that the installed version takes."""
    values = {
        "sandbox": SANDBOXES,
        "ask_for_approval": policies(version),
        "features": None,
        "stall_timeout_s": None,
    }
    return [
        *base.check_options(spec, {**values, **inbox.OPTIONS}),
        *inbox.problems(
            spec,
            never_asks=_never_asks(spec),
            hint='add "dangerously_skip_permissions": false, or "ask_for_approval": "on-request"',
        ),
    ]


def first_prompt_problem(prompt: str, mode: Mode, version: str | None) -> str | None:
    """Nothing is refused: `!` is made literal by a space before it."""
    return None


def root_problem(spec: TaskSpec) -> str | None:
    """Codex runs as root in every mode."""
    return None


def emitted_flags() -> frozenset[str]:
    """Every long flag that the builder can emit."""
    return frozenset(
        {
            "--add-dir",
            "--ask-for-approval",
            "--config",
            "--dangerously-bypass-approvals-and-sandbox",
            "--model",
            "--no-alt-screen",
            "--no-daemon",
            "--output-last-message",
            "--sandbox",
            "--skip-git-repo-check",
        }
    )


def _words_before_prompt(
    spec: TaskSpec, context: base.LaunchContext | None, binary: str | None
) -> tuple[str, ...]:
    command = binary or (context.binary if context else COMMAND)
    return (
        command,
        *_subcommand(spec, context),
        *_permission_words(spec, context),
        *base.model_words(spec, "-m"),
        *(word for folder in spec.add_dirs for word in ("--add-dir", UserText(folder))),
        *(_context_words(spec, context) if context else ()),
    )


def _subcommand(spec: TaskSpec, context: base.LaunchContext | None) -> tuple[str, ...]:
    """`exec` in batch; the TUI goes on with a conversation, or branches it, as a subcommand."""
    if base.is_batch(spec):
        return ("exec",)
    if context is None or context.resume is None:
        return ()
    return ("fork",) if context.fork else ("resume",)


def _never_asks(spec: TaskSpec) -> bool:
    """Whether the TUI is started so that it asks for nothing."""
    policy = base.chosen(spec, "ask_for_approval", POLICIES)
    if policy or base.chosen(spec, "sandbox", SANDBOXES):
        return (policy or "never") == "never"
    return skips_permissions(spec)


def _permission_words(spec: TaskSpec, context: base.LaunchContext | None) -> tuple[str, ...]:
    """One of three exclusive groups: sandbox, approval policy, bypass.

    `codex exec` takes no `-a` and never asks, so in batch the approval axis emits nothing.
    """
    batch = base.is_batch(spec)
    sandbox = base.chosen(spec, "sandbox", SANDBOXES)
    policy = base.chosen(spec, "ask_for_approval", POLICIES)
    if sandbox:
        return ("-s", sandbox) if batch else ("-s", sandbox, "-a", policy or "never")
    if policy:
        return () if batch else ("-a", policy)
    if not skips_permissions(spec):
        return ()
    return ("--dangerously-bypass-approvals-and-sandbox",)


def _context_words(spec: TaskSpec, context: base.LaunchContext) -> tuple[str, ...]:
    words: list[str] = []
    if base.is_batch(spec):
        if not context.folder_trusted:
            words.append("--skip-git-repo-check")  # a plain folder is as good a place as any
        words += ["-o", UserText(_last_message_file(context))]
        if _would_record_trust(context):
            words += ["-c", UserText(_trust_setting(context.cwd, "untrusted"))]
    else:
        # the background server would outlive the pane; older versions ignore the setting
        words += ["-c", "features.daemon_auto_start=false"]
        words += [
            flag for flag in ("--no-daemon", "--no-alt-screen") if flag in context.known_flags
        ]
    if context.folder_trusted:
        words += ["-c", UserText(_trust_setting(context.cwd, "trusted"))]
    if context.hook_program:
        from cuekit.agents.codex_hooks import hook_arguments  # brings hashlib

        hooks = hook_arguments(context.hook_program, **inbox.limits(spec))
        words += [word if word == "-c" else UserText(word) for word in hooks]
    return tuple(words)


def _would_record_trust(context: base.LaunchContext) -> bool:
    """Whether `codex exec` would write into the user's configuration that the folder is trusted.

    0.133.0 and 0.141.0 do so whenever the sandbox is writable, bypass or not, unless the folder
    has a record; one given for the launch is enough, and "untrusted" gives nothing away.
    """
    if context.folder_trusted or context.recorded_trust is not None:
        return False
    return not base.version_at_least(context.version, (0, 171))


def _trust_setting(folder: str, level: str) -> str:
    """A folder's trust for one launch; codex writes nothing for it. A dotted key does not work."""
    from cuekit.agents.codex_hooks import toml_string

    return f'projects={{{toml_string(folder)}={{trust_level="{level}"}}}}'


def _last_message_file(context: base.LaunchContext) -> str:
    return f"{context.run_dir}/last-message.txt"


def _warnings(spec: TaskSpec) -> tuple[str, ...]:
    if not base.is_batch(spec):
        return ()
    if base.chosen(spec, "ask_for_approval", POLICIES):
        return ("codex exec never asks: ask_for_approval has no effect in batch",)
    if not skips_permissions(spec) and not base.chosen(spec, "sandbox", SANDBOXES):
        return ("codex exec never asks: in batch what would need approval is refused",)
    return ()
