"""`task status`: what is known of some tasks now."""

from collections.abc import Mapping, Sequence

from cuekit.service import lookup, pending
from cuekit.service.views import Json, Panes, status_view


def status(refs: Sequence[str], environ: Mapping[str, str]) -> list[Json]:
    """The status view of each task that is named, in that order.

    Raises NotFound and InvalidInput as `lookup.resolve` does.
    """
    with lookup.settled_store(environ) as (_, db):
        panes = Panes(environ)
        return [
            status_view(task, environ, panes, pending.of_task(db, task.task_id))
            for task in lookup.resolve_all(db, refs)
        ]
