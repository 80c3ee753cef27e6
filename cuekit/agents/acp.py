"""An agent that the configuration names by its command and that speaks ACP; supervised alone."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cuekit.agents import base
from cuekit.agents.prompt import render
from cuekit.agents.quoting import UserText, shell_form
from cuekit.model.capability import Capabilities
from cuekit.model.task import Mode, TaskSpec


class ConfiguredAcp:
    """Satisfies `base.Agent` for one configured kind."""

    COMMAND = ""
    VERIFIED = False
    VALUES_FROM = "the configuration"
    INSTALL = "correct adapters.<kind>.command"
    HELP: tuple[tuple[str, ...], ...] = ()
    HIDDEN_FLAGS: frozenset[str] = frozenset()

    def __init__(self, kind: str) -> None:
        self.KIND = kind

    def capabilities(self, mode: Mode) -> Capabilities:
        """What the sidecar can do with any agent that speaks ACP."""
        found = base.supervised(self.KIND, there=True)
        modes = (Mode.SUPERVISED,)
        return replace(found, default_mode=modes[0], supported_modes=modes, supports_fork=False)

    def prompt_text(self, spec: TaskSpec) -> str:
        """The rendered spec."""
        return render(spec)

    def arguments(
        self,
        spec: TaskSpec,
        context: base.LaunchContext | None = None,
        *,
        binary: str | None = None,
    ) -> tuple[str, ...]:
        """The command alone: all else is said over the protocol."""
        return (UserText(binary or (context.binary if context else self.KIND)),)

    def command_line(
        self,
        spec: TaskSpec,
        context: base.LaunchContext | None = None,
        *,
        binary: str | None = None,
    ) -> str:
        """The shell form of the command."""
        return shell_form(self.arguments(spec, context, binary=binary))

    def launch(self, spec: TaskSpec, context: base.LaunchContext) -> base.Launch:
        """The command; a sidecar runs it."""
        return base.Launch(self.arguments(spec, context))

    def option_problems(self, spec: TaskSpec, version: str | None) -> list[base.OptionProblem]:
        """What holds for every agent; its own options are not known here."""
        known: Mapping[str, Any] = dict.fromkeys(spec.adapter_options)
        values = {name: None for name in known if name not in base.OPTIONS_OF_ALL}
        return base.check_options(spec, values)

    def first_prompt_problem(self, prompt: str, mode: Mode, version: str | None) -> str | None:
        """The prompt is a message of the protocol."""
        return None

    def root_problem(self, spec: TaskSpec) -> str | None:
        """Not known."""
        return None

    def emitted_flags(self) -> frozenset[str]:
        """None."""
        return frozenset()
