"""The tables, as a list of migrations; each adds and none removes."""

from sqlite3 import Connection

TASKS = """
CREATE TABLE task (
  task_id TEXT PRIMARY KEY,
  agent_kind TEXT NOT NULL,
  model TEXT,
  mode TEXT NOT NULL,
  status TEXT NOT NULL,
  activity TEXT NOT NULL DEFAULT 'unknown',
  activity_since REAL,
  activity_source TEXT,
  activity_detail TEXT,
  turn INTEGER NOT NULL DEFAULT 0,
  last_turn TEXT,
  summary TEXT,
  turn_error TEXT,
  agent_session_id TEXT,
  agent_log_path TEXT,
  cwd TEXT NOT NULL,
  task_dir TEXT NOT NULL,
  session_id TEXT NOT NULL,
  name TEXT,
  labels TEXT NOT NULL DEFAULT '[]',
  spec TEXT NOT NULL,
  argv TEXT NOT NULL DEFAULT '[]',
  binary_version TEXT,
  warnings TEXT NOT NULL DEFAULT '[]',
  timeout_s REAL,
  keep INTEGER NOT NULL DEFAULT 0,
  created_at REAL NOT NULL,
  started_at REAL,
  completed_at REAL,
  updated_at REAL NOT NULL,
  exit_code INTEGER,
  exit_signal INTEGER,
  error TEXT,
  usage TEXT,
  socket_path TEXT,
  pane_id TEXT,
  submitter TEXT,
  supervisor TEXT,
  child TEXT,
  parent_task_id TEXT,
  resumed_from TEXT,
  depth INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX task_by_status ON task (status);
CREATE INDEX task_by_age ON task (created_at DESC, task_id);
CREATE INDEX task_by_session ON task (session_id, created_at DESC);
CREATE UNIQUE INDEX task_by_live_name ON task (name)
  WHERE name IS NOT NULL AND status IN ('queued', 'running', 'input_required');
"""


def _run(db: Connection, script: str) -> None:
    for statement in script.split(";\n"):
        if statement.strip():
            db.execute(statement)


def first(db: Connection) -> None:
    """Tasks."""
    _run(db, TASKS)


MIGRATIONS = (first,)
