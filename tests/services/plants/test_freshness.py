"""When the gateway answers with the last state of a module, and when it asks the module first (Decision 0008)."""

from collections.abc import AsyncIterator

import pytest

from domogate.domain.states import LightState
from domogate.ports import StoredState
from domogate.services.plants.read_model import ModuleView, ReadModel
from support.clocks import NOON, ManualClock
from support.device_store import FakeStore
from support.devices import FakeDriver
from support.order_setup import LAMP, OrderSetup

pytestmark = pytest.mark.usefixtures("virtual_time")

MAX_AGE = 60.0
STORED, REAL = LightState(on=False), LightState(on=True)


@pytest.fixture
def driver(clock: ManualClock) -> FakeDriver:
    driver = FakeDriver(clock)
    driver.answer = REAL
    return driver


@pytest.fixture
async def setup(store: FakeStore, clock: ManualClock, driver: FakeDriver) -> AsyncIterator[OrderSetup]:
    async with OrderSetup(store, clock, driver) as running:
        yield running


@pytest.fixture
async def lamp(store: FakeStore) -> ModuleView:
    """A lamp that reported at noon. It was switched by hand since then, and did not report this."""
    plant_id = store.add_plant(LAMP, states={LAMP.id: StoredState(STORED, True, NOON)})
    read_model = ReadModel(store, max_modules=100)
    store.listen(read_model.apply)
    plant = await read_model.get_plant(plant_id)
    assert plant is not None
    return plant.modules[LAMP.id]


class TestFreshness:
    @pytest.mark.parametrize(("age", "state"), [(0, STORED), (MAX_AGE, STORED), (MAX_AGE + 1, REAL)])
    async def test_a_state_is_fresh_up_to_the_freshness_limit(
        self, setup: OrderSetup, clock: ManualClock, lamp: ModuleView, age: float, state: LightState
    ) -> None:
        clock.advance(age)
        assert await setup.control.read_state(lamp) == state

    async def test_a_state_is_not_fresh_after_the_clock_was_set_back(
        self, setup: OrderSetup, clock: ManualClock, lamp: ModuleView, driver: FakeDriver
    ) -> None:
        clock.advance(-3600)
        assert await setup.control.read_state(lamp) == REAL
        assert await setup.control.read_state(lamp) == REAL
        assert len(driver.questions) == 1

    async def test_a_state_of_a_gateway_whose_clock_is_a_little_ahead_is_fresh(
        self, setup: OrderSetup, clock: ManualClock, lamp: ModuleView
    ) -> None:
        clock.advance(-1)
        assert await setup.control.read_state(lamp) == STORED
