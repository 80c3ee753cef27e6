"""What every agent module offers, and what the modules share.

Builders are pure: a spec and what the launch knows go in, an argument vector comes out.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from cuekit.agents.quoting import UserText, fits_argument
from cuekit.model.capability import Capabilities
from cuekit.model.task import Mode, TaskSpec, run_mode

MODES = (Mode.INTERACTIVE, Mode.BATCH)
PROTOCOLS: Mapping[str, str] = {
    "claude-code": "claude",
    "codex": "codex",
    "gemini": "acp",
    "grok": "acp",
    "opencode": "acp",
}
"""The protocol that drives an agent in supervised mode."""
STREAM_PROTOCOLS: Mapping[str, str] = {"claude-code": "claude-batch", "codex": "codex-exec"}
"""The protocol that drives an agent in batch when its events are wanted."""
SUPERVISED_DIFFERENCES: Mapping[str, Mapping[str, bool]] = {
    "claude-code": {"can_modify_tool_input": True},
    **{kind: {"supports_fork": False} for kind in ("gemini", "grok", "opencode")},
}


@dataclass(frozen=True)
class LaunchContext:
    """What the launch knows and the spec does not."""

    binary: str  # absolute path of the executable
    version: str | None  # "0.171.0"
    known_flags: frozenset[str]  # long flags of its --help; empty: not probed
    task_id: str
    run_dir: str
    task_dir: str
    cwd: str
    prompt_file: str  # the rendered prompt, UTF-8
    folder_trusted: bool  # the user gave trust to cwd (not the agent's own record)
    hook_program: str | None  # run as `HOOK EVENT` with JSON on stdin; None: no hooks
    as_command: bool = False  # the first character may mean a command to the agent
    recorded_trust: bool | None = None  # the agent's own record on cwd; None: it has none
    resume: str | None = None  # the agent's own id of a conversation to go on with
    fork: bool = False  # as a branch of it, which leaves it as it is
    new_session: str | None = None  # a UUID for a new conversation, where the agent takes one


class Launch(NamedTuple):
    """One start of an agent, ready for the supervisor."""

    argv: tuple[str, ...]
    stdin: Literal["tty", "null", "prompt"] = "tty"  # prompt: the prompt file
    environment: Mapping[str, str] = MappingProxyType({})  # added to the child's
    files: Mapping[str, str] = MappingProxyType({})  # name inside run_dir -> content
    warnings: tuple[str, ...] = ()
    prompt_delivery: Literal["argument", "stdin", "paste"] = "argument"
    last_message_file: str | None = None  # where the agent writes its last message
    session_id: str | None = None  # of the conversation, where these words decide it


class OptionProblem(NamedTuple):
    """Something wrong with an adapter option. Fatal: refused unless the submit is lenient."""

    name: str
    message: str
    hint: str | None = None
    fatal: bool = True
    together: bool = False  # of several options; another file may hold what is missing in this one


class Agent(Protocol):
    """An agent module, as the rest of cuekit sees it."""

    KIND: str
    COMMAND: str  # name of the executable
    VERIFIED: bool  # run for real, or built from descriptions only
    VALUES_FROM: str  # where flags and values come from
    INSTALL: str  # what to run when the executable is missing
    HELP: tuple[tuple[str, ...], ...]  # the calls whose text names the long flags
    HIDDEN_FLAGS: frozenset[str]  # accepted, but in no help text

    def capabilities(self, mode: Mode) -> Capabilities:
        """What the agent can do in that mode."""

    def prompt_text(self, spec: TaskSpec) -> str:
        """What the agent is given, and what the prompt file holds."""

    def arguments(
        self, spec: TaskSpec, context: LaunchContext | None = None, *, binary: str | None = None
    ) -> tuple[str, ...]:
        """The argument vector, with the prompt as an argument."""

    def command_line(
        self, spec: TaskSpec, context: LaunchContext | None = None, *, binary: str | None = None
    ) -> str:
        """The same in its shell form."""

    def launch(self, spec: TaskSpec, context: LaunchContext) -> Launch:
        """The start of this task, the way of its prompt chosen by its size."""

    def option_problems(self, spec: TaskSpec, version: str | None) -> list[OptionProblem]:
        """What `task submit` has to say about the model and the adapter options."""

    def first_prompt_problem(self, prompt: str, mode: Mode, version: str | None) -> str | None:
        """Why the agent would not take the first prompt as text; None when it would."""

    def root_problem(self, spec: TaskSpec) -> str | None:
        """What the agent refuses when it runs as root; None when nothing."""

    def emitted_flags(self) -> frozenset[str]:
        """Every long flag that the builder can emit (short ones by their long names)."""


OPTIONS_OF_ALL: Mapping[str, Sequence[Any]] = {
    "mode": ("interactive", "batch", "supervised"),
    "stream": (True, False),
    "verbosity": ("full", "normal"),
    "dangerously_skip_permissions": (True, False),
    "cleanup_on_terminal_report": (True, False),
}
SECONDS: Sequence[Any] = ("a number of seconds",)
"""As the values of an option: any number above nothing."""
SAFETY_OPTIONS = (
    "mode",
    "sandbox",
    "ask_for_approval",
    "approval_mode",
    "dangerously_skip_permissions",
    "approvals",
    "approval_channel",
)
_MISNOMERS = {
    "approval_policy": "ask_for_approval",
    "approval": "ask_for_approval",
    "bypass": "dangerously_skip_permissions",
    "dangerously_bypass_approvals_and_sandbox": "dangerously_skip_permissions",
    "permission_mode": "dangerously_skip_permissions",
    "permissions": "dangerously_skip_permissions",
    "read_only": "sandbox",
    "sandbox_mode": "sandbox",
    "sandbox_policy": "sandbox",
    "skip_permissions": "dangerously_skip_permissions",
    "yolo": "dangerously_skip_permissions",
}
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def capabilities_of(kind: str, mode: Mode, **differences: bool) -> Capabilities:
    """The capabilities that most agents have in a pane, changed where one differs.

    Nobody can type to a batch run, so what needs that is false there whatever the agent.
    """
    if mode is Mode.SUPERVISED:
        return supervised(kind, kind in PROTOCOLS)
    talks = mode is Mode.INTERACTIVE
    values = {
        "supports_steering": talks,
        "supports_attach": True,
        "supports_model_selection": True,
        "supports_artifacts": True,
        "supports_live_progress": False,
        "supports_approvals": False,
        "supports_resume": False,
        "supports_fork": False,
        "supports_interrupt": talks,
        "supports_activity": False,
        "can_modify_tool_input": False,
        "partial_message_streaming": False,
        "follow_up_while_running": talks,
        "emits_file_change_events": False,
    } | differences
    return Capabilities(
        agent_kind=kind,
        mode=mode,
        default_mode=Mode.INTERACTIVE,
        supported_modes=modes_of(kind),
        **values,
    )


def modes_of(kind: str) -> tuple[Mode, ...]:
    """The modes that an agent can be run in."""
    return (*MODES, Mode.SUPERVISED) if kind in PROTOCOLS else MODES


def supervised(kind: str, there: bool) -> Capabilities:
    """What the sidecar can do with an agent over its protocol, if there is one."""
    values = {
        "supports_steering": there,
        "supports_attach": True,
        "supports_model_selection": True,
        "supports_artifacts": True,
        "supports_live_progress": there,
        "supports_approvals": there,
        "supports_resume": there,
        "supports_fork": there,
        "supports_interrupt": there,
        "supports_activity": there,
        "can_modify_tool_input": False,
        "partial_message_streaming": there,
        "follow_up_while_running": there,
        "emits_file_change_events": there,
        **SUPERVISED_DIFFERENCES.get(kind, {}),
    }
    return Capabilities(
        agent_kind=kind,
        mode=Mode.SUPERVISED,
        default_mode=Mode.INTERACTIVE,
        supported_modes=modes_of(kind),
        **values,
    )


def with_arguments(argv: Sequence[str], binary: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """The argument vector with a configured command's own arguments right behind the binary."""
    place = argv.index(binary) + 1
    return (*argv[:place], *arguments, *argv[place:])


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


def is_batch(spec: TaskSpec) -> bool:
    """Whether the spec asks for one prompt and an end."""
    return run_mode(spec) is Mode.BATCH


def chosen(spec: TaskSpec, name: str, values: Sequence[str]) -> str | None:
    """An option's value when it is one of those; softly nothing otherwise, as designed."""
    value = spec.adapter_options.get(name)
    return value if isinstance(value, str) and value in values else None


def model_words(spec: TaskSpec, flag: str) -> tuple[str, ...]:
    """The model with its flag, or nothing."""
    return (flag, UserText(spec.model)) if spec.model else ()


def needs_separator(
    prompt: str, subcommands: frozenset[str], context: LaunchContext | None
) -> bool:
    """Whether a positional prompt must stand behind `--`.

    So for a leading dash and for the names of subcommands. A real launch does it for every
    single word, since the installed version may have subcommands that are not known here.
    """
    if prompt.startswith("-") or prompt in subcommands:
        return True
    return context is not None and _WORD.match(prompt) is not None


def prompt_words(
    prompt: str, subcommands: frozenset[str], context: LaunchContext | None
) -> tuple[str, ...]:
    """A positional prompt, behind `--` where it needs that."""
    separator = ("--",) if needs_separator(prompt, subcommands, context) else ()
    return (*separator, UserText(prompt))


def literal(prompt: str, special: str, context: LaunchContext) -> tuple[str, tuple[str, ...]]:
    """A first prompt that the agent takes as text, and the warning when it had to be changed.

    `special` has the first characters on which the agent acts; a space before one ends that.
    """
    if context.as_command or not prompt.startswith(tuple(special)):
        return prompt, ()
    said = f"a space was put before the prompt, so that its {prompt[0]!r} is taken as text"
    return " " + prompt, (said,)


def pointer(context: LaunchContext) -> str:
    """A short prompt in the place of one that the agent cannot be given whole."""
    return f"Your task is in the file {context.prompt_file}: read all of it, then do what it says."


def special_character_problem(agent: str, prompt: str, special: str) -> str | None:
    """The refusal of a first prompt whose first character the agent would act on."""
    if not prompt.startswith(tuple(special)):
        return None
    return f"{agent} would act on the first character of this prompt, {prompt[0]!r}"


def too_long(prompt: str) -> bool:
    """Whether the prompt has to travel in another way than as an argument."""
    return not fits_argument(prompt)


def version_at_least(version: str | None, lowest: tuple[int, ...]) -> bool:
    """Whether a version is known and not below the given one."""
    numbers = version_numbers(version)
    return bool(numbers) and numbers >= lowest


def version_numbers(version: str | None) -> tuple[int, ...]:
    """The leading numbers of a version; () for one that is unknown."""
    found = re.match(r"\d+(?:\.\d+)*", version or "")
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def check_options(
    spec: TaskSpec, values: Mapping[str, Sequence[Any] | None], *, asks: bool = True
) -> list[OptionProblem]:
    """The strict reading of a spec's model and adapter options.

    `values` names the agent's own options and what each takes (None: any text). `asks` is False
    for an agent that cannot be made to ask, and so cannot keep `permissions: prompt`.
    """
    known: dict[str, Sequence[Any] | None] = {**OPTIONS_OF_ALL, **values}
    problems = model_problems(spec)
    for name, value in spec.adapter_options.items():
        if name in known:
            problems += _value_problems(name, value, known[name])
        else:
            problems.append(_name_problem(spec.agent_kind, str(name), known))
    if not asks and spec.adapter_options.get("dangerously_skip_permissions") is False:
        problems.append(
            OptionProblem(
                "dangerously_skip_permissions",
                f"no way is known to make {spec.agent_kind} ask before it acts",
                "use an agent that asks, or --lenient to run it all the same",
            )
        )
    return problems


def model_problems(spec: TaskSpec) -> list[OptionProblem]:
    """A model that no command line can carry as a model."""
    if spec.model is None:
        return []
    if not spec.model.strip():
        return [OptionProblem("model", "the model is empty")]
    if spec.model.startswith("-"):
        return [OptionProblem("model", f"a model does not begin with a dash: {spec.model!r}")]
    if _CONTROL.search(spec.model):
        return [OptionProblem("model", f"the model holds a control character: {spec.model!r}")]
    return []


def _near(word: str, words: Sequence[str], count: int, likeness: float) -> list[str]:
    from difflib import get_close_matches  # costs 4 ms, and only a mistake needs it

    return get_close_matches(word, words, count, likeness)


def _value_problems(name: str, value: Any, allowed: Sequence[Any] | None) -> list[OptionProblem]:
    if allowed is SECONDS:
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return []
        return [OptionProblem(name, f"{name} takes a number of seconds, not {_shown(value)}")]
    if allowed is None:
        if isinstance(value, str) and value:
            return []
        return [OptionProblem(name, f"{name} takes a text, not {value!r}", fatal=False)]
    if any(value is entry or (isinstance(value, str) and value == entry) for entry in allowed):
        return []
    listed = ", ".join(_shown(entry) for entry in allowed)
    kind = "a boolean" if allowed and isinstance(allowed[0], bool) else "one of"
    said = f"{name} takes {kind}: {listed}; not {_shown(value)}"
    return [OptionProblem(name, said, _closest_value(value, allowed), name in SAFETY_OPTIONS)]


def _closest_value(value: Any, allowed: Sequence[Any]) -> str | None:
    if not isinstance(value, str):
        return None
    plain = value.strip().lower().replace("_", "-").replace(" ", "-")
    if plain in ("true", "false") and isinstance(allowed[0], bool):
        return f"without quotes: {plain}"
    near = _near(plain, [str(entry) for entry in allowed], 1, 0.7)
    return f"did you mean {near[0]!r}?" if near else None


def _name_problem(kind: str, name: str, known: Mapping[str, Sequence[Any] | None]) -> OptionProblem:
    plain = name.strip().lower().replace("-", "_").replace(" ", "_").strip("_")
    meant = _MISNOMERS.get(plain, plain)
    if meant not in SAFETY_OPTIONS:
        near = _near(plain, SAFETY_OPTIONS, 1, 0.75)
        meant = near[0] if near else ""
    if meant:
        safe = [entry for entry in SAFETY_OPTIONS if entry in known]
        if meant in known:
            return OptionProblem(name, f"no option {name!r}", f"did you mean {meant!r}?")
        said = f"{kind} takes no option {name!r}"
        return OptionProblem(name, said, f"its options on safety: {', '.join(safe)}")
    near = _near(plain, [str(entry) for entry in known], 1, 0.6)
    said = f"{kind} takes no option {name!r}; it is ignored"
    return OptionProblem(name, said, f"did you mean {near[0]!r}?" if near else None, fatal=False)


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)
