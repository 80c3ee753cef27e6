"""The session against an agent that somebody else's package speaks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuekit.model.approval import DecisionKind
from cuekit.model.event import EventKind
from tests.unit.protocols.test_acp_rules import Bench, one_turn

PEER = Path(__file__).with_name("acp_peer.py")


@pytest.mark.parametrize(
    ("decision", "outcome", "said", "changed"),
    [
        (DecisionKind.ALLOW, "completed", "once", 1),
        (DecisionKind.ALLOW_ALWAYS, "completed", "once", 1),
        (DecisionKind.DENY, "completed", "no", 0),
        (DecisionKind.CANCEL_RUN, "interrupted", None, 0),
    ],
)
def test_a_turn_with_a_request_for_leave(
    decision: DecisionKind, outcome: str, said: str | None, changed: int, tmp_path: Path
) -> None:
    bench = Bench("", tmp_path, kind="mine", program=PEER)
    one_turn(bench, decision)
    (ended,) = bench.of(EventKind.TURN_COMPLETED)
    assert ended["outcome"] == outcome
    whole = [v["text"] for v in bench.of(EventKind.ASSISTANT_TEXT) if not v["partial"]]
    assert whole == ["I will " + "x" * 600_000, *([said] if said else [])]
    changes = bench.of(EventKind.FILE_CHANGE)
    assert [(c["path"], c["change"], c["diff"]) for c in changes] == [
        ("/p/a.txt", "update", "@@ -1 +1 @@\n-a\n+b\n")
    ] * changed
    assert [request.input for request in bench.requests] == [{"command": "make"}]
