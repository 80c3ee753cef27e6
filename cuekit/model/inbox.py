"""The file that makes a pane's approvals wait in the inbox; apart, for the supervisor's sake."""

INBOX_FILE = "inbox.json"
"""In a run folder: the approvals of this pane go to the inbox, and how long they wait there."""
