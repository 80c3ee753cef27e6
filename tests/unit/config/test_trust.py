"""The record of what the user trusts."""

import json
import os
import threading
from pathlib import Path

import pytest

from cuekit.config import trust
from cuekit.errors import CuekitError, InvalidInput, NotFound
from cuekit.paths import Home
from tests.support.repository import mark_repository
from tests.unit.config.conftest import Project


def test_nothing_is_trusted_at_first(project: Project) -> None:
    assert trust.read(project.home) == trust.Trust()
    assert not trust.folder_trusted(project.home, str(project.folder))
    assert not os.path.exists(project.home.trust)


def test_trust_covers_the_folders_below_and_none_beside_or_above(project: Project) -> None:
    for name in ("project/a/b", "project-2"):
        (project.folder.parent / name).mkdir(parents=True)
    trust.give(project.home, str(project.folder))
    trusted = {
        name: trust.folder_trusted(project.home, str(project.folder.parent / name))
        for name in ("project", "project/a/b", "project-2", ".")
    }
    assert trusted == {"project": True, "project/a/b": True, "project-2": False, ".": False}


def test_trust_does_not_reach_into_another_repository_below(project: Project) -> None:
    clone = project.folder / "clone"
    mark_repository(clone)
    (clone / "below").mkdir()
    trust.give(project.home, str(project.folder))
    assert not trust.folder_trusted(project.home, str(clone))
    assert not trust.folder_trusted(project.home, str(clone / "below"))
    trust.give(project.home, str(clone))
    assert trust.folder_trusted(project.home, str(clone / "below"))


def test_links_are_resolved_both_when_trust_is_given_and_when_it_is_asked_for(
    project: Project,
) -> None:
    link = project.folder.parent / "link"
    link.symlink_to(project.folder)
    trust.give(project.home, str(link))
    assert list(trust.read(project.home).folders) == [str(project.folder)]
    assert trust.folder_trusted(project.home, str(link))
    outside = project.folder.parent / "outside"
    outside.mkdir()
    (project.folder / "way-out").symlink_to(outside)
    assert not trust.folder_trusted(project.home, str(project.folder / "way-out"))


def test_a_content_is_trusted_in_its_place_alone(project: Project) -> None:
    other = project.folder / "other" / ".cuekit.yaml"
    trust.give(project.home, str(project.folder), (str(project.file), "aa"))
    assert trust.content_trusted(project.home, str(project.file), "aa")
    assert not trust.content_trusted(project.home, str(project.file), "bb")
    assert not trust.content_trusted(project.home, str(other), "aa")


def test_trust_is_taken_back(project: Project) -> None:
    trust.give(project.home, str(project.folder), (str(project.file), "aa"))
    assert trust.revoke(project.home, str(project.folder)) == [
        str(project.folder),
        str(project.file),
    ]
    assert trust.read(project.home) == trust.Trust()


def test_trust_is_taken_back_from_a_folder_that_is_gone(project: Project) -> None:
    gone = project.folder / "gone"
    gone.mkdir()
    trust.give(project.home, str(gone))
    gone.rmdir()
    assert trust.revoke(project.home, str(gone)) == [str(gone)]


def test_a_folder_that_is_trusted_through_one_above_says_so(project: Project) -> None:
    below = project.folder / "below"
    below.mkdir()
    trust.give(project.home, str(project.folder))
    with pytest.raises(NotFound, match=f"trust was given to {project.folder}") as raised:
        trust.revoke(project.home, str(below))
    assert raised.value.code == "not_trusted"
    assert trust.folder_trusted(project.home, str(below))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "trust_file_broken"),
        ("{", "trust_file_broken"),
        ("[]", "trust_file_broken"),
        ("{}", "trust_file_broken"),
        ('{"format": 1}', "trust_file_broken"),
        ('{"format": 1, "folders": {"/a": "x"}, "contents": {}}', "trust_file_broken"),
        ('{"format": 1, "folders": {}, "contents": {"/a": 1}}', "trust_file_broken"),
        ("[" * 100_000, "trust_file_broken"),
        ('{"format": 2, "folders": {}}', "trust_file_newer"),
    ],
)
def test_a_broken_or_newer_record_is_named_and_never_overwritten(
    project: Project, text: str, code: str
) -> None:
    record = Path(project.home.trust)
    record.write_text(text)
    record.chmod(0o600)
    for attempt in (
        lambda: trust.folder_trusted(project.home, str(project.folder)),
        lambda: trust.give(project.home, str(project.folder)),
        lambda: trust.revoke(project.home, str(project.folder)),
    ):
        with pytest.raises(CuekitError, match=str(record)) as raised:
            attempt()
        assert raised.value.code == code
    assert record.read_text() == text


def test_a_record_that_others_can_write_to_counts_for_nothing(project: Project) -> None:
    trust.give(project.home, str(project.folder))
    os.chmod(project.home.trust, 0o622)
    with pytest.raises(CuekitError, match="can be written by others") as raised:
        trust.folder_trusted(project.home, str(project.folder))
    assert raised.value.code == "trust_file_broken"


def test_the_record_is_private_and_whole(project: Project) -> None:
    home = Home(f"{project.home.root}/not/there/yet")
    trust.give(home, str(project.folder))
    assert os.stat(home.trust).st_mode & 0o777 == 0o600
    assert os.stat(home.root).st_mode & 0o777 == 0o700
    assert json.loads(Path(home.trust).read_text())["format"] == trust.FORMAT
    assert sorted(os.listdir(home.root)) == ["trust.json", "trust.json.lock"]


def test_many_at_once_lose_nothing(project: Project) -> None:
    folders = [project.folder / str(number) for number in range(20)]
    for folder in folders:
        folder.mkdir()
    threads = [
        threading.Thread(target=trust.give, args=(project.home, str(folder))) for folder in folders
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(trust.read(project.home).folders) == sorted(str(folder) for folder in folders)


def test_a_name_that_is_not_utf_8_is_trusted_as_it_is(project: Project) -> None:
    folder = os.fsdecode(os.fsencode(str(project.folder)) + b"/caf\xe9 'a\nb")
    os.mkdir(folder)
    trust.give(project.home, folder)
    assert trust.folder_trusted(project.home, folder)


def test_folders_that_hold_far_more_than_a_project_are_refused(project: Project) -> None:
    user_home = str(project.user_home)
    shared = project.folder / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    link = project.folder / "link"
    link.symlink_to(user_home)
    for wide in ("/", user_home, f"{user_home}/", str(link), str(project.user_home.parent)):
        with pytest.raises(InvalidInput, match="everything below it would be trusted") as raised:
            trust.check_worth(wide, user_home)
        assert raised.value.code == "too_wide"
    with pytest.raises(InvalidInput, match="other users can make folders in it"):
        trust.check_worth(str(shared), user_home)
    trust.check_worth(str(project.folder), user_home)
    trust.check_worth(str(project.user_home / "below"), user_home)
