"""docs/acp.md says what the recordings show."""

from tests.support.acp_table import DOCUMENT, made
from tests.support.agent_tables import with_table


def test_the_table_of_agents_is_what_the_recordings_show() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert with_table(text, made()) == text
