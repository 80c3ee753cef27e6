"""The prompt that a spec becomes, its quoting, and what no agent can be given."""

import os
import shlex
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuekit.agents.prompt import normalised, render, text_problem
from cuekit.agents.quoting import (
    LARGEST_ARGUMENT,
    UserText,
    fits_argument,
    shell_form,
    single_quoted,
)
from cuekit.model.task import TaskSpec

TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))


@given(TEXT.filter(bool))
def test_an_objective_alone_is_the_whole_prompt(objective: str) -> None:
    assert render(TaskSpec("codex", objective)) == objective


def test_the_sections_have_a_fixed_order() -> None:
    spec = TaskSpec(
        agent_kind="codex",
        objective="Mend the parser.",
        context="It is\nslow.",
        constraints=("no new files", "keep the tests"),
        inputs=("src/parser.py",),
        expected_output="A patch.",
        role="reviewer",
        role_instructions="Look twice.",
    )
    assert render(spec) == (
        "Mend the parser.\n\nContext:\nIt is\nslow.\n\nRole: reviewer\nLook twice.\n\n"
        "Constraints:\n- no new files\n- keep the tests\n\nInputs:\n- src/parser.py\n\n"
        "Expected output:\nA patch."
    )


def test_a_role_without_instructions_is_named() -> None:
    assert render(TaskSpec("codex", "x", role="reviewer")) == "x\n\nRole: reviewer"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("plain\ttext\nwith é, 漢字, \U0001f600, ‏عربي", None),
        ("a\r\nb", None),
        ("a\0b", "NUL (U+0000) at character 2"),
        ("\x1b[31m", "ESC (U+001B) at character 1"),
        ("ab\x07", "BEL (U+0007) at character 3"),
        ("a\x08", "backspace (U+0008) at character 2"),
        ("\x7f", "DEL (U+007F) at character 1"),
        ("a\rb", "a carriage return without a line feed (U+000D) at character 2"),
        ("a\r\n\rb", "a carriage return without a line feed (U+000D) at character 4"),
        ("\x85", "the control character (U+0085) at character 1"),
        ("é\udcff", "invalid UTF-8 at character 2"),
    ],
)
def test_what_no_agent_can_be_given_is_named(text: str, problem: str | None) -> None:
    assert text_problem(text) == problem


def test_line_ends_become_line_feeds_and_a_last_one_goes() -> None:
    assert normalised("a\r\nb\r\n") == "a\nb"
    assert normalised("a\n\n") == "a\n"


@given(TEXT)
def test_single_quotes_hold_any_text(text: str) -> None:
    assert shlex.split(single_quoted(text)) == [text]


@pytest.mark.parametrize("text", ["it's", "", "a\nb", '$(x) `y` \\ "z"', "é\U0001f600"])
def test_a_real_shell_reads_the_quoted_text_back(text: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"printf %s {single_quoted(text)}"], capture_output=True, check=True
    )
    assert done.stdout.decode() == text


def test_only_a_users_words_are_quoted() -> None:
    words = ("/a b/c", "-s", "read-only", UserText("x"))
    assert shell_form(words) == "'/a b/c' -s read-only 'x'"


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of one argument is Linux's")
def test_the_largest_argument_is_the_largest_that_can_be_given() -> None:
    command = [sys.executable, "-c", "import sys; print(len(sys.argv[1]))"]
    done = subprocess.run([*command, "a" * LARGEST_ARGUMENT], capture_output=True, check=True)
    assert int(done.stdout) == LARGEST_ARGUMENT
    with pytest.raises(OSError, match=os.strerror(7)):
        subprocess.run([*command, "a" * (LARGEST_ARGUMENT + 1)], check=False)


@pytest.mark.parametrize(("text", "bytes_"), [("a", 1), ("é", 2), ("漢", 3), ("\U0001f600", 4)])
def test_an_argument_is_measured_in_bytes(text: str, bytes_: int) -> None:
    most = LARGEST_ARGUMENT // bytes_
    assert fits_argument(text * most)
    assert not fits_argument(text * (most + 1))
