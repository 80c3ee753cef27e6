"""Roles: the profile that a submit asks for, and what it fills in."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from cuekit.errors import InvalidInput
from cuekit.paths import Home, home_from
from cuekit.service.request import SubmitRequest

AUTO = "auto"


class Role(NamedTuple):
    """A role as it counts for one task."""

    name: str
    instructions: str
    reason: str | None  # why `auto` chose it


def apply(
    request: SubmitRequest,
    cwd: str,
    home: Home,
    defaults: dict[str, Any],
    folders: Sequence[str] = (),
) -> tuple[SubmitRequest, Role | None]:
    """The request with what its role says of agent and model, and the role.

    What the caller named stays. Raises InvalidInput (`unknown_role`), naming the roles there are.
    """
    if request.role is None:
        return request, None
    from cuekit.config import profiles

    there = profiles.discover(cwd, home, folders)
    name, reason = request.role, None
    if name == AUTO:
        text = f"{request.objective}\n{request.context or ''}"
        name, reason = profiles.choose(text, there.found)
        defaults["role"] = {"value": name, "source": reason}
    profile = there.found.get(name)
    if profile is None:
        raise _unknown(name, there)
    kind, model = request.agent_kind, request.model
    source = profile.files[-1] if profile.files else profile.source
    if kind is None and profile.agent_kind:
        kind = profile.agent_kind
        defaults["agent_kind"] = {"value": kind, "source": source}
    if model is None and profile.model and kind == profile.agent_kind:
        model = profile.model
        defaults["model"] = {"value": model, "source": source}
    filled = replace(request, agent_kind=kind, model=model)
    return filled, Role(name, profile.instructions, reason)


def _unknown(name: str, there: Any) -> InvalidInput:
    import difflib

    near = difflib.get_close_matches(name, there.found, 1)
    broken = [line for line in there.problems if f"/{name}.md:" in line]
    return InvalidInput(
        f"no role {name!r}: {', '.join(sorted(there.found))}"
        + (f"; {broken[0]}" if broken else ""),
        code="unknown_role",
        hint=f"did you mean {near[0]!r}?" if near else "cuekit agent list",
    )


def listed(cwd: str, environ: Mapping[str, str], *, instructions: bool) -> dict[str, Any]:
    """Every role, and the files that are none: `{profiles: [...], problems: [...]}`.

    Raises as `profiles.discover`.
    """
    from cuekit.config import load, profiles

    home = home_from(environ)
    folders = load.effective("/", home, environ).profile_folders
    there = profiles.discover(cwd, home, folders)
    rows = []
    for profile_id, profile in sorted(there.found.items()):
        row: dict[str, Any] = {
            "id": profile_id,
            "description": profile.description,
            "agent_kind": profile.agent_kind,
            "model": profile.model,
            "tags": list(profile.tags),
            "source": profile.source,
            "files": list(profile.files),
        }
        if instructions:
            row["instructions"] = profile.instructions
        rows.append(row)
    return {"profiles": rows, "problems": list(there.problems)}
