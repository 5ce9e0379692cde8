"""An order is on disk before it is sent, and its end is on disk too."""

import asyncio
from typing import Any

import pytest

from domogate.domain.commands import Order, OrderEnd, OrderState, SceneStep
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout, Internal
from domogate.domain.ids import Id, new_id
from domogate.domain.plants import PlantStatus
from domogate.domain.states import LightState, Report
from domogate.services.driving.recorder import Orders
from domogate.services.plants.read_model import ReadModel
from support.clocks import NOON, LoopClock, ManualClock
from support.device_store import FakeStore
from support.devices import FakeDriver, make_module, make_order
from support.log_lines import capture_logs
from support.order_setup import LAMP, ON, OrderSetup

pytestmark = pytest.mark.usefixtures("virtual_time")


class TestTheLifeOfAnOrder:
    async def test_it_is_on_disk_as_sent_before_the_driver_is_told(
        self, setup: OrderSetup, store: FakeStore, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plant = store.add_plant(LAMP)
        seen: list[OrderState] = []
        execute = driver.execute

        async def look(order: Order) -> Report:
            seen.append(store.orders[order.id].state)
            return await execute(order)

        monkeypatch.setattr(driver, "execute", look)
        async with setup:
            await setup.control.execute(plant, LAMP.id, ON)
        assert seen == [OrderState.SENT]
        (record,) = store.orders.values()
        assert (record.state, record.sent_at, record.ended_at) == (OrderState.CONFIRMED, NOON, NOON)

    async def test_one_that_cannot_be_kept_is_not_sent(self, setup: OrderSetup, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        store.keeps_orders = False
        async with setup:
            with capture_logs(), pytest.raises(Internal):
                await setup.control.execute(plant, LAMP.id, ON)
        assert driver.orders == []

    @pytest.mark.parametrize(
        ("fault", "end"),
        [
            (DeviceOffline("gone"), OrderState.FAILED),
            (DeviceRefused("will not"), OrderState.FAILED),
            (DeviceTimeout("no answer"), OrderState.EXPIRED),
        ],
    )
    async def test_what_the_device_said_is_kept_with_its_end(
        self, setup: OrderSetup, store: FakeStore, driver: FakeDriver, fault: Any, end: OrderState
    ) -> None:
        plant = store.add_plant(LAMP)
        driver.trouble = fault
        async with setup:
            with pytest.raises(type(fault)):
                await setup.control.execute(plant, LAMP.id, ON)
        (record,) = store.orders.values()
        assert (record.state, record.problem) == (end, fault.message)
        assert record.sent_at == NOON

    async def test_one_that_no_driver_can_carry_out_was_never_sent(self, setup: OrderSetup, store: FakeStore) -> None:
        stranger = make_module(DeviceKind.LIGHT, driver="telepathy")
        plant = store.add_plant(stranger)
        with capture_logs():
            async with setup:
                with pytest.raises(DeviceOffline):
                    await setup.control.execute(plant, stranger.id, ON)
        (record,) = store.orders.values()
        assert (record.state, record.sent_at) == (OrderState.FAILED, None)

    async def test_one_for_a_plant_that_does_not_exist_is_not_stored(self, setup: OrderSetup, store: FakeStore) -> None:
        removed = store.add_plant(LAMP)
        async with setup:
            (queued,) = await setup.control.queue(removed, [SceneStep(LAMP.id, ON)])
            store.change_plant(removed, status=PlantStatus.REMOVED)
            await setup.driving.settled()
            for plant in (removed, new_id()):
                with pytest.raises(DeviceOffline):
                    await setup.control.execute(plant, LAMP.id, ON)
            assert list(store.orders) == [queued.id]
            with pytest.raises(DeviceOffline):
                await setup.control.send(queued)
        assert setup.states() == [OrderState.FAILED], "an order that was stored before ends"

    async def test_one_whose_confirmation_cannot_be_kept_stays_open_until_it_is_settled(
        self, setup: OrderSetup, store: FakeStore, clock: ManualClock
    ) -> None:
        plant = store.add_plant(LAMP)
        store.fails_on = lambda reports: bool(reports)
        async with setup:
            with capture_logs(), pytest.raises(Internal):
                await setup.control.execute(plant, LAMP.id, ON)
            assert setup.states() == [OrderState.SENT]
            clock.advance(100)
            assert await setup.orders.settle() == 1
        assert setup.states() == [OrderState.UNKNOWN]


class TestAnOrderThatWasQueued:
    async def queue(self, setup: OrderSetup, plant: Id) -> Order:
        (order,) = await setup.control.queue(plant, [SceneStep(LAMP.id, ON)])
        return order

    async def test_and_is_not_on_disk_any_more_is_written_again_before_it_is_sent(
        self, setup: OrderSetup, store: FakeStore, driver: FakeDriver
    ) -> None:
        async with setup:
            order = await self.queue(setup, store.add_plant(LAMP))
            store.orders.clear()
            await setup.control.send(order)
        assert driver.orders == [order]
        assert setup.states() == [OrderState.CONFIRMED]

    async def test_whose_time_runs_out_while_it_is_put_on_disk_was_not_sent_and_says_so(
        self, setup: OrderSetup, store: FakeStore, driver: FakeDriver, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plant = store.add_plant(LAMP)
        mark_sent = store.mark_sent

        async def mark_late(plant_id: Id, order_id: str, at: float) -> bool:
            return await mark_sent(plant_id, order_id, at + 60)

        monkeypatch.setattr(store, "mark_sent", mark_late)
        async with setup:
            order = await self.queue(setup, plant)
            with pytest.raises(DeviceTimeout, match="not sent"):
                await setup.control.send(order)
        assert driver.orders == []
        assert store.orders[order.id].sent_at is None

    async def test_and_never_sent_expires(self, setup: OrderSetup, store: FakeStore, clock: ManualClock) -> None:
        async with setup:
            await self.queue(setup, store.add_plant(LAMP))
            clock.advance(60)
            await setup.orders.settle()
            assert setup.states() == [OrderState.EXPIRED]


class TestAQuestionBesideAnOrder:
    async def test_never_shows_what_was_true_before_the_order(self, store: FakeStore, driver: FakeDriver) -> None:
        """The answer of a read and the confirmation of an order are written at once; the confirmation is newer."""
        clock = driver.clock = LoopClock()
        plant = store.add_plant(LAMP)
        read_model = ReadModel(store, max_modules=100)
        store.listen(read_model.apply)
        async with OrderSetup(store, clock, driver) as setup:
            shown = await read_model.get_plant(plant)
            assert shown is not None
            view = shown.modules[LAMP.id]
            store.gate = asyncio.Event()
            driver.answer = LightState(on=False)
            asked = asyncio.create_task(setup.control.read_state(view))
            await asyncio.sleep(0.1)
            driver.answer = LightState(on=True)
            ordered = asyncio.create_task(setup.control.execute(plant, LAMP.id, ON))
            await asyncio.sleep(0.1)
            store.gate.set()
            await asyncio.gather(asked, ordered)
            assert view.state == LightState(on=True)
            assert setup.control.find_fresh(view) == LightState(on=True)


class TestAnEndThatComesTwice:
    async def test_changes_nothing(self, store: FakeStore) -> None:
        order = make_order(store.add_plant(LAMP), LAMP.id, ON)
        await store.add_orders([order], NOON, sent=True)
        await store.end_order(order.plant_id, OrderEnd(order.id, OrderState.CONFIRMED, NOON))
        await Orders(store, ManualClock(NOON)).end(order, DeviceTimeout("late"))
        assert store.orders[order.id].state is OrderState.CONFIRMED
