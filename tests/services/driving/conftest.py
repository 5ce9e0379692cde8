import pytest

from support.devices import FakeStore, ObedientDriver, StillClock


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


@pytest.fixture
def driver(clock: StillClock) -> ObedientDriver:
    return ObedientDriver(clock)
