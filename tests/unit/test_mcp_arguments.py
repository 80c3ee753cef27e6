"""The check of a tool's arguments, word by word."""

from typing import Any

import pytest

from cuekit.errors import InvalidInput
from cuekit.mcp_server.arguments import check, given
from cuekit.mcp_server.schemas import TOOLS

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "enum": ["a", "b"]},
        "count": {"type": "integer", "minimum": 1, "maximum": 3},
        "flag": {"type": "boolean"},
        "ids": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
        "more": {},
    },
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({}, "name"),
        ({"name": "c"}, "name"),
        ({"name": None}, "name"),
        ({"name": "a", "count": True}, "count"),
        ({"name": "a", "count": 1.0}, "count"),
        ({"name": "a", "count": 0}, "count"),
        ({"name": "a", "count": 4}, "count"),
        ({"name": "a", "flag": 1}, "flag"),
        ({"name": "a", "flag": "true"}, "flag"),
        ({"name": "a", "ids": []}, "ids"),
        ({"name": "a", "ids": ["x"] * 3}, "ids"),
        ({"name": "a", "ids": ["x", 7]}, "ids[1]"),
        ({"name": "a", "ids": "x"}, "ids"),
        ({"name": "a", "nmae": "b"}, "nmae"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(value: Any, place: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check(SCHEMA, value)
    assert (refused.value.code, refused.value.details) == ("invalid_arguments", {"name": place})


@pytest.mark.parametrize(
    "value",
    [
        {"name": "a"},
        {"name": "b", "count": 3, "flag": False, "ids": ["x"], "more": {"any": [None]}},
    ],
)
def test_what_fits_passes(value: Any) -> None:
    check(SCHEMA, value)


def test_null_is_as_good_as_not_given() -> None:
    assert given({"name": "a", "count": None}) == {"name": "a"}
    assert given(None) == {}


def test_a_near_name_is_offered() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'name'"):
        check(SCHEMA, {"nmae": "a"})


def test_no_tool_takes_what_only_a_person_may_say() -> None:
    names = {name for tool in TOOLS if tool.name != "report" for name in tool.properties}
    assert names.isdisjoint({"as_command", "force", "trust", "lenient", "key", "no_submit"})
