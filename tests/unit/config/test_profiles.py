"""Role profiles: three layers, trust, and files that are no profiles."""

from pathlib import Path

import pytest

from cuekit.config import profiles, trust
from cuekit.config.profiles import Profiles, choose, discover, files_of_project
from cuekit.paths import Home

BUILT_IN = ["debugger", "docs-writer", "planner", "reviewer", "scout", "worker"]


class Place:
    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        (self.project / ".git").mkdir(parents=True)
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.home = Home(str(root / "home"))
        self.own = self.project / ".cuekit" / "agents"
        self.users = root / "home" / "agents"
        for folder in (self.own, self.users):
            folder.mkdir(parents=True)

    def write(self, folder: Path, name: str, front: str, body: str = "Do it.") -> Path:
        path = folder / f"{name}.md"
        path.write_text(f"---\n{front}\n---\n{body}\n")
        return path

    def look(self) -> Profiles:
        return discover(str(self.project), self.home)

    def trust(self) -> None:
        trust.give(self.home, str(self.project), *files_of_project(str(self.project)))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_built_in_roles_are_whole(place: Place) -> None:
    there = place.look()
    assert sorted(there.found) == BUILT_IN
    assert there.problems == ()
    for profile in there.found.values():
        assert profile.description
        assert len(profile.instructions) > 100


def test_the_users_own_profile_changes_a_built_in_one_field_by_field(place: Place) -> None:
    place.write(place.users, "reviewer", "model: gpt-5\nagent_kind: codex", "")
    reviewer = place.look().found["reviewer"]
    assert (reviewer.agent_kind, reviewer.model, reviewer.source) == ("codex", "gpt-5", "user")
    assert reviewer.instructions.startswith("You review a change.")
    place.write(place.users, "worker", "instructions_mode: append", "Use tabs.")
    worker = place.look().found["worker"]
    assert worker.instructions.startswith("You carry out")
    assert worker.instructions.endswith("\n\nUse tabs.")


def test_an_untrusted_project_adds_roles_but_takes_no_place_and_names_no_shell(
    place: Place,
) -> None:
    place.write(place.own, "porter", "description: ports it\nagent_kind: codex")
    place.write(place.own, "worker", "description: mine now")
    place.write(place.own, "runner", "agent_kind: shell")
    there = place.look()
    assert sorted(there.found) == sorted([*BUILT_IN, "porter"])
    assert there.found["worker"].description.startswith("Carries out")
    assert len(there.problems) == 2
    assert all("cuekit trust" in line for line in there.problems)
    place.trust()
    there = place.look()
    assert there.found["worker"].description == "mine now"
    assert there.found["runner"].agent_kind == "shell"
    assert there.problems == ()
    place.write(place.own, "worker", "description: changed since")
    assert place.look().found["worker"].description.startswith("Carries out")


@pytest.mark.parametrize(
    ("front", "body", "why"),
    [
        ("description: [", "x", "is not YAML"),
        ("- a\n- b", "x", "is not a mapping"),
        ("colour: red", "x", "no field 'colour'"),
        ("id: ../../etc", "x", "not the id of a role"),
        ("id: auto", "x", "not the id of a role"),
        ("model: [a]", "x", "model takes one line"),
        ("instructions_mode: both", "x", "replace or append"),
        ("description: &a x\ntags: [*a]", "x", "line 2: anchors (&) and aliases"),
        ("extends: nobody", "x", "which is no role"),
        ("extends: bad", "x", "extends itself"),
    ],
)
def test_one_bad_file_is_told_of_and_takes_no_other_with_it(
    place: Place, front: str, body: str, why: str
) -> None:
    place.write(place.own, "bad", front, body)
    place.write(place.own, "good", "description: fine")
    there = place.look()
    assert sorted(there.found) == sorted([*BUILT_IN, "good"])
    (problem,) = there.problems
    assert why in problem
    assert "\n" not in problem


def test_what_is_no_plain_small_utf8_file_is_left_out(place: Place) -> None:
    (place.own / "link.md").symlink_to("/etc/passwd")
    (place.own / "large.md").write_text("---\n---\n" + "x" * profiles.LARGEST)
    (place.own / "bytes.md").write_bytes(b"---\n---\n\xff\xfe")
    (place.own / "bare.md").write_text("no front matter\n")
    (place.own / "folder.md").mkdir()
    there = place.look()
    assert sorted(there.found) == BUILT_IN
    assert len(there.problems) == 5


def test_a_profile_extends_another_and_circles_are_told(place: Place) -> None:
    place.write(place.users, "strict", "extends: reviewer\ninstructions_mode: append", "No mercy.")
    place.write(place.users, "one", "extends: two")
    place.write(place.users, "two", "extends: one")
    there = place.look()
    assert there.found["strict"].instructions.startswith("You review a change.")
    assert there.found["strict"].instructions.endswith("No mercy.")
    assert "one" not in there.found
    assert [line for line in there.problems if "extends itself: one -> two -> one" in line]


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("Please review the diff", "reviewer"),
        ("Plan the next release", "planner"),
        ("The build is broken", "debugger"),
        ("Update the README", "docs-writer"),
        ("Explore the parser", "scout"),
        ("Add a button", "worker"),
        ("preview the airplane", "worker"),
    ],
)
def test_auto_chooses_by_whole_words_and_says_why(place: Place, text: str, role: str) -> None:
    found, reason = choose(text, place.look().found)
    assert found == role
    assert reason
