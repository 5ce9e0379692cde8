import pytest

from support.clocks import NOON, ManualClock
from support.device_store import FakeStore
from support.devices import FakeDriver


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


@pytest.fixture
def driver(clock: ManualClock) -> FakeDriver:
    return FakeDriver(clock)
