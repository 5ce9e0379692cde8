"""The packages of a release, built once for the tests of this folder."""

from datetime import datetime
from pathlib import Path

import pytest

from release.building import ROOT, build, time_of_last_commit


@pytest.fixture(scope="session")
def when() -> datetime:
    return time_of_last_commit()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, when: datetime) -> dict[str, Path]:
    """The built files by their names."""
    return {path.name: path for path in build(ROOT, tmp_path_factory.mktemp("dist"), when)}
