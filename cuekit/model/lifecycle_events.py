"""The moments of a task at which a user's own command may run, or a notification be given."""

STARTED = "started"
IDLE = "idle"  # a turn is over
APPROVAL_REQUESTED = "approval_requested"
INPUT_REQUIRED = "input_required"  # the child or its agent waits for a person's word
ENDINGS = ("completed", "failed", "cancelled", "timed_out", "blocked")
"""A task's last status; each is an event of its own."""

EVENTS = (STARTED, IDLE, APPROVAL_REQUESTED, INPUT_REQUIRED, *ENDINGS)
NOTIFIED = (
    APPROVAL_REQUESTED,
    INPUT_REQUIRED,
    "completed",
    "failed",
    "timed_out",
    "blocked",
)
"""What a notification is given of where nothing else was configured: what a person waits for."""
