"""What git prints, read: every form, names of every kind, and output that breaks off."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuekit.model import git_output
from cuekit.model.git_output import Change, Stat, WorkTree
from cuekit.service.changes import since_start

OID = "1" * 40
MODES = "100644 100644 100644 " + OID + " " + OID


def test_a_status_is_read_whole() -> None:
    data = (
        f"# branch.oid {OID}\0# branch.head main\0"
        f"1 .M N... {MODES} with  blanks \0"
        f"2 R. N... {MODES} R100 new\nname\0old\tname\0"
        f"u UU N... 100644 {MODES} {OID} both\0"
        "? -dash\0"
    ).encode() + b"? \xff\0"
    paths = [b"with  blanks ", b"new\nname", b"old\tname", b"both", b"-dash", b"\xff"]
    assert git_output.work_tree(data) == WorkTree(OID, paths)
    assert git_output.work_tree(b"# branch.oid (initial)\0") == WorkTree(None, [])


def test_changes_are_read_with_their_kinds() -> None:
    data = b"M\0a\0A\0b\0D\0c\0T\0d\0R087\0e\0f\n\0C100\0g\0h\0"
    assert git_output.name_status(data) == [
        Change(b"a", "update"),
        Change(b"b", "add"),
        Change(b"c", "delete"),
        Change(b"d", "update"),
        Change(b"f\n", "rename", b"e"),
        Change(b"h", "add"),
    ]


def test_numbers_are_summed_over_renames_and_binary_files() -> None:
    data = b"1\t2\ta\tb\0-\t-\tbinary\0" + b"3\t0\t\0old\0" + b"9\t9\tnew\0"
    assert git_output.numstat(data) == Stat(3, 4, 2)


@given(st.binary(max_size=200))
def test_no_output_stops_the_reading(data: bytes) -> None:
    git_output.work_tree(data)
    git_output.name_status(data)
    git_output.numstat(data)


def test_programs_of_a_configuration_are_emptied() -> None:
    names = [
        "core.fsmonitor",
        "filter.lfs.process",
        "filter.a.b=c d.clean",
        "filter.a.b=c d.required",
        "filter.clean",
        "hook.x.command",
        "hook.x.event",
    ]
    assert git_output.without_programs(names) == [
        ("filter.lfs.process", ""),
        ("filter.lfs.required", "false"),
        ("filter.a.b=c d.clean", ""),
        ("filter.a.b=c d.required", "false"),
        ("hook.x.enabled", "false"),
    ]


@pytest.mark.parametrize(
    ("change", "then", "now", "found"),
    [
        (Change(b"a", "update"), [1], [1], []),
        (Change(b"a", "update"), [1], [2], [Change(b"a", "update")]),
        (Change(b"a", "add"), [1], [2], [Change(b"a", "update")]),
        (Change(b"a", "delete"), [1], None, [Change(b"a", "delete")]),
        (Change(b"a", "delete"), None, None, []),
        (None, [1], None, [Change(b"a", "delete")]),
        (None, [1], [2], [Change(b"a", "update")]),
        (None, None, [2], [Change(b"a", "add")]),
        (None, [1], [1], []),
    ],
)
def test_what_had_changed_before_counts_if_it_changed_again(
    change: Change | None, then: list[int] | None, now: list[int] | None, found: list[Change]
) -> None:
    changes = [change] if change else []
    assert since_start(changes, {b"a": then}, {b"a": now}) == found
