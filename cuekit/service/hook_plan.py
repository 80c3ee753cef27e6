"""Which lifecycle hooks and notifications a task gets, its programs found before it starts."""

import os
import shutil
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from cuekit.config.effective import HookSettings
from cuekit.paths import search_path

LINUX_NOTIFIER = ("notify-send", "--app-name=cuekit", "--")
MAC_NOTIFIER = (
    "osascript",
    *("-e", "on run argv"),
    *("-e", "display notification (item 2 of argv) with title (item 1 of argv)"),
    *("-e", "end run"),
)


class HookPlan(NamedTuple):
    """What the supervisor is told, and what is to be said about it."""

    hooks: dict[str, list[str]]
    time_limit_s: float
    notify: dict[str, Any]
    warnings: list[str]


def planned(settings: HookSettings, environ: Mapping[str, str]) -> HookPlan:
    """The plan of a task; a program that is not there is left out, with a warning."""
    path = search_path(environ)
    hooks: dict[str, list[str]] = {}
    warnings: list[str] = []
    for event, command in settings.commands.items():
        program = _found(command[0], path)
        if program is None:
            warnings.append(f"hooks.{event}: there is no program {command[0]!r}; it will not run")
        else:
            hooks[event] = [program, *command[1:]]
    notify: dict[str, Any] = {}
    if settings.desktop or settings.terminal:
        notify = {"events": list(settings.notified), "terminal": settings.terminal}
    if settings.desktop:
        notifier = MAC_NOTIFIER if sys.platform == "darwin" else LINUX_NOTIFIER
        program = _found(notifier[0], path)
        if program is None:
            warnings.append(f"notifications.desktop: there is no {notifier[0]}; none will be shown")
        else:
            notify["desktop"] = [program, *notifier[1:]]
    return HookPlan(hooks, settings.time_limit_s, notify, warnings)


def _found(program: str, path: str) -> str | None:
    found = shutil.which(program, path=path)
    return os.path.abspath(found) if found else None
