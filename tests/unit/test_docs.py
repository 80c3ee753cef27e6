"""What the documents say of the program holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cuekit.cli import main, task

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_readme_names_every_command_and_no_other() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition("## Commands")[2].partition("\n\nEvery command")[0]
    verbs: set[str] = set()
    names: set[str] = set()
    for cell in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE):
        first, *more = re.findall(r"`([^`]+)`", cell)  # `task list`, `status`: both of task
        if first.startswith("task "):
            verbs |= {first.removeprefix("task "), *more}
        elif first.startswith("approval "):
            names.add("approval")
        else:
            names |= {name.partition(" ")[0] for name in (first, *more)}
    assert (names | {"task"}, verbs) == (set(main.COMMANDS), set(task.group.table))


def test_agents_md_is_short_enough_to_be_read() -> None:
    assert len((ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()) <= 80


def test_every_module_folder_is_on_the_map() -> None:
    listed = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    folders = [p.parent.name for p in (ROOT / "cuekit").glob("*/__init__.py")]
    assert [name for name in folders if f"`cuekit/{name}/`" not in listed] == []
