"""People on a real store, for the tests of services."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.people_setup import PeopleSetup, open_people


@pytest.fixture
async def env(tmp_path: Path) -> AsyncIterator[PeopleSetup]:
    async with open_people(tmp_path) as opened:
        yield opened
