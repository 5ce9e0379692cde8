import pytest

from support.devices import FakeStore, ObedientDriver, StillClock
from support.ordering import House


@pytest.fixture
def house(store: FakeStore, clock: StillClock, driver: ObedientDriver) -> House:
    return House(store, clock, driver)
