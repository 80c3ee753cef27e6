"""The file in which an agent itself keeps its state, where it has one (claude has)."""

import os
from typing import Any

from cuekit.model.activity import Activity, Progress, Signal, SignalKind

PATIENCE_S = 0.5  # how long it must disagree: hooks and log tell the same, and more
SEARCH_S = 1.0  # how often the file is looked for
FILE_BYTES = 1 << 16
MOST_FILES = 500

# What the file says tells something only to whom something else is known.
_NEW_TO = {
    SignalKind.AT_REST: (Activity.WORKING,),
    SignalKind.WORKING: (Activity.IDLE, Activity.WAITING_APPROVAL, Activity.WAITING_INPUT),
    SignalKind.APPROVAL_REQUESTED: (Activity.WORKING, Activity.IDLE),
}


class AgentStatus:
    """Reads that file; it is found beside the session log that a hook names."""

    def __init__(self, agent: Any) -> None:
        self._folder_of = getattr(agent, "status_folder", None)
        self._signal_of = getattr(agent, "status_signal", None)
        self._folder: str | None = None
        self._session: str | None = None
        self._path: str | None = None
        self._searched = 0.0
        self._since: float | None = None

    def follow(self, log_path: str, session_id: str | None) -> None:
        """Take the session whose log this is."""
        if self._folder_of is not None and session_id != self._session:
            self._folder, self._session = self._folder_of(log_path), session_id
            self._path, self._searched = None, 0.0

    def news(self, progress: Progress, now: float) -> list[Signal]:
        """What the file says, once it has said another thing than is known for a moment."""
        signal = self._current(now)
        new = (
            signal is not None
            and signal.at > progress.since
            and progress.activity in _NEW_TO.get(signal.kind, ())
        )
        if signal is None or not new:
            self._since = None
            return []
        if self._since is None:
            self._since = now
        return [signal] if now - self._since >= PATIENCE_S else []

    def _current(self, now: float) -> Signal | None:
        if self._folder is None:
            return None
        signal = self._read(self._path)
        if signal is None and now - self._searched >= SEARCH_S:
            self._searched = now
            self._path = next((p for p in self._candidates() if self._read(p) is not None), None)
        return signal

    def _candidates(self) -> list[str]:
        folder = self._folder or ""
        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
        except OSError:
            return []
        return [os.path.join(folder, name) for name in names[:MOST_FILES]]

    def _read(self, path: str | None) -> Signal | None:
        if path is None or self._signal_of is None:
            return None
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(descriptor, "rb") as file:
                signal = self._signal_of(file.read(FILE_BYTES), self._session)
        except OSError:
            return None
        return signal if isinstance(signal, Signal) else None
