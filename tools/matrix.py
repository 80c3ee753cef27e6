"""Run the real-agent tests with every version, and write what held where to docs/matrix.md.

Arguments are passed on to pytest; with them, the rows of tests that were not run stay as they are.
The exit status is pytest's own; the table is written when pytest came to its end, failures
included.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree

from tests.support.agent_versions import CHOICE, manifest
from tools.setup import ROOT

PAGE = ROOT / "docs" / "matrix.md"
HEAD = """# What was seen with which agent

Written by `./dev matrix` from the tests in `tests/real`, which run the real programs against a
scripted model. A row is a behaviour, a column an exact version; `-`: does not apply.

"""
RANK = {"yes": 0, "skipped": 1, "no": 2}
"""A behaviour that was tried in several ways is as good as the worst of them."""

Results = Mapping[tuple[str, str], Mapping[str, str]]


def main(arguments: list[str]) -> int:
    """Run the tests and write the page; the exit status."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o777)  # the tests run as another user when they are started by root
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "tests.support.isolate", "--", sys.executable]
        command += ["-m", "pytest", "tests/real", f"--junitxml={report}", *arguments]
        environment = os.environ | {CHOICE: "all", "CUEKIT_REQUIRE_AGENTS": "1"}
        status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        if not report.exists():
            print("matrix: pytest wrote no report, so the page stays as it is", file=sys.stderr)
            return status or 1
        cases = list(ElementTree.parse(report).getroot().iter("testcase"))
        labels = [version.label for version in manifest()]
        text = HEAD + page(results(cases, labels), labels) + inabilities(cases, labels)
        old = PAGE.read_text(encoding="utf-8") if arguments and PAGE.exists() else ""
        PAGE.write_text(joined(old, text), encoding="utf-8")
    print(f"matrix: wrote {PAGE.relative_to(ROOT)}")
    return status


def results(cases: Iterable[ElementTree.Element], labels: list[str]) -> Results:
    """By module and behaviour, the outcome for each version."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for case in cases:
        name, _, parameters = case.get("name", "").partition("[")
        label = next((label for label in labels if label in parameters), None)
        if label is None:
            continue
        row = found.setdefault((case.get("classname", ""), name), {})
        row[label] = max(row.get(label, "yes"), _outcome(case), key=RANK.__getitem__)
    return found


def _outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "no"
    return "skipped" if case.find("skipped") is not None else "yes"


def page(found: Results, labels: list[str]) -> str:
    """The table, in sections by test module."""
    sections: dict[str, list[str]] = {}
    for (module, name), row in found.items():
        heading = re.sub(r"^test_", "", module.rpartition(".")[2]).replace("_", " ")
        words = name.removeprefix("test_").replace("_", " ")
        cells = " | ".join(row.get(label, "-") for label in labels)
        sections.setdefault(heading, []).append(f"| {words} | {cells} |\n")
    head = f"| behaviour | {' | '.join(labels)} |\n|---{'|---' * len(labels)}|\n"
    return "\n".join(f"## {title}\n\n{head}{''.join(rows)}" for title, rows in sections.items())


def joined(old: str, new: str) -> str:
    """The new page, with those rows of the old one that a run of some tests did not make anew."""
    sections: dict[str, dict[str, str]] = {}
    for text in (old, new):
        title = ""
        for line in text.splitlines():
            if line.startswith("## "):
                title = line
            elif title and line.startswith("|"):
                sections.setdefault(title, {})[_row(title, line)] = line
    parts = [f"{title}\n\n" + "\n".join(rows.values()) for title, rows in sections.items()]
    return HEAD + "\n\n".join(parts) + "\n"


def _row(title: str, line: str) -> str:
    """What a row is about: its behaviour, or what cannot be done."""
    cells = line.split(" | ")
    return " | ".join(cells[1:]) if title.endswith("cannot do") else cells[0]


def inabilities(cases: Iterable[ElementTree.Element], labels: list[str]) -> str:
    """What tests say that an agent cannot do (`record_property("cannot", ...)`), with the test."""
    found: dict[tuple[str, str], list[str]] = {}
    for case in cases:
        name = case.get("name", "")
        label = next((label for label in labels if label in name), None)
        for one in case.iter("property"):
            if one.get("name") == "cannot" and label is not None:
                module = case.get("classname", "").rpartition(".")[2]
                evidence = f"{module}.py::{name.partition('[')[0]}"
                found.setdefault((one.get("value", ""), evidence), []).append(label)
    if not found:
        return ""
    rows = [
        f"| {', '.join(sorted(versions))} | {what} | `{evidence}` |\n"
        for (what, evidence), versions in found.items()
    ]
    head = "\n## What an agent cannot do\n\n| version | what | evidence |\n|---|---|---|\n"
    return head + "".join(rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
