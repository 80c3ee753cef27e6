"""Words that pass through tmux and a shell."""

import shutil
import subprocess

import pytest

from cuekit.errors import InvalidInput
from cuekit.panes.octal import passes_untouched, shell_hook, shell_path, tmux_string

PATHS = [
    "/a b",
    "/it's",
    "/#(touch x)",
    "/#{pane_id}",
    "/%H/%%d",
    "/a;",
    "/$HOME `id` \\",
    "/ü",
    "/a\nb",
]
SHELLS = [path for name in ("sh", "bash", "dash") if (path := shutil.which(name))]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("path", PATHS)
def test_a_shell_makes_the_path_of_the_word(shell: str, path: str) -> None:
    word = shell_path(path)
    assert passes_untouched(word)
    assert set(word) <= set("\"$( )'\\0123456789printf")
    done = subprocess.run([shell, "-c", f"printf %s {word}"], capture_output=True, check=True)
    assert done.stdout.decode() == path


def test_bytes_that_are_not_utf_8_come_out_as_they_were() -> None:
    done = subprocess.run(
        ["sh", "-c", f"printf %s {shell_path('/a' + chr(0xDCFF))}"], capture_output=True, check=True
    )
    assert done.stdout == b"/a\xff"


@pytest.mark.parametrize("path", ["", "/a\0b", "/a\n"])
def test_a_path_that_no_word_yields_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput):
        shell_path(path)


def test_a_hook_quotes_its_command_for_tmux() -> None:
    assert tmux_string("it's") == "'it'\\''s'"
    assert shell_hook("echo 'a'") == "run-shell -b 'echo '\\''a'\\'''"


@pytest.mark.parametrize("text", ["a;", "#(id)", "50%", "a\nb", "a\0"])
def test_what_tmux_would_change_does_not_pass(text: str) -> None:
    assert not passes_untouched(text)
