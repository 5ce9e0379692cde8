"""An order with an idempotency key is sent once, however often it is repeated."""

import asyncio
from typing import Any

import pytest

from domogate.domain.commands import Order, OrderState
from domogate.domain.faults import DeviceOffline, DeviceTimeout, Internal, OrderKeyTaken, ValueOutOfRange
from domogate.ports import StoreTimeout
from support.clocks import NOON, LoopClock, ManualClock
from support.device_store import FakeStore
from support.devices import FakeDriver, make_id
from support.order_setup import LAMP, OFF, ON, OTHER, OrderSetup

pytestmark = pytest.mark.usefixtures("virtual_time")


class TestAnOrderUnderAKey:
    async def test_gives_its_record(self, setup: OrderSetup, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        async with setup:
            record = await setup.control.order(plant, LAMP.id, ON, key="breakfast")
        assert (record.order.id, record.state) == ("breakfast", OrderState.CONFIRMED)
        assert record.order.deadline == NOON + 5

    async def test_is_sent_once_however_often_it_comes(self, setup: OrderSetup, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        async with setup:
            at_once = await asyncio.gather(*(setup.control.order(plant, LAMP.id, ON, key="k") for _ in range(5)))
            again = await setup.control.order(plant, LAMP.id, ON, key="k")
        assert all(record == again for record in at_once)
        assert len(driver.orders) == 1

    async def test_is_sent_once_even_if_the_gateway_was_restarted(
        self, store: FakeStore, clock: ManualClock, driver: FakeDriver
    ) -> None:
        plant = store.add_plant(LAMP)
        async with OrderSetup(store, clock, driver) as setup:
            first = await setup.control.order(plant, LAMP.id, ON, key="k")
        async with OrderSetup(store, clock, driver) as setup:
            assert await setup.control.order(plant, LAMP.id, ON, key="k") == first
            assert (await setup.driving.execute(first.order)).state is None
        assert len(driver.orders) == 1

    async def test_is_sent_by_the_next_request_if_the_first_could_not_be_written(
        self, setup: OrderSetup, store: FakeStore, driver: FakeDriver
    ) -> None:
        """The answer to the first request says that nothing was sent, so the client repeats the request."""
        plant = store.add_plant(LAMP)
        async with setup:
            store.keeps_orders = False
            with pytest.raises(Internal, match="was not sent"):
                await setup.control.order(plant, LAMP.id, ON, key="k")
            store.keeps_orders = True
            assert (await setup.control.order(plant, LAMP.id, ON, key="k")).state is OrderState.CONFIRMED
        assert len(driver.orders) == 1

    async def test_is_not_sent_again_if_the_confirmation_could_not_be_written(
        self, setup: OrderSetup, store: FakeStore, driver: FakeDriver
    ) -> None:
        plant = store.add_plant(LAMP)
        async with setup:
            await setup.driving.settled()
            store.fails_on = bool
            with pytest.raises(Internal):
                await setup.control.order(plant, LAMP.id, ON, key="k")
            store.fails_on = lambda reports: False
            assert (await setup.control.order(plant, LAMP.id, ON, key="k")).state is OrderState.SENT
        assert len(driver.orders) == 1

    async def test_is_refused_when_the_key_was_used_for_another_command(
        self, setup: OrderSetup, store: FakeStore, driver: FakeDriver
    ) -> None:
        plant = store.add_plant(LAMP, OTHER)
        async with setup:
            first = await setup.control.order(plant, LAMP.id, ON, key="k")
            for module, command in ((LAMP, OFF), (OTHER, ON)):
                with pytest.raises(OrderKeyTaken):
                    await setup.control.order(plant, module.id, command, key="k")
                with pytest.raises(OrderKeyTaken):
                    await setup.orders.begin(Order("k", plant, module.id, command, NOON + 5))
            assert store.orders["k"] == first

    async def test_is_refused_when_another_command_under_the_key_is_still_under_way(
        self, setup: OrderSetup, store: FakeStore, driver: FakeDriver
    ) -> None:
        plant = store.add_plant(LAMP)
        driver.pause = asyncio.Event()
        async with setup:
            first = asyncio.create_task(setup.control.order(plant, LAMP.id, ON, key="k"))
            while not driver.orders:
                await asyncio.sleep(0)
            with pytest.raises(OrderKeyTaken):
                await setup.control.order(plant, LAMP.id, OFF, key="k")
            driver.pause.set()
            assert (await first).state is OrderState.CONFIRMED
        assert len(driver.orders) == 1

    async def test_has_an_answer_for_the_second_caller_when_the_first_caller_leaves(
        self, setup: OrderSetup, store: FakeStore, driver: FakeDriver
    ) -> None:
        plant = store.add_plant(LAMP)
        driver.pause = asyncio.Event()
        async with setup:
            first = asyncio.create_task(setup.control.execute(plant, LAMP.id, ON, key="k"))
            while not driver.orders:
                await asyncio.sleep(0)
            second = asyncio.create_task(setup.control.execute(plant, LAMP.id, ON, key="k"))
            await asyncio.sleep(0)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            driver.pause.set()
            assert (await second).module_id == LAMP.id
        assert (len(driver.orders), store.orders["k"].state) == (1, OrderState.CONFIRMED)

    @pytest.mark.parametrize("key", ["", "x" * 129, "a\nb"])
    async def test_is_refused_when_it_is_no_key(self, setup: OrderSetup, key: str) -> None:
        with pytest.raises(ValueOutOfRange):
            await setup.control.order(make_id(1), LAMP.id, ON, key=key)

    @pytest.mark.parametrize(
        ("fault", "end"), [(DeviceOffline("gone"), OrderState.FAILED), (DeviceTimeout("late"), OrderState.EXPIRED)]
    )
    async def test_that_the_device_fails_is_an_answer(
        self, setup: OrderSetup, store: FakeStore, driver: FakeDriver, fault: Any, end: OrderState
    ) -> None:
        plant = store.add_plant(LAMP)
        driver.trouble = fault
        async with setup:
            record = await setup.control.order(plant, LAMP.id, ON)
        assert (record.state, record.problem) == (end, fault.message)

    async def test_that_never_is_answered_has_expired_at_its_deadline(
        self, setup: OrderSetup, store: FakeStore, driver: FakeDriver, clock: ManualClock
    ) -> None:
        plant = store.add_plant(LAMP)
        driver.pause = asyncio.Event()
        async with setup:
            record = await setup.control.order(plant, LAMP.id, ON)
            assert asyncio.get_running_loop().time() == pytest.approx(5)
        assert (record.state, record.sent_at) == (OrderState.EXPIRED, NOON)

    async def test_whose_end_cannot_be_written_is_answered_before_a_quarter_of_a_second_more(
        self, store: FakeStore, driver: FakeDriver
    ) -> None:
        clock = driver.clock = LoopClock()
        plant = store.add_plant(LAMP)
        driver.pause = asyncio.Event()
        async with OrderSetup(store, clock, driver) as setup:
            store.gate = asyncio.Event()
            deadline = clock.now() + 5
            record = await setup.control.order(plant, LAMP.id, ON)
            assert deadline <= clock.now() < deadline + 0.25
            store.gate.set()
        assert record.state is OrderState.SENT

    @pytest.mark.parametrize("problem", ["hangs", "is gone"])
    async def test_whose_record_cannot_be_read_is_answered_in_time_as_the_device_left_it(
        self, store: FakeStore, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, problem: str
    ) -> None:
        async def find_order(order_id: str) -> None:
            if problem == "hangs":
                await asyncio.sleep(4)
            raise StoreTimeout("the database did not answer")

        clock = driver.clock = LoopClock()
        plant = store.add_plant(LAMP)
        monkeypatch.setattr(store, "find_order", find_order)
        async with OrderSetup(store, clock, driver) as setup:
            assert (await setup.control.order(plant, LAMP.id, ON)).state is OrderState.CONFIRMED
            driver.pause = asyncio.Event()
            begun = clock.now()
            store.gate = asyncio.Event()
            record = await setup.control.order(plant, LAMP.id, OFF)
            assert begun + 5 <= clock.now() < begun + 5.25 + 1e-6
            store.gate.set()
        assert (record.state, record.problem) == (OrderState.EXPIRED, "the device did not answer in time")
        assert record.sent_at == begun, "the device may have received the order"

    async def test_that_comes_too_late_has_expired_and_is_not_sent(
        self, store: FakeStore, driver: FakeDriver, clock: ManualClock
    ) -> None:
        plant = store.add_plant(LAMP)
        async with OrderSetup(store, clock, driver, deadline=-1.0) as setup:
            record = await setup.control.order(plant, LAMP.id, ON)
        assert (record.state, record.sent_at) == (OrderState.EXPIRED, None)
        assert driver.orders == []
