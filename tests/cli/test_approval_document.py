"""What docs/approvals.md shows is what the commands print."""

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

from cuekit.store import db
from tests.support.approval_place import Asking, asking, shell

__all__ = ["asking"]

DOCUMENT = Path(__file__).parents[2] / "docs" / "approvals.md"
EXAMPLES = dict(re.findall(r"<!-- (.+?) -->\n```json\n(.*?)```", DOCUMENT.read_text(), re.DOTALL))
ASKED_AT = 1772359200.0  # 2026-03-01T10:00:00Z
TASK = "t_4f9k2m1x"


def example(name: str, place: Asking) -> Any:
    return json.loads(EXAMPLES[name].replace("/home/ann/project", str(place.project)))


def test_an_approval_is_printed_as_documented(asking: Asking) -> None:
    asking.running(TASK)
    asked = asking.ask(TASK, shell("touch x", cwd=str(asking.project), reason="it is missing"))
    before = asking.json("approval", "show", asked)
    asking.json("approval", "allow", asked)
    shown = example("approval allow", asking)
    with closing(db.open_store(asking.home)) as store, db.writing(store):
        store.execute(
            "UPDATE approval SET approval_id = ?, decided_by = 'ann', requested_at = ?,"
            " decided_at = ?",
            (shown["approval_id"], ASKED_AT, ASKED_AT + 20),
        )
    assert asking.json("approval", "list", "--all") == {"approvals": [shown]}
    whole = shown | example("approval show", asking)
    assert asking.json("approval", "show", shown["approval_id"]) == whole
    assert list(before) == list(whole)


def test_a_rule_is_printed_as_documented(asking: Asking) -> None:
    made = asking.json("approval", "rules", "add", "allow", "--command", "git diff *")
    changes = {name: made[name] for name in ("rule_id", "made_by", "made_at")}
    assert made == example("approval rules add", asking) | changes
    tried = asking.json("approval", "rules", "test", "git diff --stat")
    assert tried == example("approval rules test", asking) | {"rules": [made["rule_id"]]}


def test_each_command_and_each_code_is_in_the_document() -> None:
    from tests.cli.test_help import EVERY

    text = DOCUMENT.read_text()
    words = set(re.findall(r"[a-z-]+", text))
    paths = [path.split() for path, _ in EVERY if path.startswith("approval")]
    assert [path for path in paths if not set(path) <= words] == []
    sources = [
        path
        for name in ("approvals", "rules", "offers", "acting")
        for path in (DOCUMENT.parents[1] / "cuekit").glob(f"*/{name}.py")
    ]
    codes = {code for path in sources for code in re.findall(r'code="(\w+)"', path.read_text())} - {
        "usage",
        "short_prefix",
        "ambiguous_id",
    }
    assert {code for code in codes if f"`{code}`" not in text} == set()
