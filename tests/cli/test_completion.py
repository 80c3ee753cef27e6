"""`completion install` and `show`: a file of cuekit's own, and nothing else of the user's."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine, cli

__all__ = ["cli"]

PLACES = {
    "bash": ".local/share/bash-completion/completions/cuekit",
    "zsh": ".local/share/cuekit/completion.zsh",
    "fish": ".config/fish/completions/cuekit.fish",
}


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("shell", PLACES)
def test_one_file_is_written_and_no_rc_file(cli: CommandLine, shell: str) -> None:
    (cli.user / ".bashrc").write_text("mine\n")
    out = cli.out("completion", "install", "--shell", shell)
    assert out.startswith(f"wrote {cli.user / PLACES[shell]}\n")
    assert files_below(cli.user) == sorted([".bashrc", PLACES[shell]])
    assert (cli.user / ".bashrc").read_text() == "mine\n"
    shown = cli.out("completion", "show", "--shell", shell)
    assert (cli.user / PLACES[shell]).read_text().strip() == shown.strip()


def test_it_is_written_again_over_its_own(cli: CommandLine) -> None:
    first = cli.json("completion", "install", "--shell", "bash")
    assert cli.json("completion", "install", "--shell", "bash") == first


def test_another_file_is_not_overwritten(cli: CommandLine) -> None:
    path = cli.user / PLACES["fish"]
    path.parent.mkdir(parents=True)
    path.write_text("# by somebody else\n")
    assert cli.error("completion", "install", "--shell", "fish") == (1, "file_exists")
    assert path.read_text() == "# by somebody else\n"


def test_folders_of_the_xdg_variables_are_used(cli: CommandLine, tmp_path: Path) -> None:
    cli.env["XDG_DATA_HOME"] = str(tmp_path / "data with blanks")
    done = cli.json("completion", "install", "--shell", "zsh")
    assert done["path"] == str(tmp_path / "data with blanks" / "cuekit" / "completion.zsh")
    assert done["line"] == f". '{done['path']}'"
    assert done["rc_file"] == str(cli.user / ".zshrc")


def test_a_folder_that_cannot_be_written_is_told(cli: CommandLine) -> None:
    (cli.user / ".config").write_text("a file")
    assert cli.error("completion", "install", "--shell", "fish") == (1, "cannot_write")


def test_bash_completes_with_the_script(cli: CommandLine, tmp_path: Path) -> None:
    import sys

    cli.task("t_aaaaaaaa")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "cuekit").write_text(f'#!/bin/sh\nexec {sys.executable} -m cuekit "$@"\n')
    (programs / "cuekit").chmod(0o755)
    path = cli.json("completion", "install", "--shell", "bash")["path"]
    code = (
        f". {path}; COMP_WORDS=(cuekit task status t_a); COMP_CWORD=3\n"
        '_cuekit_completion cuekit; echo "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        [shutil.which("bash") or "bash", "--norc", "-c", code],
        env={**cli.env, "PATH": f"{programs}:{os.environ['PATH']}"},
        cwd=cli.project,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("t_aaaaaaaa\n", "")


def test_the_shell_is_found(cli: CommandLine) -> None:
    import sys

    done = subprocess.run(
        ["bash", "--norc", "-c", f"{sys.executable} -m cuekit completion show; true"],
        env=cli.env,
        cwd=cli.project,
        capture_output=True,
        text=True,
    )
    assert "_CUEKIT_COMPLETE=bash_complete" in done.stdout
