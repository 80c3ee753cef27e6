"""What codex is told when a thread is opened or a turn begins: from a setup to parameters.

Names and values of codex 0.133.0, 0.141.0 and 0.171.0.
"""

import json
import os

from cuekit.files import replace_file
from cuekit.protocols.base import SessionSetup
from cuekit.protocols.codex_wire import Json, present

SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
POLICIES = ("untrusted", "on-request", "never")  # on-failure is gone in 0.171.0
DEFAULT_SANDBOX = "workspace-write"
DEFAULT_POLICY = "on-request"
STALL_SECONDS = 300.0


def client(version: str) -> Json:
    """The parameters of initialize; experimentalApi opens backgroundTerminals and excludeTurns."""
    return {
        "clientInfo": {"name": "cuekit", "title": "cuekit", "version": version},
        "capabilities": {"experimentalApi": True},
    }


def permissions(setup: SessionSetup) -> Json:
    """Sandbox and approval policy: asks, in a writable workspace, unless set otherwise."""
    options = setup.options
    if options.get("dangerously_skip_permissions") is True:
        return {"approvalPolicy": "never", "sandbox": "danger-full-access"}
    sandbox, policy = options.get("sandbox"), options.get("ask_for_approval")
    return {
        "approvalPolicy": policy if policy in POLICIES else DEFAULT_POLICY,
        "sandbox": sandbox if sandbox in SANDBOXES else DEFAULT_SANDBOX,
    }


def opening(setup: SessionSetup) -> tuple[str, Json]:
    """Method and parameters that start, resume or fork the thread."""
    params = {
        "cwd": setup.cwd,
        **permissions(setup),
        **present(model=setup.model, developerInstructions=setup.append_system_prompt),
    }
    if setup.add_dirs:
        params["config"] = {"sandbox_workspace_write.writable_roots": list(setup.add_dirs)}
    if setup.resume is None:
        return "thread/start", params
    params |= {"threadId": setup.resume, "excludeTurns": True}
    return ("thread/fork" if setup.fork else "thread/resume"), params


def text_input(parts: list[str]) -> list[Json]:
    """Texts as the input of a turn: one message."""
    return [{"type": "text", "text": "\n\n".join(parts), "text_elements": []}]


def turn(setup: SessionSetup, thread_id: str, parts: list[str]) -> Json:
    """The parameters of turn/start."""
    schema = dict(setup.output_schema) if setup.output_schema is not None else None
    values: Json = {"threadId": thread_id, "input": text_input(parts)}
    return {**values, **present(outputSchema=schema)}


def stall_seconds(setup: SessionSetup) -> float:
    """How long codex may try again without getting on."""
    value = setup.options.get("stall_timeout_s")
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return STALL_SECONDS
    try:
        seconds = float(value)
    except ValueError:
        return STALL_SECONDS
    return seconds if 0 < seconds < float("inf") else STALL_SECONDS


def lacks_account(account: object) -> bool:
    """Whether the answer to account/read says that somebody must sign in first."""
    if not isinstance(account, dict):
        return False
    return account.get("requiresOpenaiAuth") is True and account.get("account") is None


def exec_argv(setup: SessionSetup) -> tuple[str, ...]:
    """The words of `codex exec` with what the setup adds; the prompt comes on standard input.

    Writes the output schema into the run folder, where there is one.
    """
    words: list[str] = []
    if setup.append_system_prompt is not None:
        # A JSON string is a TOML string but for DEL, which TOML wants escaped.
        text = json.dumps(setup.append_system_prompt).replace("\x7f", "\\u007f")
        words += ["-c", f"developer_instructions={text}"]
    if setup.output_schema is not None:
        path = os.path.join(setup.run_dir, "output-schema.json")
        replace_file(path, json.dumps(setup.output_schema).encode())
        words += ["--output-schema", path]
    resume = ("resume", setup.resume) if setup.resume is not None else ()
    return (*setup.argv, *words, *resume, "-")
