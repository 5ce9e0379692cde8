"""People on a real store, and a clock and a store for the tests of devices."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.clocks import NOON, ManualClock
from support.device_store import FakeStore
from support.people_setup import PeopleSetup, open_people


@pytest.fixture
async def env(tmp_path: Path) -> AsyncIterator[PeopleSetup]:
    async with open_people(tmp_path) as opened:
        yield opened


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()
