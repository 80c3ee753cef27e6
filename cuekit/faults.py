"""The named steps at which a test may kill a submit, to see that nothing is lost or left behind."""

import os
import signal

POINTS = (
    "submit.resolved",
    "submit.row_written",
    "submit.run_folder_made",
    "submit.task_folder_made",
    "submit.worktree_made",
    "submit.files_written",
    "submit.before_session",
    "submit.session_started",
    "submit.child_seen",
)


def point(name: str) -> None:
    """Die here by SIGKILL when the environment variable CUEKIT_FAULT names this step."""
    if os.environ.get("CUEKIT_FAULT") == name:
        os.kill(os.getpid(), signal.SIGKILL)
