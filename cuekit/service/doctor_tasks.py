"""The doctor's look at the tasks of the store: broken off, reports, event logs, rules, depth."""

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from shlex import quote

from cuekit.errors import CuekitError
from cuekit.model.lifecycle import ACTIVE, ENDS
from cuekit.model.rule import Effect, Rule
from cuekit.paths import Home, home_from
from cuekit.service.doctor_check import Check, Situation, ok, some, warning
from cuekit.store import tasks as store

MOST_TASKS = 500
"""The newest tasks whose folders are looked at; older ones were looked at by earlier calls."""

RECENT_S = 7 * 86400.0
"""A run that was broken off longer ago is not one that anybody waits for."""


def tasks(situation: Situation) -> Iterator[Check]:
    """All of it, on the store as it is once every task that ended unseen was settled."""
    home = home_from(situation.environ)
    if not os.path.exists(home.database):
        yield ok("tasks", "none yet")
        return
    try:
        yield from _of_store(situation, home)
    except (sqlite3.DatabaseError, CuekitError) as error:  # the store's own check says what to do
        yield warning("tasks", f"not looked at, as the store cannot be read: {error}")


def _of_store(situation: Situation, home: Home) -> Iterator[Check]:
    from cuekit.service import doctor_leftovers as leftovers
    from cuekit.service import doctor_worktrees
    from cuekit.service.lookup import settled_store

    broken_off = _without_supervisor(home)
    with settled_store(situation.environ) as (_, db):
        now = time.time()
        yield _active(db, broken_off)
        yield lost(situation)
        yield depth(db)
        yield servers(db, situation)
        yield from leftovers.panes(db, situation, now)
        yield from leftovers.strays(db, home, now)
        yield from leftovers.run_folders(db, home, now)
        yield reports(db, home)
        yield event_logs(db, now)
        yield ignore_files(db)
        yield from rules(db)
        yield from doctor_worktrees.worktrees(db, home, situation)


def _without_supervisor(home: Home) -> set[str]:
    """The active tasks before any was settled: what is ended after that, the doctor has settled."""
    from cuekit.store.db import opened

    with opened(home) as db:
        return {task.task_id for task in store.active(db)}


def _active(db: sqlite3.Connection, before: set[str]) -> Check:
    """How many tasks have not ended; every one was just compared with the evidence."""
    active = [task.task_id for task in store.active(db)]
    ended = sorted(before - set(active))
    settled = f"; settled now, as their runs were over: {some(ended)}" if ended else ""
    if not active:
        return ok("tasks", f"none is active{settled}")
    return ok("tasks", f"{len(active)} active: {some(active)}{settled}")


def lost(situation: Situation) -> Check:
    """Runs that a crash broke off and that nobody went on with."""
    from cuekit.service.recover import lost as all_lost

    found = all_lost(situation.environ, since=time.time() - RECENT_S)
    if not found:
        return ok("lost_tasks", "none was broken off in the last week")
    names = [
        one["task_id"] if one["resumable"] else f"{one['task_id']} (cannot go on)" for one in found
    ]
    return warning(
        "lost_tasks", f"broken off, and not gone on with: {some(names)}", "cuekit recover"
    )


def depth(db: sqlite3.Connection) -> Check:
    """How deep delegation goes now, and children whose parent is gone."""
    from cuekit.service.submit import MOST_DEPTH

    active = store.active(db)
    deepest = max((task.depth for task in active), default=0)
    if deepest > MOST_DEPTH:
        deep = [task.task_id for task in active if task.depth > MOST_DEPTH]
        said = f"deeper than {MOST_DEPTH}, which cuekit does not start: {some(deep)}"
        return warning("delegation", said, f"cuekit task cancel {deep[0]}")
    ids = {task.task_id for task in active}
    orphans = [t.task_id for t in active if t.parent_task_id and t.parent_task_id not in ids]
    if orphans:
        said = f"the parent has ended, and the child runs on: {some(orphans)}"
        return warning("delegation", said, f"cuekit task status {orphans[0]}")
    return ok("delegation", f"{deepest} deep now, of at most {MOST_DEPTH}")


def servers(db: sqlite3.Connection, situation: Situation) -> Check:
    """The tmux servers that hold active tasks answer, whichever one is configured now."""
    from cuekit.panes.base import TmuxGone
    from cuekit.panes.tmux import Tmux
    from cuekit.service.doctor_panes import TMUX_LIMIT_S

    sockets = sorted({str(task.socket_path) for task in store.active(db) if task.socket_path})
    silent = []
    for socket in sockets:
        try:
            Tmux(socket, environ=situation.environ, limit_s=TMUX_LIMIT_S).panes()
        except TmuxGone:
            silent.append(f"{socket} (gone)")
        except CuekitError as error:
            silent.append(f"{socket} ({error.message})")
    if silent:
        said = f"no answer from the server of active tasks: {some(silent)}"
        return warning("sockets", said, "cuekit task list --all")
    return ok("sockets", f"{len(sockets)} servers with active tasks, and each answers")


def reports(db: sqlite3.Connection, home: Home) -> Check:
    """Files that a sandboxed child left, and that nobody has taken up yet."""
    from cuekit.launch import child_reports

    waiting = {}
    for task_id, task_dir in _newest(db):
        count = child_reports.count_waiting(task_dir)
        if count:
            waiting[task_id] = (task_dir, count)

    def take_up() -> str:
        from cuekit.store.db import opened

        taken = 0
        with opened(home) as again:
            for task_id, (task_dir, _) in waiting.items():
                taken += child_reports.drain(again, task_id, task_dir, home.run(task_id))
        return f"{taken} reports were taken up; files without the right token were removed"

    if waiting:
        names = [f"{count} of {task_id}" for task_id, (_, count) in waiting.items()]
        said = f"reports that were left as files and not taken up: {some(names)}"
        return Check("reports", "warning", said, "cuekit doctor --fix", take_up)
    return ok("reports", "none waits as a file")


def event_logs(db: sqlite3.Connection, now: float) -> Check:
    """Logs whose last line was torn by a crash, of tasks that have ended."""
    from cuekit.launch import events
    from cuekit.service.doctor_leftovers import SETTLED_S

    torn = []
    for task_id, task_dir in _newest(db, ended_before=now - SETTLED_S):
        with suppress(OSError):
            if events.torn_bytes(task_dir):
                torn.append((task_id, task_dir))

    def cut() -> str:
        for task_id, task_dir in torn:
            events.mend(task_dir, task_id)
        return f"the torn last line was cut off: {some(name for name, _ in torn)}"

    if torn:
        said = f"the last line of the event log is torn: {some(name for name, _ in torn)}"
        return Check("event_logs", "warning", said, "cuekit doctor --fix", cut)
    return ok("event_logs", "each ends with a whole line")


def ignore_files(db: sqlite3.Connection) -> Check:
    """Each folder of tasks in a project has the file that keeps it out of the repository."""
    missing = []
    for folder in dict.fromkeys(os.path.dirname(task_dir) for _, task_dir in _newest(db)):
        if os.path.basename(os.path.dirname(folder)) != ".cuekit" or not _is_own(folder):
            continue
        if not os.path.lexists(os.path.join(folder, ".gitignore")):
            missing.append(folder)

    def write() -> str:
        from cuekit.files import replace_file

        for folder in missing:
            replace_file(os.path.join(folder, ".gitignore"), b"*\n")
        return f"written: .gitignore in {some(missing)}"

    if missing:
        said = f"git would take up the tasks' files, as .gitignore is missing in {some(missing)}"
        return Check("gitignore", "warning", said, "cuekit doctor --fix", write)
    return ok("gitignore", "the tasks' folders are kept out of git")


def _is_own(folder: str) -> bool:
    """A folder of the user's, reached through no link in its last two parts."""
    try:
        parts = [os.lstat(path) for path in (os.path.dirname(folder), folder)]
    except OSError:
        return False
    import stat

    return all(stat.S_ISDIR(part.st_mode) and part.st_uid == os.getuid() for part in parts)


def rules(db: sqlite3.Connection) -> Iterator[Check]:
    """Always-rules about what is gone, and those that allow more than one would think."""
    from cuekit.store import rules as stored

    found = [rule for rule in stored.all_rules(db) if not _is_over(db, rule)]
    gone = [rule.rule_id for rule in found if _is_gone(db, rule)]
    wide = [(rule.rule_id, why) for rule in found if (why := danger(rule)) is not None]
    if gone:
        said = f"rules for a task or a folder that is gone: {some(gone)}"
        yield warning("rules.gone", said, f"cuekit approval rules remove {gone[0]}")
    if wide:
        said = "; ".join(f"{rule_id} {why}" for rule_id, why in wide[:3])
        rest = f"; and {len(wide) - 3} more" if len(wide) > 3 else ""
        fix = f"cuekit approval rules remove {wide[0][0]}"
        yield warning("rules.wide", f"rules that allow much: {said}{rest}", fix)
    if not gone and not wide:
        yield ok("rules", f"{len(found)}, none of them wide or about what is gone")


def _is_gone(db: sqlite3.Connection, rule: Rule) -> bool:
    if str(rule.scope) == "project":
        return not os.path.isdir(rule.scope_ref)
    return store.get(db, rule.scope_ref) is None


def _is_over(db: sqlite3.Connection, rule: Rule) -> bool:
    """A rule of a task that has ended decides nothing any more, and goes with the task."""
    task = store.get(db, rule.scope_ref) if str(rule.scope) == "task" else None
    return task is not None and task.ended


def danger(rule: Rule) -> str | None:
    """What an allow rule lets through that a person would want to see; None when nothing."""
    if rule.effect is not Effect.ALLOW:
        return None
    if rule.command is not None:
        return _command_danger(rule.command)
    if rule.path is not None:
        place = rule.path.removesuffix("/**")
        if rule.path.endswith("/**") and place in ("", "/", os.path.expanduser("~")):
            return f"allows it anywhere below {place or '/'}"
        return None
    if rule.risk in ("destructive", "network", "unknown"):
        return f"allows all that is {rule.risk}"
    tool = (rule.tool or "").partition(":")
    if rule.risk is None and tool[0] in ("shell", "write", "edit", "fetch", "mcp") and not tool[2]:
        return f"allows every use of {tool[0]}"
    return None


def _command_danger(command: str) -> str | None:
    """A command that would not be taken for a rule today: it runs what its arguments say."""
    from cuekit.approvals.rules import checked_command

    try:
        checked_command(command)
    except CuekitError as error:
        return f"allows {quote(command)}: {error.message}"
    return None


def _newest(db: sqlite3.Connection, ended_before: float | None = None) -> Sequence[tuple[str, str]]:
    """Id and folder of the newest tasks; with a time, of those that had ended by then."""
    states = ENDS if ended_before is not None else (*ACTIVE, *ENDS)
    marks = ", ".join("?" for _ in states)
    rows = db.execute(
        f"SELECT task_id, task_dir FROM task WHERE status IN ({marks})"  # noqa: S608
        " AND (? IS NULL OR completed_at <= ?) ORDER BY created_at DESC LIMIT ?",
        (*states, ended_before, ended_before, MOST_TASKS),
    )
    return [(row[0], row[1]) for row in rows]
