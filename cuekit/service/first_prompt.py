"""`python -m cuekit.service.first_prompt TASK_ID`: types a first prompt that no argument can carry.

The supervisor runs it when the agent's composer waits. Exit status 0 when the prompt was taken.
"""

import os
import sys
from collections.abc import Mapping

from cuekit.errors import CuekitError
from cuekit.paths import home_from
from cuekit.service.launching import PROMPT_FILE
from cuekit.service.steer import type_prompt
from cuekit.store import db as store
from cuekit.store import tasks


def type_first_prompt(environ: Mapping[str, str], task_id: str) -> str:
    """Type the prompt that is in the task's folder; the state of its receipt.

    Raises CuekitError as `type_prompt` does, and `task_not_found`.
    """
    with store.opened(home_from(environ)) as db:
        task = tasks.get(db, task_id)
    if task is None:
        raise CuekitError(f"no task has the id {task_id!r}", code="task_not_found")
    with open(os.path.join(task.task_dir, PROMPT_FILE), encoding="utf-8", newline="") as file:
        prompt = file.read()
    receipt = type_prompt(environ, task_id, prompt)
    if receipt.warnings:
        with store.opened(home_from(environ)) as db:
            tasks.update(db, task_id, {"warnings": [*task.warnings, *receipt.warnings]})
    return receipt.state


def main() -> int:
    """Say in one line what went wrong, for the task's events."""
    try:
        state = type_first_prompt(os.environ, sys.argv[1])
    except (CuekitError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if state not in ("submitted", "queued"):
        sys.stderr.write(f"it was {state}, not submitted\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
