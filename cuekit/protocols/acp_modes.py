"""The mode of an ACP session: which one asks, and how it is set. Pure."""

from dataclasses import dataclass

from cuekit.errors import CuekitError
from cuekit.protocols.acp_agents import AcpAgent
from cuekit.protocols.acp_values import Json, object_of, objects_of, text_of

OPTION = "asking_mode"
"""An adapter option: the mode of a configured agent that asks before it acts."""


@dataclass(frozen=True)
class ModeChange:
    """A request that sets the mode."""

    method: str
    params: Json
    mode: str


def current(opened: Json) -> str | None:
    """The mode that the answer of `session/new` (or load) names; None when it has none."""
    told = text_of(object_of(opened, "modes"), "currentModeId")
    return told or text_of(_option(opened), "currentValue")


def available(opened: Json) -> tuple[str, ...]:
    """The modes that there are."""
    modes = [
        text_of(mode, "id") for mode in objects_of(object_of(opened, "modes"), "availableModes")
    ]
    choices = [text_of(choice, "value") for choice in objects_of(_option(opened), "options")]
    return tuple(mode for mode in (modes or choices) if mode)


def needed_change(agent: AcpAgent, opened: Json, session_id: str) -> ModeChange | None:
    """What makes the session ask; None when it does.

    Raises CuekitError (`agent_does_not_ask`) when that cannot be had.
    """
    mode, there = current(opened), available(opened)
    if not agent.has_modes or (mode is None and not there):
        return None
    if mode in agent.asking_modes:
        return None
    wanted = next((name for name in agent.asking_modes if name in there), None)
    if wanted is None:
        names = ", ".join(there) or "none that it names"
        raise CuekitError(
            f"{agent.name} starts in the mode {mode!r}, which is not known to ask before it acts "
            f"(its modes: {names})",
            code="agent_does_not_ask",
            hint=f'name the mode that asks: --adapter-options \'{{"{OPTION}": "MODE"}}\'',
        )
    if text_of(object_of(opened, "modes"), "currentModeId"):
        params = {"sessionId": session_id, "modeId": wanted}
        return ModeChange("session/set_mode", params, wanted)
    params = {"sessionId": session_id, "configId": "mode", "value": wanted}
    return ModeChange("session/set_config_option", params, wanted)


def model_change(opened: Json, session_id: str, model: str) -> tuple[str, Json]:
    """The request that chooses a model. Raises CuekitError (`bad_model`) when it is not offered."""
    for option in objects_of(opened, "configOptions"):
        if option.get("id") == "model":
            values = [text_of(choice, "value") or "" for choice in _choices(option)]
            _check(model, values)
            params = {"sessionId": session_id, "configId": "model", "value": model}
            return "session/set_config_option", params
    models = objects_of(object_of(opened, "models"), "availableModels")
    _check(model, [text_of(entry, "modelId") or "" for entry in models])
    return "session/set_model", {"sessionId": session_id, "modelId": model}


def _choices(option: Json) -> list[Json]:
    """The choices of an option, those inside groups too."""
    found = []
    for choice in objects_of(option, "options"):
        inner = list(objects_of(choice, "options"))
        found += inner or [choice]
    return found


def _check(model: str, offered: list[str]) -> None:
    if model not in offered:
        shown = ", ".join(offered[:8]) or "none"
        raise CuekitError(
            f"the agent offers no model {model!r}", code="bad_model", hint=f"it offers: {shown}"
        )


def _option(opened: Json) -> Json:
    for option in objects_of(opened, "configOptions"):
        if option.get("id") == "mode":
            return option
    return {}
