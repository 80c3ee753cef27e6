"""The documents show what the builders build."""

import pytest

from tests.support.agent_tables import BEGIN, DOCS, DOCUMENTS, END, outdated, with_table


def test_the_documents_show_the_tables_that_the_builders_make() -> None:
    assert [path.name for path, _ in outdated()] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_changed_builder_would_be_noticed(name: str) -> None:
    text = (DOCS / name).read_text(encoding="utf-8")
    made = DOCUMENTS[name]()
    assert with_table(text, made.replace("'P'", "'Q'")) != text
    assert with_table(f"a{BEGIN}old{END}z", "T") == f"a{BEGIN}\n\nT\n\n{END}z"
