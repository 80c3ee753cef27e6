"""`task events`: what happened to a task, in order."""

import time
from collections.abc import Collection, Iterator, Mapping

from cuekit.launch import events
from cuekit.launch.notify import Waiter
from cuekit.service import lookup, settle
from cuekit.service.views import Json
from cuekit.store import tasks

FOLLOW_S = 0.25
RECHECK_S = 1.0


def task_events(
    ref: str,
    environ: Mapping[str, str],
    *,
    since: int = 0,
    kinds: Collection[str] = (),
    follow: bool = False,
) -> Iterator[Json]:
    """The events after a sequence number; with `follow` also those to come, until the task ends.

    `kinds`: only these; empty means all.
    """
    with lookup.settled_store(environ) as (home, db):
        task = lookup.resolve_one(db, ref)
        with Waiter([home.run(task.task_id)] if follow else []) as waiter:
            checked = 0.0
            while True:
                over = task.ended or not follow
                for event in events.read(task.task_dir, since):
                    since = event["seq"]
                    if not kinds or event.get("kind") in kinds:
                        yield event
                if over:
                    return
                waiter.wait(FOLLOW_S)
                if time.monotonic() - checked >= RECHECK_S:
                    settle.reconcile(home, db, environ)
                    checked = time.monotonic()
                task = tasks.get(db, task.task_id) or task
