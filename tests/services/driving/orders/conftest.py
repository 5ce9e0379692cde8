import pytest

from support.clocks import ManualClock
from support.device_store import FakeStore
from support.devices import FakeDriver
from support.order_setup import OrderSetup


@pytest.fixture
def setup(store: FakeStore, clock: ManualClock, driver: FakeDriver) -> OrderSetup:
    return OrderSetup(store, clock, driver)
