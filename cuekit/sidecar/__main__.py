"""`python -m cuekit.sidecar TASK_ID`: what the supervisor of a supervised task starts."""

import asyncio
import logging
import os
import sys
from collections.abc import Mapping

from cuekit.approvals.standing import checker
from cuekit.errors import CuekitError
from cuekit.launch import sidecar_plan
from cuekit.launch.environment import child_environment
from cuekit.paths import home_from
from cuekit.sidecar.run import Run
from cuekit.sidecar.screen import open_pane
from cuekit.store import db as store
from cuekit.store import tasks

PROMPT_FILE = "prompt.md"


def run_sidecar(task_id: str, environ: Mapping[str, str]) -> int:
    """Run the sidecar of a task to its end; the exit status that the supervisor judges.

    Raises CuekitError when the task or its plan is not there.
    """
    home = home_from(environ)
    run_dir = home.run(task_id)
    plan = sidecar_plan.read(run_dir)
    with store.opened(home) as db:
        task = tasks.get(db, task_id)
        if task is None or plan is None:
            raise CuekitError(f"no supervised task has the id {task_id!r}", code="task_not_found")
        _log_into(os.path.join(run_dir, "sidecar.log"))
        with open(os.path.join(task.task_dir, PROMPT_FILE), encoding="utf-8", newline="") as file:
            prompt = file.read()
        environment = child_environment(environ, {"CUEKIT_TASK_ID": task_id}, task.cwd)

        async def main() -> int:
            rules = checker(db, task_id, task.cwd)
            run = Run(plan, task, run_dir, db, open_pane(environ, plan), rules, environment)
            return await run.run(prompt)

        return asyncio.run(main())


def _log_into(path: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    stream = open(descriptor, "a", encoding="utf-8")  # noqa: SIM115 open to the end
    logging.basicConfig(stream=stream, level=logging.WARNING)


def main() -> int:
    """Say in one line what went wrong, since the pane is where a person looks."""
    try:
        return run_sidecar(sys.argv[1], os.environ)
    except CuekitError as error:
        hint = f"\n    try: {error.hint}" if error.hint else ""
        sys.stderr.write(f"cuekit: {error}{hint}\n")
        return error.exit_status
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        logging.getLogger(__name__).exception("the sidecar broke")
        sys.stderr.write(f"cuekit: internal error: {type(error).__name__}: {error}\n")
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
