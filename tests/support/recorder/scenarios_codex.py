"""What is recorded of codex: `codex app-server` (01 to 49) and `codex exec --json` (51 and up)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cuekit.agents import codex as agent
from cuekit.agents.base import LaunchContext
from cuekit.model.task import TaskSpec
from cuekit.protocols import decode_codex, decode_codex_exec
from cuekit.protocols.base import AgentSession, Links, SessionSetup
from cuekit.protocols.codex_appserver import CodexAppServer
from cuekit.protocols.codex_exec import CodexExec
from tests.support.agent_versions import manifest
from tests.support.real_agents import make_agent
from tests.support.recorder.codex_scripts import SCENARIOS
from tests.support.recorder.plug import Decoder, Place, Plug, Scenario

EXEC = "exec"
KEPT_SCHEMA = ("ClientRequest", "ClientNotification", "ServerRequest", "ServerNotification")


def versions() -> Sequence[str]:
    """Those of the manifest, oldest first."""
    return [entry.version for entry in manifest() if entry.name == "codex"]


@contextmanager
def place(version: str, folder: Path) -> Iterator[Place]:
    """A codex of that version with a home, a project and a model of its own."""
    entry = next(e for e in manifest() if (e.name, e.version) == ("codex", version))
    real = make_agent(entry, folder)
    run_dir = folder / "run"
    run_dir.mkdir(mode=0o700)
    try:
        yield Place(real.binary, real.home, real.project, run_dir, real.env, real.model)
    finally:
        real.close()


def setup(where: Place, scenario: Scenario) -> SessionSetup:
    """The setup that the product itself would make."""
    options = dict(scenario.options)
    context = LaunchContext(
        binary=str(where.binary),
        version=None,
        known_flags=frozenset(),
        task_id="task",
        run_dir=str(where.run_dir),
        task_dir=str(where.run_dir),
        cwd=str(where.project),
        prompt_file="",
        folder_trusted=False,
        hook_program=None,
    )
    is_exec = scenario.channel == EXEC
    batch = {"mode": "batch"} if is_exec else {}
    spec = TaskSpec(agent_kind=agent.KIND, objective="", adapter_options={**options, **batch})
    build = agent.stream_arguments if is_exec else agent.supervised_arguments
    argv = (*build(spec, context), *scenario.arguments)
    return SessionSetup(
        argv=argv,
        cwd=str(where.project),
        environment=dict(where.env),
        run_dir=str(where.run_dir),
        options=options,
    )


def session(setup: SessionSetup, links: Links, scenario: Scenario) -> AgentSession:
    """Of app-server, or of a batch run."""
    if scenario.channel == EXEC:
        return CodexExec(setup, links)
    return CodexAppServer(setup, links)


def decoder(scenario: Scenario) -> Decoder:
    """The decoder of the scenario's dialect."""
    if scenario.channel == EXEC:
        return decode_codex_exec.Decoder()
    return decode_codex.Decoder()


def is_reply(message: Any) -> bool:
    """Whether a message of ours answers a request of codex's."""
    return isinstance(message, dict) and "method" not in message and "id" in message


def message_type(message: Any) -> str:
    """The method, or the dotted type, with the type of the item that it is about."""
    if not isinstance(message, dict):
        return "(no object)"
    name = message.get("method") or message.get("type") or "answer"
    holder = message.get("params") if isinstance(message.get("params"), dict) else message
    item = holder.get("item") if isinstance(holder, dict) else None
    return f"{name} {item['type']}" if isinstance(item, dict) and "type" in item else str(name)


def schemas(version: str, where: Place) -> Mapping[str, str]:
    """The generated schema, compacted: methods, and each type's fields or values.

    The whole one has 3.6 to 6.3 MB a version.
    """
    out = where.run_dir / "schema"
    command = [str(where.binary), "app-server", "generate-json-schema", "--out", str(out)]
    subprocess.run(
        [*command, "--experimental"],
        env=dict(where.env),
        check=True,
        capture_output=True,
        timeout=120,
    )
    path = out / "codex_app_server_protocol.schemas.json"
    types = json.loads(path.read_text(encoding="utf-8"))["definitions"]
    flat = {**types, **types.get("v2", {})}
    flat.pop("v2", None)
    compact = {name: _compact(name, value) for name, value in sorted(flat.items())}
    return {"schema.json": json.dumps(compact, indent=0, sort_keys=True) + "\n"}


def _compact(name: str, schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    if name in KEPT_SCHEMA:
        variants = (variant["properties"]["method"] for variant in schema["oneOf"])
        return sorted(word for variant in variants for word in variant.get("enum", ()))
    if "properties" in schema:
        required = set(schema.get("required", ()))
        return {
            field + ("" if field in required else "?"): _type_name(kind)
            for field, kind in schema["properties"].items()
        }
    for many in ("oneOf", "anyOf", "allOf"):
        if many in schema:
            return [_compact("", variant) for variant in schema[many]]
    return _type_name(schema)


def _type_name(schema: Any) -> str:
    if not isinstance(schema, dict):
        return "any"
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    if "enum" in schema:
        return "|".join(map(str, schema["enum"]))
    for many in ("anyOf", "oneOf", "allOf"):
        if many in schema:
            return "|".join(_type_name(variant) for variant in schema[many])
    if schema.get("type") == "array":
        return f"[{_type_name(schema.get('items'))}]"
    kind = schema.get("type", "any")
    return "|".join(kind) if isinstance(kind, list) else str(kind)


PLUG = Plug(
    agent="codex",
    versions=versions,
    place=place,
    setup=setup,
    session=session,
    decoder=decoder,
    scenarios=SCENARIOS,
    is_reply=is_reply,
    message_type=message_type,
    schemas=schemas,
)
