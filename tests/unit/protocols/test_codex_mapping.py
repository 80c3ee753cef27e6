"""docs/codex-events.md names every message and item that the decoders know."""

from __future__ import annotations

import pytest

from cuekit.protocols import codex_approvals, decode_codex, decode_codex_exec
from tests.support.agent_versions import ROOT

TEXT = (ROOT / "docs" / "codex-events.md").read_text(encoding="utf-8")
SERVER = decode_codex.Decoder()
EXEC = decode_codex_exec.Decoder()
KNOWN = {
    *SERVER._handlers,
    *(name for name in SERVER.items._ends if name != "functionCallOutput"),
    *EXEC._handlers,
    *EXEC._items,
    *codex_approvals.METHODS,
    *codex_approvals.LEGACY,
}


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_the_table_names_what_the_decoder_knows(name: str) -> None:
    assert f"`{name}`" in TEXT
