"""The doctor's looks at what the user and the project have said: configuration, trust, roles."""

import os
from collections.abc import Iterator
from contextlib import suppress
from shlex import quote

from cuekit.config.effective import Effective
from cuekit.errors import CuekitError
from cuekit.paths import Home, home_from, search_path
from cuekit.service.doctor_check import Check, Situation, failure, ok, some, warning


def config(situation: Situation) -> Iterator[Check]:
    """The user's file, then the project's: valid, and trusted as far as it needs that."""
    from cuekit.config import load
    from cuekit.config.discover import project_file, real_folder

    home, environ = home_from(situation.environ), situation.environ
    users = _users_file(situation, home)
    yield users
    file = project_file(real_folder(situation.cwd))
    if users.state == "failure":
        if file is not None:
            yield warning("config.project", f"{file} is not read while {home.config} is broken")
        return
    try:
        effective = load.effective(situation.cwd, home, environ)
    except CuekitError as error:
        named = str(file) if error.code == "config_invalid" else home.trust
        yield failure("config.project", error.message, error.hint or f"edit {quote(named)}")
        return
    yield from _project_file(effective, situation.cwd)
    yield from _hooks(effective, situation)
    yield from _rules(effective, situation)


def _users_file(situation: Situation, home: Home) -> Check:
    from cuekit.config import load

    if not os.path.lexists(home.config):
        return ok("config.user", f"no {home.config}; built-in values")
    try:
        load.user_settings(home, situation.environ)
    except CuekitError as error:
        fix = error.hint or f"edit {quote(home.config)}"
        return failure("config.user", error.message, fix)
    return ok("config.user", f"{home.config} is valid; it is the user's own and needs no trust")


def _project_file(effective: Effective, cwd: str) -> Iterator[Check]:
    file = effective.project_file
    if file is None:
        yield ok("config.project", "no .cuekit.yaml here")
        return
    for text in effective.warnings:
        yield warning("config.project", text, f"edit {quote(file)}")
    if effective.ignored:
        yield ok("config.project", f"{file} is valid")
        yield warning("config.trust", effective.ignored, f"cuekit trust {quote(cwd)}")
    elif effective.project_trusted:
        yield ok("config.project", f"{file} is valid, and its content is trusted")
    else:
        yield ok("config.project", f"{file} is valid, and says nothing that needs trust")


def _hooks(effective: Effective, situation: Situation) -> Iterator[Check]:
    """The programs of the user's own commands are there."""
    from shutil import which

    missing = []
    for event, command in effective.hooks.commands.items():
        program = command[0]
        if which(program, path=search_path(situation.environ)) is None:
            where = effective.sources.get(f"hooks.{event}", "the configuration")
            missing.append(f"{program} of hooks.{event} ({where})")
    if missing:
        said = f"a hook's program cannot be run: {some(missing)}"
        yield warning("hooks", said, "cuekit config show")
    elif effective.hooks.commands:
        yield ok("hooks", f"the programs of {len(effective.hooks.commands)} hooks are there")


def _rules(effective: Effective, situation: Situation) -> Iterator[Check]:
    """The rules that the configuration gives to every task: valid, and none that allows much."""
    from cuekit.service.doctor_tasks import danger
    from cuekit.service.standing_rules import configured

    try:
        found = configured(effective, situation.cwd)
    except CuekitError as error:
        yield failure("rules.configured", error.message, error.hint or "cuekit config show")
        return
    wide = [f"one of {rule.made_by} {why}" for rule in found if (why := danger(rule)) is not None]
    if wide:
        yield warning("rules.configured", f"rules that allow much: {'; '.join(wide[:3])}")


def trust(situation: Situation) -> Iterator[Check]:
    """The record of trust can be read, and what it names is still there as it was."""
    from cuekit.config import trust as record

    home = home_from(situation.environ)
    known = record.read(home)
    gone = [folder for folder in known.folders if not os.path.isdir(folder)]
    changed = _changed(known.contents)
    if gone:
        said = f"trust was given to folders that are gone: {some(gone)}"
        yield warning("trust.gone", said, f"cuekit trust revoke {quote(gone[0])}")
    if changed:
        said = f"trusted once, and other now, so it counts as not trusted: {some(changed)}"
        folder = os.path.dirname(changed[0])
        folder = folder.removesuffix("/.cuekit/agents")
        yield warning("trust.changed", said, f"cuekit trust {quote(folder)}")
    counts = f"{len(known.folders)} folders and {len(known.contents)} files"
    yield ok("trust", f"{counts} are trusted" if known.folders or known.contents else "none given")


def _changed(contents: object) -> list[str]:
    """The files whose content is no more the one that was trusted; those that are gone are not."""
    import hashlib

    from cuekit.config import load
    from cuekit.config.discover import PROJECT_FILE

    changed = []
    for path, entry in dict(contents).items():  # type: ignore[call-overload]
        if os.path.basename(path) == PROJECT_FILE:
            if load.content_state(path, entry.sha256) == "changed":
                changed.append(path)
            continue
        with suppress(OSError), open(path, "rb") as file:
            if hashlib.sha256(file.read(LARGEST)).hexdigest() != entry.sha256:
                changed.append(path)
    return changed


LARGEST = 1 << 20
"""Bytes of a role's file that are looked at; one that may be used is far smaller."""


def profiles(situation: Situation) -> Iterator[Check]:
    """Every role's file is one, and may be used; the folders can be read."""
    from cuekit.config import load
    from cuekit.config import profiles as roles
    from cuekit.config.discover import project_folder, real_folder

    home = home_from(situation.environ)
    project = project_folder(real_folder(situation.cwd))
    folders = [os.path.join(home.root, "agents"), os.path.join(project, ".cuekit", "agents")]
    closed = [f for f in folders if os.path.isdir(f) and not os.access(f, os.R_OK | os.X_OK)]
    for folder in closed:
        yield warning("profiles", f"{folder} cannot be read", f"chmod u+rx {quote(folder)}")
    more: tuple[str, ...] = ()
    with suppress(CuekitError):  # a broken configuration is told of by its own check
        more = tuple(load.effective("/", home, situation.environ).profile_folders)
    found = roles.discover(situation.cwd, home, more)
    for problem in found.problems:
        # only what trust would allow ends so; anything else is the file's own fault
        trusts = problem.endswith("cuekit trust allows it")
        fix = f"cuekit trust {quote(project)}" if trusts else "cuekit agent list"
        yield warning("profiles", problem, fix)
    if not found.problems and not closed:
        own = sum(profile.source != "built-in" for profile in found.found.values())
        yield ok("profiles", f"{len(found.found)} roles, {own} of them not built in")
