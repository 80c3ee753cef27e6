"""From files to settings: discovery, precedence, trust, and every way for a file to be wrong."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuekit.agents.registry import KINDS as ALL_KINDS
from cuekit.config import load
from cuekit.config.document import LARGEST_FILE, read_bytes, read_document
from cuekit.config.effective import (
    AdapterSettings,
    Effective,
    HookSettings,
    MultiplexerSettings,
    SubmitDefaults,
)
from cuekit.config.schema import ADAPTER, PLAIN, SECTIONS, settings_of
from cuekit.config.template import KINDS, config_text
from cuekit.errors import InvalidInput
from tests.unit.config.conftest import Project

WHOLE = """\
submit:
  agent: codex
  model: gpt-5
  mode: batch
  timeout: 1h30m
  keep: true
  session: nightly
adapters:
  codex:
    permissions: bypass
    command: [tools/codex, --verbose]
    options: {sandbox: danger-full-access}
multiplexer:
  backend: tmux
  socket_path: /run/user/1000/cuekit.sock
  width: 100
  height: 40
"""


def problem(project: Project, text: str | bytes) -> str:
    """What is said about a file with this content, less the file's folder."""
    project.write(text)
    with pytest.raises(InvalidInput) as raised:
        project.effective()
    assert raised.value.code == "config_invalid"
    assert raised.value.exit_status == 2
    assert "\n" not in raised.value.message
    return raised.value.message.replace(f"{project.folder}/", "")


def test_without_a_file_everything_is_built_in(project: Project) -> None:
    assert project.effective() == Effective()


def test_without_a_file_nothing_heavy_is_loaded(project: Project) -> None:
    program = (
        "import sys; from cuekit.config.load import effective; from cuekit.config import safety, "
        "trust; from cuekit.paths import Home; effective(sys.argv[1], Home(sys.argv[2]), {}); "
        "print([name for name in ('yaml', 'pydantic', 'hashlib', 'difflib', 'click') "
        "if name in sys.modules])"
    )
    argv = [sys.executable, "-c", program, str(project.folder), project.home.root]
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_trusted_file_counts_whole(project: Project) -> None:
    project.write(WHOLE)
    project.trust()
    found = project.effective()
    assert (found.submit, found.adapters, found.multiplexer) == (
        SubmitDefaults("codex", "gpt-5", "batch", 5400.0, True, "nightly"),
        {
            "codex": AdapterSettings(
                "bypass",
                (f"{project.folder}/tools/codex", "--verbose"),
                {"sandbox": "danger-full-access"},
            )
        },
        MultiplexerSettings("tmux", None, "/run/user/1000/cuekit.sock", 100, 40),
    )
    assert (found.ignored, found.project_trusted) == (None, True)
    assert found.sources["submit.agent_kind"] == f"{project.file}:2"
    assert found.sources["adapters.codex.options.sandbox"] == f"{project.file}:12"


def test_an_untrusted_file_counts_where_it_widens_nothing(project: Project) -> None:
    project.write(WHOLE)
    found = project.effective()
    assert (found.submit, found.adapters, found.multiplexer) == (
        SubmitDefaults("codex", "gpt-5", None, 5400.0, True, "nightly"),
        {},
        MultiplexerSettings(width=100, height=40),
    )
    assert found.ignored == (
        f"ignored in {project.file}, as you have not trusted it: adapters.codex.command, "
        "adapters.codex.options.sandbox, adapters.codex.permissions, multiplexer.socket_path, "
        "submit.mode (to allow: cuekit trust)"
    )
    assert not project.effective("").project_trusted


def test_any_change_of_the_content_ends_its_trust(project: Project) -> None:
    project.write(WHOLE)
    project.trust()
    project.write(WHOLE + "# one more line\n")
    found = project.effective()
    assert found.ignored is not None
    assert "as its content changed since you trusted it" in found.ignored
    project.write(WHOLE)
    assert project.effective().ignored is None


def test_the_users_file_is_trusted_and_lies_below_the_projects(project: Project) -> None:
    project.write_user(
        "submit: {agent_kind: shell, model: mine}\n"
        "adapters:\n  codex: {permissions: prompt, command: ~/bin/codex}\n"
        "multiplexer: {socket_path: /run/mine}\n"
    )
    project.write("submit: {model: theirs}\nadapters: {codex: {permissions: bypass}}\n")
    found = project.effective()
    assert found.submit == SubmitDefaults("shell", "theirs")
    own = (f"{project.user_home}/bin/codex",)
    assert found.adapters == {"codex": AdapterSettings("prompt", own)}
    assert found.multiplexer == MultiplexerSettings(socket_path="/run/mine")
    assert found.sources["submit.agent_kind"] == f"{project.home.config}:1"
    assert found.sources["adapters.codex.permissions"] == f"{project.home.config}:3"
    project.trust()
    assert project.effective().adapter("codex").permissions == "bypass"


def test_a_hook_takes_the_place_of_the_users_event_by_event(project: Project) -> None:
    project.write_user("hooks: {completed: mine, failed: [~/mine, x], time_limit: 3s}\n")
    project.write("hooks: {completed: [tools/theirs, --all], idle: theirs}\n")
    before = project.effective().hooks
    project.trust()
    effective = project.effective()
    failed = (f"{project.user_home}/mine", "x")
    assert before == HookSettings(
        commands={"completed": ("mine",), "failed": failed}, time_limit_s=3.0
    )
    assert effective.hooks == HookSettings(
        commands={
            "completed": (f"{project.folder}/tools/theirs", "--all"),
            "failed": failed,
            "idle": ("theirs",),
        },
        time_limit_s=3.0,
    )
    assert effective.sources["hooks.completed"].startswith(f"{project.file}:1")


def test_an_untrusted_file_gives_no_notification_and_no_time_to_a_hook(project: Project) -> None:
    project.write("hooks: {time_limit: 9h}\nnotifications: {terminal: true, events: [idle]}\n")
    effective = project.effective()
    assert effective.hooks == HookSettings()
    assert effective.ignored is not None
    assert "hooks.time_limit, notifications.events, notifications.terminal" in effective.ignored


def test_a_sockets_name_takes_the_place_of_the_users_path(project: Project) -> None:
    project.write_user("multiplexer: {socket_path: /run/mine}\n")
    project.write("multiplexer: {socket_name: work}\n")
    assert project.effective().multiplexer == MultiplexerSettings(socket_name="work")


def test_the_environments_socket_goes_before_the_files(project: Project) -> None:
    project.write("multiplexer: {socket_name: work}\n")
    environ = {"CUEKIT_TMUX_SOCKET": "/run/other"}
    found = load.effective(str(project.folder), project.home, environ)
    assert found.multiplexer == MultiplexerSettings(socket_path="/run/other")
    assert found.sources == {"multiplexer.socket_path": "CUEKIT_TMUX_SOCKET"}


def test_a_file_is_found_upwards_as_far_as_the_git_root(project: Project) -> None:
    below = project.folder / "a" / "b"
    below.mkdir(parents=True)
    project.write("submit: {model: root}\n")
    assert project.effective("a/b").submit.model == "root"
    (project.folder / "a" / ".cuekit.yaml").write_text("submit: {model: nearer}\n")
    assert project.effective("a/b").submit.model == "nearer"


def test_a_git_file_ends_the_search_like_a_git_folder(project: Project) -> None:
    worktree = project.folder / "worktree" / "below"
    worktree.mkdir(parents=True)
    (project.folder / "worktree" / ".git").write_text("gitdir: elsewhere\n")
    project.write("submit: {model: root}\n")
    assert project.effective("worktree/below") == Effective()


def test_outside_of_git_only_the_folder_itself_is_looked_into(project: Project) -> None:
    (project.folder / ".git" / "HEAD").unlink()  # an empty folder is no repository
    (project.folder / "below").mkdir()
    project.write("submit: {model: root}\n")
    assert project.effective().submit.model == "root"
    assert project.effective("below") == Effective()


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "---\n", "submit:\nadapters:\n", "{}"])
def test_a_file_may_say_nothing(project: Project, text: str) -> None:
    project.write(text)
    assert project.effective() == Effective(project_file=str(project.file))


def test_a_byte_order_mark_and_windows_line_ends_are_taken(project: Project) -> None:
    project.write(b"\xef\xbb\xbfsubmit:\r\n  model: x\r\n")
    assert project.effective().sources == {"submit.model": f"{project.file}:2"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("submits: {}\n", "1: submits: unknown name; did you mean 'submit'?"),
        (
            "submit:\n  model: x\n  modle: y\n",
            "3: submit.modle: unknown name; did you mean 'model'?",
        ),
        ("submit:\n  agentkind: codex\n", "2: submit.agentkind: unknown name; did you mean "),
        (
            "hook:\n  completed: x\n",
            "1: hook: unknown name; did you mean 'hooks'?",
        ),
        (
            "hooks:\n  completed: [make]\n  done: x\n",
            "3: hooks.done: unknown name; there is started, idle,",
        ),
        ("hooks: {idle: []}\n", "1: hooks.idle: expected the program, or a list of it"),
        (
            "notifications: {events: [idle, done]}\n",
            "1: notifications.events: expected a list of started, idle,",
        ),
        (
            "limits: {live_tasks: 0}\n",
            "1: limits.live_tasks: expected 1 to 10000, not 0",
        ),
        (
            "adapters:\n  codex:\n    permission: prompt\n",
            "3: adapters.codex.permission: unknown name; did you mean 'permissions'?",
        ),
        (
            "adapters:\n  Codex: {}\n",
            "2: adapters.Codex: no agent kind; did you mean 'codex'?",
        ),
        (
            "adapters:\n  claude_code: {}\n",
            "2: adapters.claude_code: no agent kind; did you mean 'claude-code'?",
        ),
        ("submit: {agent: cursor}\n", "1: submit.agent: no agent kind 'cursor'; "),
        (
            "adapters:\n  codex:\n    permissions: promt\n",
            "3: adapters.codex.permissions: expected 'prompt' or 'bypass', not 'promt'",
        ),
        (
            "adapters:\n  codex:\n    permissions: no\n",
            "3: adapters.codex.permissions: expected 'prompt' or 'bypass', not false",
        ),
        (
            "adapters:\n  codex:\n    options:\n      sandbox: readonly\n",
            "4: adapters.codex.options.sandbox: sandbox takes ",
        ),
        (
            "adapters:\n  codex:\n    options:\n      sandbx: read-only\n",
            "4: adapters.codex.options.sandbx: no option 'sandbx'; did you mean 'sandbox'?",
        ),
        ("adapters: {codex: {options: [a]}}\n", "1: adapters.codex.options: expected names with "),
        ("adapters: {codex: prompt}\n", "1: adapters.codex: expected names with values, not "),
        ("adapters: {codex: {command: ''}}\n", "1: adapters.codex.command: must not be empty"),
        ("adapters: {codex: {command: 3}}\n", "1: adapters.codex.command: expected the program"),
        ("submit: {mode: supervise}\n", "1: submit.mode: expected 'interactive' or 'batch' or "),
        (
            "submit: {timeout: 30}\n",
            "1: submit.timeout: expected a duration with its unit (90s, 30m, 2h), not 30",
        ),
        ("submit: {timeout: 30x}\n", "1: submit.timeout: not a duration: '30x'; write 90s, "),
        ("submit: {timeout: 0s}\n", "1: submit.timeout: must be longer than nothing"),
        ("submit: {keep: 'yes'}\n", "1: submit.keep: expected true or false, not 'yes'"),
        ("submit: {model: 5}\n", "1: submit.model: expected text (put it into quotes), not 5"),
        ("submit: {model: ' '}\n", "1: submit.model: must not be empty"),
        ('submit: {model: "a\\nb"}\n', "1: submit.model: must be one line without control "),
        (
            "submit: {agent: pi, agent_kind: pi}\n",
            "1: submit.agent: give agent_kind or agent, not both",
        ),
        ("submit: [model]\n", "1: submit: expected names with values, not a list"),
        ("multiplexer: {backend: zellij}\n", "1: multiplexer.backend: expected 'tmux', not "),
        ("multiplexer: {width: 5}\n", "1: multiplexer.width: expected 20 to 1000, not 5"),
        ("multiplexer: {height: 5000}\n", "1: multiplexer.height: expected 5 to 1000, not 5000"),
        ("multiplexer: {width: 100.5}\n", "1: multiplexer.width: expected a whole number, not "),
        ("multiplexer: {width: true}\n", "1: multiplexer.width: expected a whole number, not true"),
        ("multiplexer: {socket_name: a/b}\n", "1: multiplexer.socket_name: expected letters, "),
        ("multiplexer: {socket_name: ..}\n", "1: multiplexer.socket_name: expected letters, "),
        ("multiplexer: {socket_path: a}\n", "1: multiplexer.socket_path: expected an absolute "),
        (f"multiplexer: {{socket_path: /{'a' * 200}}}\n", "1: multiplexer.socket_path: longer "),
        (
            "multiplexer:\n  socket_name: a\n  socket_path: /a\n",
            "3: multiplexer.socket_path: give socket_name or socket_path",
        ),
        ("submit:\n  model: a\n  keep: 5\n  mode: x\n", "3: submit.keep: expected true or false"),
        ('submit: {"a\\nb": 1}\n', "1: submit.'a\\nb': unknown name; "),
        ("- submit\n", "1: expected names with values, `name: value`"),
        ("submit\n", "1: expected names with values, `name: value`"),
        ("submit: {model: a}\nsubmit: {}\n", "2: 'submit' was already given in line 1"),
        ("submit:\n  model: a\n  model: b\n", "3: 'model' was already given in line 2"),
        ("submit: {model: a\n", "2: is not YAML: "),
        ("submit:\n\tmodel: a\n", "2: is not YAML: "),
        ("submit: &a {}\n", "1: anchors (&) and aliases (*) are not taken here"),
        ("submit: {}\nadapters: *a\n", "2: anchors (&) and aliases (*) are not taken here"),
        ("submit: !!python/name:os.system x\n", "1: the tag !!python/name:os.system is not taken"),
        ("submit: !x {}\n", "1: the tag !x is not taken here"),
        ("submit: {<<: {model: a}}\n", "1: a name must be plain text; put it into quotes"),
        ("5: x\n", "1: a name must be plain text; put it into quotes"),
        ("? [a]\n: x\n", "1: a name must be plain text; put it into quotes"),
        ("submit: {model: 2026-01-01}\n", "1: a date is not taken here: '2026-01-01'; quote it"),
        ("submit: {timeout: 1:30}\n", "1: not a plain decimal number: '1:30'; quote it"),
        ("multiplexer: {width: .inf}\n", "1: not a plain decimal number: '.inf'; quote it"),
        ("submit: {}\n---\nsubmit: {}\n", "2: holds more than one document (`---`)"),
        ("submit: {model: a}\n\x07\n", "2: holds a character that YAML does not allow"),
        (b"submit: {}\n# caf\xe9\n", "2: is not UTF-8 text"),
        (b"\xff\xfes\0u\0", "1: is not UTF-8 text"),
        ("a: " + "[" * 5000, "1: is nested deeper than 40 levels"),
        ("a: [" + "1," * 20_000 + "]", "1: holds more than 10000 values"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(
    project: Project, text: str | bytes, said: str
) -> None:
    assert problem(project, text).startswith(f".cuekit.yaml:{said}")


def test_all_problems_are_in_the_details(project: Project) -> None:
    project.write("submit:\n  keep: 5\n  mode: x\n")
    with pytest.raises(InvalidInput) as raised:
        project.effective()
    assert raised.value.message.endswith("(and 1 more)")
    assert [entry["line"] for entry in raised.value.details["problems"]] == [2, 3]


def test_the_first_wrong_line_is_named_whatever_is_wrong_with_it(project: Project) -> None:
    said = problem(project, "adapters:\n  codex:\n    permissions: x\nsubmit:\n  modle: a\n")
    assert said.startswith(".cuekit.yaml:3: adapters.codex.permissions")


def test_a_wrong_user_file_is_named_too(project: Project) -> None:
    project.write_user("submit: {modle: a}\n")
    with pytest.raises(InvalidInput, match=r"config\.yaml:1: submit\.modle: unknown name"):
        project.effective()


def test_a_user_file_that_everybody_can_write_to_is_refused(project: Project) -> None:
    project.write_user("submit: {}\n")
    os.chmod(project.home.config, 0o666)
    with pytest.raises(InvalidInput, match="every user can write to it") as raised:
        project.effective()
    assert raised.value.code == "config_invalid"


SCRAPS = (
    *("&a ", "*a", "!!int ", "!", "%", "---\n", "...\n", "? ", "- ", "[", "]", "{", "}", "|", ">"),
    *("'", '"', "\\", "\n", "\t", "\0", "\x85", "\u2028", "<<: ", "~", "null", "1e5", "0x1f", "="),
    *("2001-01-01", "%YAML 3.0\n", "#", ": ", ",", "@", "`", "\\ud800", "!!binary ", "!!set "),
    *("1_000", ".nan", "190:20:30", "yes", "\x1b[31m"),
)


@given(st.lists(st.tuples(st.integers(0, len(WHOLE)), st.sampled_from(SCRAPS)), max_size=4))
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_a_file_holds_it_is_taken_or_refused_in_one_line(
    project: Project, changes: list[tuple[int, str]]
) -> None:
    text = WHOLE
    for place, scrap in changes:
        text = text[:place] + scrap + text[place:]
    project.write(text)
    try:
        project.effective()
    except InvalidInput as error:
        refused = error
    else:
        return
    assert refused.code == "config_invalid"
    assert "\n" not in refused.message
    assert refused.message.startswith(f"{project.file}:")


def test_a_file_that_is_none_is_refused(project: Project) -> None:
    project.file.mkdir()
    with pytest.raises(InvalidInput, match=r"\.cuekit\.yaml: is not a regular file"):
        project.effective()
    project.file.rmdir()
    os.mkfifo(project.file)
    with pytest.raises(InvalidInput, match=r"\.cuekit\.yaml: is not a regular file"):
        project.effective()
    project.file.unlink()
    project.file.symlink_to("nowhere")
    with pytest.raises(InvalidInput, match=r"\.cuekit\.yaml: is a symbolic link to nothing"):
        project.effective()
    project.file.unlink()
    project.file.symlink_to(".cuekit.yaml")
    with pytest.raises(InvalidInput, match=r"\.cuekit\.yaml: cannot be read: Too many levels"):
        project.effective()


def test_a_socket_in_the_files_place_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(project.file.parent)  # a socket's path is short
        listener.bind(project.file.name)
        with pytest.raises(InvalidInput, match=r"\.cuekit\.yaml: cannot be read: No such device"):
            project.effective()


def test_an_endless_or_a_large_file_is_refused(project: Project) -> None:
    project.file.symlink_to("/dev/zero")
    with pytest.raises(InvalidInput, match="is not a regular file"):
        project.effective()
    project.file.unlink()
    project.write(b"#" * (LARGEST_FILE + 1))
    with pytest.raises(InvalidInput, match=f"is larger than {LARGEST_FILE} bytes"):
        project.effective()
    project.write(b"#" * LARGEST_FILE)
    assert project.effective().sources == {}


def test_a_file_without_permission_to_read_is_refused(project: Project) -> None:
    """As another user where the tests run as root, whom no permission stops."""
    project.write("submit: {}\n")
    project.file.chmod(0)
    user = os.geteuid()
    try:
        if user == 0:
            os.seteuid(65534)
        with pytest.raises(
            InvalidInput, match=r"\.cuekit\.yaml: cannot be read: Permission denied"
        ):
            read_bytes(str(project.file))
    finally:
        os.seteuid(user)


def test_a_missing_folder_is_named(project: Project) -> None:
    with pytest.raises(InvalidInput, match="no such folder") as raised:
        project.effective("gone")
    assert raised.value.code == "no_such_folder"


@pytest.mark.parametrize("permissions", ["prompt", "bypass"])
def test_what_init_writes_is_valid(
    project: Project, permissions: Literal["prompt", "bypass"]
) -> None:
    project.write(config_text(permissions))
    project.trust()
    assert project.effective().adapters == {kind: AdapterSettings(permissions) for kind in KINDS}


def test_every_commented_line_that_init_writes_is_valid_too(project: Project) -> None:
    text = re.sub(r"^( *)# ( *\w+:)", r"\1\2", config_text("prompt"), flags=re.MULTILINE)
    project.write(text)
    project.trust()
    found = project.effective()
    assert found.submit == SubmitDefaults("codex", "gpt-5", "interactive", 1800.0)
    assert found.multiplexer == MultiplexerSettings()


def test_the_example_file_is_valid_and_names_everything() -> None:
    path = Path(__file__).parents[3] / ".cuekit.example.yaml"
    document = read_document(str(path))
    assert document is not None
    said = set(settings_of(document, ALL_KINDS))
    known = {(section, name) for section, checks in PLAIN.items() for name in checks}
    assert known - said == {("submit", "agent"), ("multiplexer", "socket_path")}
    assert {key[0] for key in said} == set(SECTIONS)
    assert {key[2] for key in said if key[0] == "adapters"} == {*ADAPTER, "options"}
    text = path.read_text()
    assert all(f"{name}" in text for name in ("`agent`", "socket_path", *ALL_KINDS))


def test_an_inbox_may_be_configured_beside_permissions_prompt(project: Project) -> None:
    project.write(
        "adapters:\n  codex:\n    permissions: prompt\n    options: {approvals: inbox}\n"
        "  claude-code:\n    options: {approvals: inbox, approvals_handover_s: 60}\n"
    )
    assert project.effective() is not None


def test_what_only_the_user_may_say_is_ignored_in_a_projects_file(project: Project) -> None:
    project.write("mcp: {shell: allow}\napprovals: {parents: allow}\nsubmit: {model: m}\n")
    effective = project.effective()
    assert (effective.parents.shell, effective.parents.approvals) == ("deny", "deny")
    assert effective.submit.model == "m"
    assert effective.warnings == (
        f"ignored in {project.folder}/.cuekit.yaml: mcp.shell, approvals.parents "
        f"(only {project.home.config} may say it)",
    )
    Path(project.home.root).mkdir(exist_ok=True)
    Path(project.home.config).write_text("mcp: {shell: allow}\napprovals: {parents: allow}\n")
    effective = project.effective()
    assert (effective.parents.shell, effective.parents.approvals) == ("allow", "allow")
