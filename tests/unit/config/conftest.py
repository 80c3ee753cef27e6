"""A project folder with a configuration, and a home folder of its own."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from cuekit.config import load, trust
from cuekit.config.effective import Effective
from cuekit.paths import Home
from tests.support.repository import mark_repository


@dataclass(frozen=True)
class Project:
    """A git repository and the user's cuekit folder."""

    folder: Path
    home: Home
    user_home: Path

    @property
    def file(self) -> Path:
        return self.folder / ".cuekit.yaml"

    def write(self, text: str | bytes) -> None:
        self.file.write_bytes(text.encode() if isinstance(text, str) else text)

    def write_user(self, text: str) -> None:
        Path(self.home.config).write_text(text)

    def trust(self) -> None:
        digest = hashlib.sha256(self.file.read_bytes()).hexdigest()
        trust.give(self.home, str(self.folder), (str(self.file), digest))

    def effective(self, below: str = "") -> Effective:
        environ = {"HOME": str(self.user_home)}
        return load.effective(os.path.join(self.folder, below), self.home, environ)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = Path(os.path.realpath(tmp_path))
    folder, home, user_home = root / "project", root / "cuekit", root / "home"
    for made in (folder, home, user_home):
        made.mkdir(mode=0o700)
    mark_repository(folder)
    return Project(folder, Home(str(home)), user_home)
