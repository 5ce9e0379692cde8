import pytest

from support.clocks import ManualClock
from support.devices import FakeDriver


@pytest.fixture
def driver(clock: ManualClock) -> FakeDriver:
    return FakeDriver(clock)
