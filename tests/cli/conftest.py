"""The command line of these tests."""

import shutil
from pathlib import Path

import pytest

from support.command_line import CommandLine, domogate
from support.device_estate import home, imported_home
from support.small_estate import SMALL_ESTATE

__all__ = ["domogate", "home", "imported_home"]


@pytest.fixture(scope="session")
def imported_small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the small estate, to be copied, because importing takes longer than most tests."""
    data = tmp_path_factory.mktemp("small") / "data"
    CommandLine(data).good("estate", "import", "-", input=SMALL_ESTATE)
    return data


@pytest.fixture(scope="session")
def created_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with an empty store, to be copied."""
    data = tmp_path_factory.mktemp("created") / "data"
    CommandLine(data).create()
    return data


@pytest.fixture
def small(domogate: CommandLine, imported_small: Path) -> CommandLine:
    """The command line of a gateway that has the small estate."""
    shutil.copytree(imported_small, domogate.data)
    return domogate


@pytest.fixture
def empty_store(domogate: CommandLine, created_store: Path) -> CommandLine:
    """The command line of a gateway that has an empty store."""
    shutil.copytree(created_store, domogate.data)
    return domogate
