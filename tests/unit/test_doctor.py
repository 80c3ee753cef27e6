"""The doctor's report: looks side by side, limits, mending, and what each look finds."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cuekit.agents import registry
from cuekit.errors import CuekitError
from cuekit.paths import Home
from cuekit.service import doctor, doctor_agents, doctor_panes, doctor_store
from cuekit.service.doctor_check import Check, Probe, Situation, failure, ok, warning
from cuekit.store.db import open_store

HERE = Situation({"PATH": os.defpath}, "/")


def situation(home: Path, **environ: str) -> Situation:
    """A caller with a home of its own and nothing else."""
    base = {"PATH": os.environ["PATH"], "HOME": str(home), "CUEKIT_HOME": str(home / "ck")}
    return Situation(base | environ, str(home))


def looks(**probes: Probe) -> list[Check]:
    """The report of some looks."""
    return doctor.look(probes, HERE, 5)


def test_a_look_that_hangs_is_told_of_and_holds_up_no_other() -> None:
    never = threading.Event()

    def hangs(_: Situation) -> list[Check]:
        never.wait(60)
        return []

    found = doctor.look({"slow": hangs, "quick": lambda _: [ok("quick", "seen")]}, HERE, 0.2)
    never.set()
    assert found == [
        warning("slow", "no answer within 0.2 s", "cuekit doctor, once more"),
        ok("quick", "seen"),
    ]


def test_looks_run_side_by_side() -> None:
    both = threading.Barrier(2, timeout=5)

    def meets(_: Situation) -> list[Check]:
        both.wait()
        return [ok("met", "")]

    assert looks(one=meets, two=meets) == [ok("met", ""), ok("met", "")]


def test_a_look_that_breaks_is_a_failure_of_its_own_line() -> None:
    def refused(_: Situation) -> Iterator[Check]:
        yield ok("first", "")
        raise CuekitError("cannot", hint="do this")

    def broken(_: Situation) -> list[Check]:
        raise ZeroDivisionError("x")

    assert looks(a=refused, b=broken) == [
        failure("a", "cannot", "do this"),
        failure(
            "b",
            "the look itself failed: ZeroDivisionError: x",
            "report it, with the output of cuekit doctor",
        ),
    ]


def test_a_folder_that_others_can_read_is_closed_by_fix(tmp_path: Path) -> None:
    home = tmp_path / "ck"
    home.mkdir(mode=0o755)
    (home / "trust.json").write_text("{}")
    (home / "trust.json").chmod(0o644)

    def privacy(checks: list[Check]) -> Check:
        return next(check for check in checks if check.name == "privacy")

    found = privacy(list(doctor_store.files(situation(tmp_path))))
    assert (found.state, found.detail) == (
        "warning",
        f"others can read {home}, {home}/trust.json",
    )
    assert found.mend is not None
    found.mend()
    assert [path.stat().st_mode & 0o777 for path in (home, home / "trust.json")] == [0o700, 0o600]
    assert privacy(list(doctor_store.files(situation(tmp_path)))).state == "ok"


def test_a_store_that_is_missing_is_not_made(tmp_path: Path) -> None:
    (found,) = doctor_store.store(situation(tmp_path))
    assert found.state == "ok"
    assert list(tmp_path.iterdir()) == []


def test_a_good_store_is_read_and_written(tmp_path: Path) -> None:
    open_store(Home(str(tmp_path / "ck"))).close()
    names = [(check.name, check.state) for check in doctor_store.store(situation(tmp_path))]
    assert names == [("store", "ok"), ("store_writable", "ok")]


def test_a_damaged_store_is_named_and_left_alone(tmp_path: Path) -> None:
    home = Home(str(tmp_path / "ck"))
    with closing(open_store(home)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages = db.execute("PRAGMA page_count").fetchone()[0]
    data = bytearray(Path(home.database).read_bytes())
    size = len(data) // pages
    data[size * 2 : size * 4] = b"\xff" * (size * 2)
    Path(home.database).write_bytes(data)
    (found,) = doctor_store.store(situation(tmp_path))
    assert found.state == "failure"
    assert home.database in found.detail
    assert Path(home.database).read_bytes() == data


def test_a_store_of_a_newer_cuekit_is_a_failure(tmp_path: Path) -> None:
    home = Home(str(tmp_path / "ck"))
    open_store(home).close()
    with closing(sqlite3.connect(home.database)) as db:
        db.execute("PRAGMA user_version = 999")
    (found,) = looks(store=lambda _: doctor_store.store(situation(tmp_path)))
    assert found.state == "failure"
    assert "newer" in found.detail


def test_the_kind_of_a_file_system_is_that_of_the_nearest_mount(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mounts = [("/", "ext4"), ("/net", "nfs4"), ("/net/local", "xfs"), ("/network", "btrfs")]
    monkeypatch.setattr(doctor_store, "_linux_mounts", lambda: mounts)
    monkeypatch.setattr(doctor_store, "_other_mounts", lambda: mounts)
    paths = ("/a", "/net/b", "/net/local/b", "/network/b", "/")
    kinds = [doctor_store.file_system_of(path) for path in paths]
    assert kinds == ["ext4", "nfs4", "xfs", "btrfs", "ext4"]


def test_a_home_on_a_network_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_store, "file_system_of", lambda _: "nfs4")
    first = next(iter(doctor_store.files(situation(tmp_path))))
    assert (first.name, first.state) == ("file_system", "failure")


@pytest.mark.skipif(not os.path.exists("/proc/self/mountinfo"), reason="Linux alone has it")
def test_this_machine_tells_its_file_systems() -> None:
    assert doctor_store.file_system_of("/proc/self") == "proc"


@pytest.mark.parametrize(
    ("environ", "state"),
    [
        ({"LANG": "de_DE.UTF-8"}, "ok"),
        ({"LC_CTYPE": "C.utf8"}, "ok"),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "C"}, "warning"),
        ({}, "warning"),
    ],
)
def test_a_locale_without_utf8_is_a_warning(environ: dict[str, str], state: str) -> None:
    found = next(iter(doctor_panes.terminal(Situation(environ, "/"))))
    assert (found.name, found.state) == ("locale", state)


def test_a_terminal_that_tmux_would_refuse_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "xmine").write_text("")

    def terminal(name: str) -> str:
        environ = {"TERM": name, "TERMINFO": str(tmp_path), "HOME": "/none"}
        return list(doctor_panes.terminal(Situation(environ, "/")))[1].state

    assert [terminal(name) for name in ("xmine", "xother-none", "dumb", "")] == [
        "ok",
        "warning",
        "warning",
        "warning",
    ]


def test_a_socket_path_that_is_too_long_is_a_failure(tmp_path: Path) -> None:
    socket = f"/tmp/{'x' * 120}"
    found = list(doctor_panes.tmux(situation(tmp_path, CUEKIT_TMUX_SOCKET=socket)))
    assert [(c.name, c.state) for c in found[:2]] == [("tmux", "ok"), ("tmux_socket", "failure")]


def test_a_machine_without_tmux_is_told_how_to_get_it(tmp_path: Path) -> None:
    nothing = situation(tmp_path, PATH=str(tmp_path))
    (found,) = looks(tmux=lambda _: doctor_panes.tmux(nothing))
    assert found.state == "failure"
    assert "apt-get install tmux" in (found.fix or "")


@pytest.mark.parametrize("kind", ["codex", "claude-code"])
def test_a_flag_that_the_program_does_not_know_is_a_failure(kind: str) -> None:
    agent = registry.get(kind)
    known = agent.emitted_flags()
    assert doctor_agents.flag_drift("f", agent, known).state == "ok"
    found = doctor_agents.flag_drift("f", agent, known - {"--model"})
    assert found.state == "failure"
    assert found.detail.endswith(": --model")


def test_a_flag_that_is_left_out_where_unknown_is_no_drift() -> None:
    codex = registry.get("codex")
    known = codex.emitted_flags() - {"--no-alt-screen", "--no-daemon"}
    assert doctor_agents.flag_drift("f", codex, known).state == "ok"
    assert doctor_agents.flag_drift("f", codex, frozenset()).state == "warning"


@pytest.mark.parametrize(
    ("environ", "state"),
    [
        ({}, "warning"),
        ({"OPENAI_API_KEY": "sk-made-up"}, "ok"),
        ({"CODEX_HOME": "signed-in"}, "ok"),
    ],
)
def test_sign_in_is_told_from_names_alone(
    tmp_path: Path, environ: dict[str, str], state: str
) -> None:
    folder = tmp_path / "signed-in"
    folder.mkdir()
    secret = folder / "auth.json"
    secret.write_text("never read")
    secret.chmod(0)
    values = {n: str(folder) if v == "signed-in" else v for n, v in environ.items()}
    found = doctor_agents.sign_in("s", "codex", {"HOME": str(tmp_path), **values})
    assert found is not None
    assert found.state == state
    assert "sk-made-up" not in found.detail
