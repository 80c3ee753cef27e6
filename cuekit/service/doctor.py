"""The doctor: looks at everything that a task needs, side by side, each look with a limit."""

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from cuekit.errors import CuekitError
from cuekit.service.doctor_check import Check, Probe, Situation, failure, warning

LIMIT_S = 30.0
"""Seconds for all looks together; an agent's `--help` takes a second or two, more under load."""


def examine(
    environ: Mapping[str, str], cwd: str, *, mend: bool = False, limit_s: float = LIMIT_S
) -> dict[str, Any]:
    """`{ok, checks}`, where ok means that no check is a failure.

    With `mend` what is safe is mended first; such a check then tells what was done.
    """
    situation = Situation(environ, cwd)
    checks = look(all_probes(), situation, limit_s)
    if mend:
        checks = [_mended(check) for check in checks]
    return {
        "ok": all(check.state != "failure" for check in checks),
        "checks": [check.as_json() for check in checks],
    }


def all_probes() -> dict[str, Probe]:
    """Every look, by name, in the order of the report."""
    from cuekit.service import (
        doctor_agents,
        doctor_config,
        doctor_mcp,
        doctor_panes,
        doctor_store,
        doctor_tasks,
    )

    return {
        "tmux": doctor_panes.tmux,
        "terminal": doctor_panes.terminal,
        "store": doctor_store.store,
        "files": doctor_store.files,
        "config": doctor_config.config,
        "trust": doctor_config.trust,
        "profiles": doctor_config.profiles,
        "mcp": doctor_mcp.mcp,
        "tasks": doctor_tasks.tasks,
        "agents": doctor_agents.agents,
    }


def look(probes: Mapping[str, Probe], situation: Situation, limit_s: float) -> list[Check]:
    """Run the looks side by side; one that does not end in time is a warning.

    The threads are daemons: a look that hangs (a dead network file system) holds nobody up.
    """
    found: dict[str, list[Check]] = {}
    threads = [
        threading.Thread(target=_run, args=(name, probe, situation, found), daemon=True)
        for name, probe in probes.items()
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + limit_s
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    report: list[Check] = []
    for name in probes:
        late = [warning(name, f"no answer within {limit_s:g} s", "cuekit doctor, once more")]
        report += found.get(name, late)
    return report


def _run(name: str, probe: Probe, situation: Situation, found: dict[str, list[Check]]) -> None:
    try:
        checks: Sequence[Check] = list(probe(situation))
    except CuekitError as error:
        checks = [failure(name, error.message, error.hint)]
    except Exception as error:  # one look that breaks must not hide the others
        said = f"the look itself failed: {type(error).__name__}: {error}"
        checks = [failure(name, said, "report it, with the output of cuekit doctor")]
    found[name] = list(checks)


def _mended(check: Check) -> Check:
    if check.mend is None or check.state == "ok":
        return check
    try:
        done = check.mend()
    except (CuekitError, OSError) as error:
        return Check(check.name, check.state, f"{check.detail}; not mended: {error}", check.fix)
    return Check(check.name, "ok", f"mended: {done}")
