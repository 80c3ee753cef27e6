"""`python -I -S hook_runner.py RUN_DIR EVENT`: what one event does of a task that has ended.

For a task that another process settled in the place of its supervisor.
"""

import os
import sys

# Last, so that nothing beside the package can stand before the standard library.
sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

import time

from cuekit.launch import hooks, plan
from cuekit.paths import Home
from cuekit.store import db as store
from cuekit.store import tasks


def main(run_dir: str, event: str) -> int:
    """Run it; 1 when the task is not known any more."""
    found = plan.read(run_dir)
    if found is None:
        return 1
    with store.opened(Home(found.home)) as db:
        task = tasks.get(db, found.task_id)
    if task is None:
        return 1
    hooks.run(found, hooks.told(event, task, None, time.time()), os.environ)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2]))
