"""What of the submitting shell's environment reaches the child."""

import pytest

from cuekit.launch.environment import child_environment, utf8_locale
from cuekit.launch.plan import encode_environment, take_environment


def test_what_belongs_to_another_terminal_or_agent_is_dropped() -> None:
    submitting = {
        "PATH": "/bin",
        "OPENAI_API_KEY": "k",
        "TERM": "dumb",
        "TMUX": "a,b,c",
        "TMUX_PANE": "%1",
        "COLUMNS": "80",
        "LINES": "24",
        "CLAUDECODE": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "CLAUDE_CODE_SESSION_ID": "x",
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "CLAUDE_CODE_OAUTH_TOKEN": "t",
        "CODEX_HOME": "/c",
        "CODEX_THREAD_ID": "y",
        "CODEX_SANDBOX_NETWORK_DISABLED": "1",
        "CUEKIT_TASK_ID": "t_other000",
        "CUEKIT_CHILD_TOKEN": "s",
        "CUEKIT_HOME": "/h",
        "LANG": "de_DE.UTF-8",
        "PWD": "/old",
    }
    added = {"CUEKIT_TASK_ID": "t_mine0000"}
    assert child_environment(submitting, added, "/new") == {
        "PATH": "/bin",
        "OPENAI_API_KEY": "k",
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "CLAUDE_CODE_OAUTH_TOKEN": "t",
        "CODEX_HOME": "/c",
        "CUEKIT_HOME": "/h",
        "LANG": "de_DE.UTF-8",
        "CUEKIT_TASK_ID": "t_mine0000",
        "PWD": "/new",
    }


@pytest.mark.parametrize(
    ("environ", "added"),
    [
        ({}, {"LC_CTYPE": "C.UTF-8"}),
        ({"LANG": "C"}, {"LC_CTYPE": "C.UTF-8"}),
        ({"LANG": "en_US.utf8"}, {}),
        ({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, {"LC_ALL": "C.UTF-8"}),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "C"}, {}),
        ({"LC_ALL": "", "LANG": "en_US.UTF-8"}, {}),
    ],
)
def test_there_is_always_a_utf8_locale(environ: dict[str, str], added: dict[str, str]) -> None:
    assert utf8_locale(environ) == added


def test_an_environment_survives_its_file_byte_for_byte_and_the_file_does_not(tmp_path) -> None:  # type: ignore[no-untyped-def]
    environ = {"A": "line\nbreak", "B": "=x=", "C": "\udcff", "D": ""}
    file = tmp_path / "environment"
    file.write_bytes(encode_environment(environ))
    assert take_environment(str(tmp_path)) == environ
    assert not file.exists()
