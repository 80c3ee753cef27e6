"""A task as programs see it: the JSON objects that the commands print."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cuekit.errors import CuekitError, InvalidInput
from cuekit.model.lifecycle import Status
from cuekit.model.times import rfc3339
from cuekit.store.tasks import Task

if TYPE_CHECKING:
    from cuekit.model.capability import Capabilities

Json = dict[str, Any]


class Panes:
    """Which sessions there are; each tmux server is asked once, and only about ended tasks."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._sessions: dict[str, frozenset[str] | None] = {}

    def there(self, task: Task) -> bool | None:
        """Whether the task's tmux session is there; None when its server does not answer."""
        if task.socket_path is None:
            return False
        if not task.ended:
            # Its supervisor lives, as settling has just seen, and is the pane's own process.
            return task.status is not Status.QUEUED
        from cuekit.model.task import tmux_session_name

        if task.socket_path not in self._sessions:
            self._sessions[task.socket_path] = self._ask(task.socket_path)
        sessions = self._sessions[task.socket_path]
        return None if sessions is None else tmux_session_name(task.task_id) in sessions

    def _ask(self, socket_path: str) -> frozenset[str] | None:
        from cuekit.panes.base import TmuxGone
        from cuekit.panes.tmux import Tmux

        try:
            panes = Tmux(socket_path, environ=self._environ).panes()
        except TmuxGone:
            return frozenset()
        except CuekitError:
            return None
        return frozenset(pane.session for pane in panes)


def capabilities_of(agent_kind: str, mode: str) -> "Capabilities | None":
    """What the agent can do in that mode; None for a kind that this cuekit does not know."""
    from cuekit.agents import registry
    from cuekit.model.task import Mode

    try:
        agent = registry.get(agent_kind)
    except InvalidInput:
        if mode != Mode.SUPERVISED:
            return None
        from cuekit.agents.acp import ConfiguredAcp

        agent = ConfiguredAcp(agent_kind)
    found: Capabilities = agent.capabilities(Mode(mode))
    return found


def attach_hint(task: Task, environ: Mapping[str, str]) -> str | None:
    """The command that shows the task's pane; the socket is named only if it is not tmux's own."""
    if task.socket_path is None:
        return None
    from shlex import quote

    from cuekit.model.task import tmux_session_name
    from cuekit.panes.sockets import default_socket

    session = tmux_session_name(task.task_id)
    plain = {name: value for name, value in environ.items() if name != "CUEKIT_TMUX_SOCKET"}
    if task.socket_path == default_socket(plain):
        return f"tmux attach-session -t {session}"
    return f"tmux -S {quote(task.socket_path)} attach-session -t {session}"


def transcript_path(task: Task) -> str:
    """Where the bytes of the task's pane are."""
    return f"{task.task_dir}/transcript.txt"


def status_view(
    task: Task,
    environ: Mapping[str, str],
    panes: Panes | None = None,
    pending: Sequence[Json] = (),
) -> Json:
    """The object of `task status`, `wait`, `cancel` and `finish`; unknown values are null.

    `pending` are the approvals that wait (service/pending.py).
    """
    # The session of a task that has ended is being closed, unless it is to be kept.
    pane_there = (panes or Panes(environ)).there(task) if task.keep or not task.ended else False
    # Nothing can be done any more with an agent that has ended, whatever its kind was able to.
    able = None if task.ended else capabilities_of(task.agent_kind, task.mode)
    running = task.status in (Status.RUNNING, Status.INPUT_REQUIRED)
    may_attach = pane_there if able is None or able.supports_attach else False
    return {
        "task_id": task.task_id,
        "agent_kind": task.agent_kind,
        "model": task.model,
        "mode": task.mode,
        "status": str(task.status),
        "activity": task.activity,
        "activity_since": time_or_null(task.activity_since),
        "activity_source": task.activity_source,
        "activity_detail": task.activity_detail,
        "turn": task.turn,
        "last_turn": task.last_turn,
        "summary": task.summary,
        "reported": reported_view(task),
        "cwd": task.cwd,
        "worktree": worktree_view(task.worktree),
        "session_id": task.session_id,
        "name": task.name,
        "labels": task.labels,
        "agent_session_id": task.agent_session_id,
        "resumed_from": task.resumed_from,
        "created_at": time_or_null(task.created_at),
        "started_at": time_or_null(task.started_at),
        "completed_at": time_or_null(task.completed_at),
        "exit_code": task.exit_code,
        "exit_signal": task.exit_signal,
        "supports_steering": bool(running and able and able.supports_steering),
        "supports_attach": may_attach,
        "supports_approvals": bool(able and able.supports_approvals),
        "attach_hint": attach_hint(task, environ) if may_attach is not False else None,
        "transcript_path": transcript_path(task),
        "pending_approvals": list(pending),
        "warnings": task.warnings,
        "error": error_view(task),
    }


def reported_view(task: Task) -> Json | None:
    """What the child itself has reported last and still holds, with the time of it."""
    if task.reported is None:
        return None
    said = {name: task.reported.get(name) for name in ("type", "message", "payload")}
    return {**said, "reported_at": time_or_null(task.reported.get("at"))}


def error_view(task: Task) -> Json | None:
    """What went wrong: with the task if it has ended, else with its last turn."""
    if task.error is not None:
        empty: Json = {
            "code": "failed",
            "message": "",
            "hint": None,
            "retryable": False,
            "details": {},
        }
        return empty | task.error
    idle = not task.ended and task.activity == "idle"
    if idle and task.last_turn == "failed":
        return CuekitError(
            task.turn_error or "the agent's last turn failed",
            code="turn_failed",
            hint=f"cuekit task steer {task.task_id} MESSAGE goes on with it",
            retryable=True,
            details={"turn": task.turn},
        ).as_json()
    return None


def submit_view(
    task: Task, environ: Mapping[str, str], defaults_applied: Json, *, reused: bool = False
) -> Json:
    """The object of `task submit`; `reused`: an earlier submit with the same key made the task."""
    return {
        "task_id": task.task_id,
        "agent_kind": task.agent_kind,
        "mode": task.mode,
        "status": str(task.status),
        "attach_hint": attach_hint(task, environ),
        "transcript_path": transcript_path(task),
        "task_dir": task.task_dir,
        "worktree": worktree_view(task.worktree),
        "warnings": task.warnings,
        "defaults_applied": defaults_applied,
        "reused": reused,
    }


def worktree_view(worktree: Mapping[str, Any] | None) -> Json | None:
    """The git worktree of a task: its path, its branch, and the checkout that it was made from."""
    if worktree is None:
        return None
    return {name: worktree[name] for name in ("path", "branch", "origin")}


def time_or_null(seconds: float | None) -> str | None:
    """A Unix time as RFC 3339, or null."""
    return None if seconds is None else rfc3339(seconds)
