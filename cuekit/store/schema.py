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

APPROVALS = """
CREATE TABLE approval (
  approval_id TEXT PRIMARY KEY,
  task_id TEXT NOT NULL REFERENCES task (task_id) ON DELETE CASCADE,
  agent_kind TEXT NOT NULL,
  tool TEXT NOT NULL,
  native_tool TEXT NOT NULL,
  input TEXT NOT NULL,
  reason TEXT,
  cwd TEXT,
  tool_id TEXT,
  risk TEXT NOT NULL,
  options TEXT NOT NULL DEFAULT '[]',
  questions TEXT NOT NULL DEFAULT '[]',
  abilities TEXT NOT NULL DEFAULT '{}',
  native TEXT NOT NULL DEFAULT '{}',
  state TEXT NOT NULL DEFAULT 'pending',
  decision TEXT,
  decided_by TEXT,
  decided_how TEXT,
  requested_at REAL NOT NULL,
  decided_at REAL,
  delivered_at REAL,
  asker TEXT
);
CREATE INDEX approval_by_task ON approval (task_id, requested_at);
CREATE INDEX approval_by_state ON approval (state, requested_at);
CREATE TABLE rule (
  rule_id TEXT PRIMARY KEY,
  effect TEXT NOT NULL,
  scope TEXT NOT NULL,
  scope_ref TEXT NOT NULL,
  agent_kind TEXT,
  tool TEXT,
  command TEXT,
  path TEXT,
  risk TEXT,
  made_by TEXT NOT NULL,
  made_at REAL NOT NULL,
  from_approval TEXT
);
CREATE INDEX rule_by_scope ON rule (scope, scope_ref);
CREATE TABLE inbox (
  message_id INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id TEXT NOT NULL REFERENCES task (task_id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  body TEXT NOT NULL,
  sent_at REAL NOT NULL,
  taken_at REAL,
  receipt TEXT
);
CREATE INDEX inbox_by_task ON inbox (task_id, message_id);
"""

REPORTS = """
ALTER TABLE task ADD COLUMN token_sha256 TEXT;
ALTER TABLE task ADD COLUMN reported TEXT;
CREATE TABLE report (
  report_id INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id TEXT NOT NULL REFERENCES task (task_id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  type TEXT NOT NULL,
  message TEXT NOT NULL,
  payload TEXT,
  key TEXT,
  via TEXT NOT NULL,
  late INTEGER NOT NULL DEFAULT 0,
  reported_at REAL NOT NULL
);
CREATE UNIQUE INDEX report_by_key ON report (task_id, key) WHERE key IS NOT NULL;
"""

KEYS_AND_WORKTREES = """
ALTER TABLE task ADD COLUMN idempotency_key TEXT;
ALTER TABLE task ADD COLUMN idempotency_sha256 TEXT;
ALTER TABLE task ADD COLUMN worktree TEXT;
CREATE UNIQUE INDEX task_by_idempotency ON task (session_id, idempotency_key)
  WHERE idempotency_key IS NOT NULL;
"""


def _run(db: Connection, script: str) -> None:
    for statement in script.split(";\n"):
        if statement.strip():
            db.execute(statement)


def first(db: Connection) -> None:
    """Tasks."""
    _run(db, TASKS)


def second(db: Connection) -> None:
    """Approvals, always-rules, and messages to a task's sidecar."""
    _run(db, APPROVALS)


def third(db: Connection) -> None:
    """What children report, and the hash of the token that lets them."""
    _run(db, REPORTS)


def fourth(db: Connection) -> None:
    """Idempotency keys, and git worktrees."""
    _run(db, KEYS_AND_WORKTREES)


MIGRATIONS = (first, second, third, fourth)
