"""The scripted model as a program of its own.

    python -m tests.support.model_server --script FILE --port-file FILE

The script is a JSON object: `rules` (a list of {"contains", "reply", "times"}), `queue` (a list
of replies) and `default` (a reply). A reply is a list of steps:
    {"say": TEXT, "chunks": N, "gap": SECONDS}   {"think": TEXT}   {"shell": COMMAND}
    {"call": {"name": NAME, "arguments": {}}}    {"pause": SECONDS}   {"gate": NAME}
    {"fail": MESSAGE}   {"drop": true}   {"http": STATUS, "message": TEXT}
GET /_scripted/requests tells what was asked; POST /_scripted/release?gate=NAME opens a gate.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
from pathlib import Path

from .script import script_from_json
from .server import ModelServer


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.model_server")
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file", type=Path, help="written, whole, once the port is open")
    args = parser.parse_args()
    stop = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stop)
    server = ModelServer(port=args.port)
    data = json.loads(args.script.read_text(encoding="utf-8"))
    server.script = script_from_json(data, server.gate)
    with server:
        if args.port_file:
            part = args.port_file.with_name(f"{args.port_file.name}.{os.getpid()}")
            part.write_text(f"{server.port}\n", encoding="utf-8")
            part.replace(args.port_file)
        print(server.url, flush=True)
        signal.sigwait(stop)


if __name__ == "__main__":
    main()
