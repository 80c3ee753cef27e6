"""What is understood of a command is what real shells do with it, for thousands of odd texts.

Every command in it is a program that notes its arguments. Where `parts` gives words, each shell
must have run exactly these, and nothing else must have happened in its folder.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as some

from cuekit.approvals import shellwords

SHELLS = [name for name in ("bash", "sh", "dash", "zsh") if shutil.which(name)]
NOTE = """\
#!/bin/sh
printf '%s\\0' "$#" "$@" >>"$NOTED"
"""
PIECES = (
    *("note", "note ", "note a", " note b", "a", "b", "-x", "--y=z", "é", "0", ".", "/", ",", ":"),
    *("%", "@", "+", "_", "~", "=", "A=1 ", "^", "!", "#", "*", "?", "[", "]", "{", "}", "(", ")"),
    *("'", '"', "\\", "$", "`", "$a", "${a}", "$(note c)", "`note d`", "$'", '$"', "<", ">", "&"),
    *(
        "|",
        ";",
        "&&",
        "||",
        ";;",
        "|&",
        "\n",
        "\\\n",
        "\t",
        " ",
        "  ",
        "\r",
        "\x00",
        "\xa0",
        "\u200b",
    ),
    *(
        "<<E\nx\nE\n",
        "<<<",
        ">&2",
        "2>&1",
        "if",
        "then",
        "fi",
        "for",
        "in",
        "do",
        "done",
        "{ ",
        " }",
    ),
    *("'a b'", '"c d"', "''", '""', '"\\$"', '"\\a"', "\\'", "'\"'", "function ", "note() ", "! "),
)
JOINTS = ("&&", "||", ";", "|", "\n", "&", "|&", "\n\n", " ; ;")


def texts(most: int) -> some.SearchStrategy[str]:
    return some.lists(some.sampled_from(PIECES), max_size=most).map("".join)


def chain(parts: tuple[str, list[tuple[str, str]]]) -> str:
    first, rest = parts
    return first + "".join(f" {joint} note {text}" for joint, text in rest)


TEXTS = some.one_of(
    texts(12),
    some.tuples(
        texts(2), some.lists(some.tuples(some.sampled_from(JOINTS), texts(2)), max_size=4)
    ).map(chain),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shells")
    for name in ("bin", "work"):
        (folder / name).mkdir()
    (folder / "work" / "a").touch()  # something for a pattern to find
    program = folder / "bin" / "note"
    program.write_text(NOTE)
    program.chmod(0o755)
    return folder


def ran(shell: str, command: str, place: Path) -> list[list[str]]:
    """The argument vectors with which a shell has run the program."""
    noted = place / "noted"
    noted.unlink(missing_ok=True)
    subprocess.run(
        [str(shutil.which(shell)), "-c", command],
        cwd=place / "work",
        env={"PATH": str(place / "bin"), "NOTED": str(noted), "LANG": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=20,
        check=False,
    )
    if not noted.exists():
        return []
    words = os.fsdecode(noted.read_bytes()).split("\0")[:-1]
    vectors = []
    while words:
        count = int(words[0])
        vectors.append(["note", *words[1 : count + 1]])
        words = words[count + 1 :]
    return vectors


def reached(found: tuple[shellwords.SimpleCommand, ...]) -> list[list[str]]:
    """The commands that run when each of them succeeds: none behind `||`."""
    vectors: list[list[str]] = []
    skipping = False
    for part in found:
        if part.before == ";":
            skipping = False
        elif part.before == "||":
            skipping = True
        elif part.before == "&&":
            skipping = False
        if not skipping:
            vectors.append(list(part.words))
    return vectors


@settings(
    max_examples=int(os.environ.get("CUEKIT_SHELL_EXAMPLES", "400")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=TEXTS)
@example(text="a'b'\"c\" '' \"\\$\"")
@example(text="x; note y && note 'z\n' || note never")
@example(text="a\nnote b\n\nnote c;")
def test_shells_run_the_words_that_are_understood(place: Path, text: str) -> None:
    command = f"note {text}"
    found = shellwords.parts(command)
    if found is None or any(part.words[0] != "note" for part in found):
        return
    piped = any(part.before == "|" for part in found)  # then they run side by side, in any order
    for shell in SHELLS:
        expected = reached(found)
        seen = ran(shell, command, place)
        if piped:
            expected, seen = sorted(expected), sorted(seen)
        assert seen == expected, (shell, command)
    assert [path.name for path in (place / "work").iterdir()] == ["a"]


def test_the_comparison_sees_what_it_is_for(place: Path) -> None:
    assert SHELLS
    assert sys.platform in ("linux", "darwin")
    for shell in SHELLS:
        assert ran(shell, "note 'a b' *; note $(note x)", place) == [
            ["note", "a b", "a"],
            ["note", "x"],
            ["note"],
        ]
