"""Role profiles: Markdown files with front matter, built in, of the user, and of the project.

A later layer changes an earlier one of the same id, field by field. A project's files that are not
trusted may add roles; they may not take the place of another, nor name the kind `shell`. One bad
file is told of and left out; it never takes the others with it.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cuekit.config import trust
from cuekit.config.discover import project_folder, real_folder
from cuekit.errors import InvalidInput
from cuekit.paths import Home

BUILT_IN = os.path.join(os.path.dirname(__file__), "roles")
FRONT_MATTER = "front matter"
LARGEST = 64 * 1024  # bytes of one file
MOST_FILES = 200
PROFILE_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}\Z")
FIELDS = {"id", "description", "agent_kind", "model", "tags", "instructions_mode", "extends"}


@dataclass(frozen=True)
class Profile:
    """A role: what an agent in it is told, and which agent and model it is meant for."""

    profile_id: str
    description: str = ""
    agent_kind: str | None = None
    model: str | None = None
    tags: tuple[str, ...] = ()
    instructions: str = ""
    source: str = "built-in"
    files: tuple[str, ...] = ()
    append: bool = False
    extends: str | None = None


@dataclass(frozen=True)
class Profiles:
    """The roles there are, and a line on each file that is no role."""

    found: Mapping[str, Profile] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


class _Bad(Exception):
    """A file that is no profile; its text says why."""


def discover(cwd: str, home: Home, folders: Sequence[str] = ()) -> Profiles:
    """The roles for a working folder: built in, then the user's, then the project's.

    `folders` are more of the user's own, as configured; a later one counts more.

    Raises InvalidInput (`no_such_folder`), CuekitError for a broken record of trust.
    """
    found: dict[str, Profile] = {}
    problems: list[str] = []
    for source, folder in (
        ("built-in", BUILT_IN),
        ("user", os.path.join(home.root, "agents")),
        *(("user", folder) for folder in folders),
        ("project", _projects_folder(cwd)),
    ):
        _add_layer(found, problems, source, folder, home)
    return Profiles(_resolved(found, problems), tuple(problems))


def files_of_project(folder: str) -> list[tuple[str, str]]:
    """The profile files of a project and the SHA-256 of each, as `cuekit trust` records them."""
    place = _projects_folder(folder)
    pairs = []
    for path in [] if _leads_out(place) else _paths(place):
        data = _read(path)
        if data is not None:
            pairs.append((path, hashlib.sha256(data).hexdigest()))
    return pairs


def _projects_folder(cwd: str) -> str:
    return os.path.join(project_folder(real_folder(cwd)), ".cuekit", "agents")


def _leads_out(folder: str) -> bool:
    """Whether a project's folder is a link to somewhere that is not of the project."""
    return os.path.realpath(folder) != folder


def _add_layer(
    found: dict[str, Profile], problems: list[str], source: str, folder: str, home: Home
) -> None:
    layer: dict[str, Profile] = {}
    if source == "project" and os.path.lexists(folder) and _leads_out(folder):
        problems.append(f"{folder}: is a symbolic link, or in one; a project's roles are its own")
        return
    for path in _paths(folder):
        try:
            data = _read(path)
            if data is None:
                raise _Bad(f"cannot be read, or is larger than {LARGEST // 1024} KiB")
            profile = parse(data, path, source)
            if source == "project":
                _require_trust(profile, found, home, path, data)
        except _Bad as bad:
            problems.append(f"{path}: {bad}")
            continue
        if profile.profile_id in layer:
            other = layer[profile.profile_id].files[0]
            problems.append(f"{path}: {profile.profile_id!r} is in {other} already")
            continue
        layer[profile.profile_id] = profile
    for profile_id, profile in layer.items():
        found[profile_id] = _over(found.get(profile_id), profile)


def _require_trust(
    profile: Profile, found: Mapping[str, Profile], home: Home, path: str, data: bytes
) -> None:
    if trust.content_trusted(home, path, hashlib.sha256(data).hexdigest()):
        return
    if profile.profile_id in found:
        raise _Bad(f"takes the place of the role {profile.profile_id!r}; cuekit trust allows it")
    if profile.agent_kind == "shell":
        raise _Bad("names the kind shell; cuekit trust allows it")


def parse(data: bytes, path: str, source: str) -> Profile:
    """A profile from a file's content. Raises _Bad, whose text says what is wrong."""
    values, body = _split(data)
    unknown = sorted(set(values) - FIELDS)
    if unknown:
        raise _Bad(f"no field {unknown[0]!r} in a profile; the fields: {', '.join(sorted(FIELDS))}")
    profile_id = _text(values, "id") or os.path.splitext(os.path.basename(path))[0]
    if not PROFILE_ID.match(profile_id) or profile_id == "auto":
        raise _Bad(f"not the id of a role: {profile_id!r}")
    mode = _text(values, "instructions_mode") or "replace"
    if mode not in ("replace", "append"):
        raise _Bad(f"instructions_mode is replace or append, not {mode!r}")
    return Profile(
        profile_id=profile_id,
        description=_text(values, "description") or "",
        agent_kind=_text(values, "agent_kind"),
        model=_text(values, "model"),
        tags=_tags(values),
        instructions=body.strip(),
        source=source,
        files=(path,),
        append=mode == "append",
        extends=_text(values, "extends"),
    )


def _split(data: bytes) -> tuple[dict[str, Any], str]:
    from cuekit.config.document import parsed

    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise _Bad("is not UTF-8") from None
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].strip() != "---" or "---" not in [line.strip() for line in lines[1:]]:
        raise _Bad("has no front matter between two lines of ---")
    end = [line.strip() for line in lines].index("---", 1)
    front = "\n" + "\n".join(lines[1:end])  # its lines count from the top of the file
    try:
        values, _ = parsed(FRONT_MATTER, front.encode())
    except InvalidInput as error:
        where, _, problem = error.message.removeprefix(f"{FRONT_MATTER}:").partition(": ")
        raise _Bad(f"line {where}: {problem}") from None
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise _Bad("its front matter is not a mapping")
    return values, "\n".join(lines[end + 1 :])


def _text(values: Mapping[str, Any], name: str) -> str | None:
    value = values.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or "\n" in value.strip():
        raise _Bad(f"{name} takes one line of text, not {value!r}")
    return value.strip()


def _tags(values: Mapping[str, Any]) -> tuple[str, ...]:
    value = values.get("tags")
    if value is None:
        return ()
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        raise _Bad("tags takes a list of words")
    return tuple(tag.strip() for tag in value if tag.strip())


def _over(lower: Profile | None, upper: Profile) -> Profile:
    """A profile over the one of an earlier layer with the same id."""
    if lower is None:
        return upper
    return _joined(lower, upper, upper.profile_id)


def _joined(lower: Profile, upper: Profile, profile_id: str) -> Profile:
    if upper.append and lower.instructions:
        instructions = f"{lower.instructions}\n\n{upper.instructions}".strip()
    else:
        instructions = upper.instructions or lower.instructions
    return Profile(
        profile_id=profile_id,
        description=upper.description or lower.description,
        agent_kind=upper.agent_kind or lower.agent_kind,
        model=upper.model or (lower.model if not upper.agent_kind else None),
        tags=upper.tags or lower.tags,
        instructions=instructions,
        source=upper.source,
        files=(*lower.files, *upper.files),
        extends=upper.extends,
    )


def _resolved(found: Mapping[str, Profile], problems: list[str]) -> dict[str, Profile]:
    """Each profile with what it extends; one in a circle, or that extends nothing, is left out."""
    done: dict[str, Profile] = {}
    for profile_id in found:
        try:
            done[profile_id] = _extended(found, profile_id, ())
        except _Bad as bad:
            problems.append(f"{found[profile_id].files[-1]}: {bad}")
    return done


def _extended(found: Mapping[str, Profile], profile_id: str, above: tuple[str, ...]) -> Profile:
    profile = found[profile_id]
    if profile.extends is None:
        return profile
    if profile.extends not in found:
        raise _Bad(f"extends {profile.extends!r}, which is no role")
    if profile.extends == profile_id or profile.extends in above:
        circle = " -> ".join((*above, profile_id, profile.extends))
        raise _Bad(f"extends itself: {circle}")
    base = _extended(found, profile.extends, (*above, profile_id))
    return replace(_joined(base, profile, profile_id), extends=None)


def _paths(folder: str) -> Iterator[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names[:MOST_FILES]:
        if name.endswith(".md") and not name.startswith("."):
            yield os.path.join(folder, name)


def _read(path: str) -> bytes | None:
    """A file's content; None for one that is too large, no plain file, or not readable."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        with open(descriptor, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError:
        return None
    return data if len(data) <= LARGEST else None


AUTO = (
    ("reviewer", ("review", "code review", "pull request", "diff", "look over")),
    ("planner", ("plan", "design", "spec", "architecture", "proposal")),
    ("debugger", ("bug", "debug", "failing", "failure", "broken", "error", "crash", "flaky")),
    ("docs-writer", ("docs", "documentation", "readme", "changelog", "guide", "tutorial")),
    ("scout", ("inspect", "explore", "understand", "map", "investigate", "find out", "where is")),
)


def choose(text: str, found: Mapping[str, Profile]) -> tuple[str, str]:
    """The role that a task's words call for, and the reason; `worker` when none does."""
    words = " ".join(re.findall(r"[a-z]+", text.lower()))
    for profile_id, signs in AUTO:
        if profile_id not in found:
            continue
        for sign in signs:
            if re.search(rf"\b{re.escape(sign)}\b", words):
                return profile_id, f"the task speaks of {sign!r}"
    return "worker", "nothing in the task calls for another role"
