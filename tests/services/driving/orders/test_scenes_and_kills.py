"""Orders that are sent later: the steps of a scene, and orders of a killed gateway."""

import asyncio

import pytest

from domogate.domain.commands import OrderState, SceneStep, SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import Internal
from domogate.domain.plants import Module, SceneDetail
from support.clocks import NOON, LoopClock, ManualClock
from support.device_store import FakeStore
from support.devices import FakeDriver, make_id, make_module, make_order
from support.log_lines import capture_logs
from support.order_setup import LAMP, OFF, ON, OTHER, OrderSetup

pytestmark = pytest.mark.usefixtures("virtual_time")


class TestAScene:
    def make_scene(self, *steps: tuple[Module, SetLight]) -> Module:
        detail = SceneDetail(tuple(SceneStep(module.id, command) for module, command in steps))
        return make_module(DeviceKind.SCENE, make_id(200), detail=detail)

    async def test_has_all_its_steps_on_disk_before_it_answers_and_none_is_sent_by_then(
        self, setup: OrderSetup, store: FakeStore, driver: FakeDriver
    ) -> None:
        scene = self.make_scene((LAMP, ON), (OTHER, OFF))
        plant = store.add_plant(LAMP, OTHER, scene)
        driver.pause = asyncio.Event()
        async with setup:
            await setup.scenes.run_scene(plant, scene)
            assert setup.states() == [OrderState.QUEUED] * 2
            assert driver.orders == []
            driver.pause.set()
            await setup.scenes.finish()
        assert setup.states() == [OrderState.CONFIRMED] * 2

    async def test_is_no_scene_at_all_if_its_steps_cannot_be_kept(
        self, setup: OrderSetup, store: FakeStore, driver: FakeDriver
    ) -> None:
        scene = self.make_scene((LAMP, ON))
        plant = store.add_plant(LAMP, scene)
        store.keeps_orders = False
        async with setup:
            with capture_logs(), pytest.raises(Internal):
                await setup.scenes.run_scene(plant, scene)
            await setup.scenes.finish()
        assert driver.orders == []

    async def test_keeps_the_order_of_steps_on_the_same_module(
        self, setup: OrderSetup, store: FakeStore, driver: FakeDriver
    ) -> None:
        scene = self.make_scene((LAMP, ON), (OTHER, ON), (LAMP, OFF), (LAMP, ON))
        plant = store.add_plant(LAMP, OTHER, scene)
        async with setup:
            await setup.scenes.run_scene(plant, scene)
            await setup.scenes.finish()
        assert [order.command for order in driver.orders if order.module_id == LAMP.id] == [ON, OFF, ON]
        assert [order.deadline for order in driver.orders if order.module_id == LAMP.id] == [NOON + 5, NOON + 10, NOON + 15]

    async def test_goes_on_past_a_step_that_fails(self, setup: OrderSetup, store: FakeStore, driver: FakeDriver) -> None:
        gone = make_module(DeviceKind.LIGHT, driver="telepathy")
        scene = self.make_scene((gone, ON), (LAMP, ON))
        plant = store.add_plant(LAMP, gone, scene)
        with capture_logs() as logs:
            async with setup:
                await setup.scenes.run_scene(plant, scene)
                await setup.scenes.finish()
        assert setup.states() == [OrderState.FAILED, OrderState.CONFIRMED]
        assert "scene step failed" in [entry["event"] for entry in logs]


class TestAfterAKill:
    async def test_queued_orders_within_their_deadline_are_sent_by_the_next_start(
        self, store: FakeStore, clock: ManualClock, driver: FakeDriver
    ) -> None:
        plant = store.add_plant(LAMP)
        orders = [make_order(plant, LAMP.id, command, order_id=str(number)) for number, command in enumerate((ON, OFF, ON))]
        await store.add_orders(orders, NOON, sent=False)
        async with OrderSetup(store, clock, driver) as setup:
            await setup.driving.settled()
        assert driver.orders == orders
        assert setup.states() == [OrderState.CONFIRMED] * 3

    async def test_steps_of_a_scene_keep_their_order(self, store: FakeStore, clock: ManualClock, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        steps = enumerate((ON, OFF, ON), start=9)  # As text, the number 10 comes before 9.
        orders = [
            make_order(plant, LAMP.id, command, order_id=f"a-{number}", deadline=NOON + 5 * number) for number, command in steps
        ]
        await store.add_orders(orders, NOON, sent=False)
        async with OrderSetup(store, clock, driver) as setup:
            await setup.driving.settled()
        assert driver.orders == orders

    async def test_exactly_one_of_two_gateways_sends_them(self, store: FakeStore, clock: ManualClock) -> None:
        plant = store.add_plant(LAMP)
        orders = [make_order(plant, LAMP.id, ON, order_id=str(number)) for number in range(20)]
        await store.add_orders(orders, NOON, sent=False)
        drivers = FakeDriver(clock), FakeDriver(clock)
        with capture_logs():
            async with OrderSetup(store, clock, drivers[0]) as one, OrderSetup(store, clock, drivers[1]) as other:
                await asyncio.gather(one.driving.settled(), other.driving.settled())
        sent = [order.id for driver in drivers for order in driver.orders]
        assert sorted(sent) == sorted(order.id for order in orders)

    async def test_what_was_sent_is_not_sent_again_and_ends_unknown(self, store: FakeStore, driver: FakeDriver) -> None:
        clock = driver.clock = LoopClock()
        plant = store.add_plant(LAMP)
        await store.add_orders([make_order(plant, LAMP.id, ON, deadline=NOON + 5)], NOON, sent=True)
        with capture_logs():
            async with OrderSetup(store, clock, driver) as setup:
                await setup.driving.settled()
                await asyncio.sleep(6.9)
                assert setup.states() == [OrderState.SENT], "it may be another gateway's, which is writing its end this moment"
                await asyncio.sleep(5.2)
        assert setup.states() == [OrderState.UNKNOWN]
        assert driver.orders == []

    async def test_what_was_queued_too_long_ago_expires_unsent(
        self, store: FakeStore, clock: ManualClock, driver: FakeDriver
    ) -> None:
        plant = store.add_plant(LAMP)
        await store.add_orders([make_order(plant, LAMP.id, ON, deadline=NOON - 60)], NOON - 65, sent=False)
        with capture_logs() as logs:
            async with OrderSetup(store, clock, driver) as setup:
                await setup.driving.settled()
                while setup.states() == [OrderState.QUEUED]:
                    await asyncio.sleep(0)
        assert setup.states() == [OrderState.EXPIRED]
        assert driver.orders == []
        assert [entry["orders"] for entry in logs] == [1]

    async def test_what_was_queued_before_the_clock_was_set_back_is_never_sent(
        self, store: FakeStore, clock: ManualClock, driver: FakeDriver
    ) -> None:
        """After a power cut, a computer without a battery clock can show the time of an hour ago."""
        plant = store.add_plant(LAMP)
        await store.add_orders([make_order(plant, LAMP.id, ON, deadline=NOON + 3605)], NOON + 3600, sent=False)
        async with OrderSetup(store, clock, driver) as setup:
            await setup.driving.settled()
        assert (driver.orders, setup.states()) == ([], [OrderState.QUEUED])
        clock.advance(3700)
        with capture_logs():
            async with OrderSetup(store, clock, driver) as setup:
                while setup.states() == [OrderState.QUEUED]:
                    await asyncio.sleep(0)
        assert (driver.orders, setup.states()) == ([], [OrderState.EXPIRED])

    async def test_settling_goes_on_after_a_failure(
        self, store: FakeStore, clock: ManualClock, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plant = store.add_plant(LAMP)
        await store.add_orders([make_order(plant, LAMP.id, ON, deadline=NOON - 60)], NOON - 65, sent=True)
        settle, tries = store.end_overdue_orders, []

        async def fail_first(at: float) -> int:
            tries.append(at)
            if len(tries) == 1:
                raise OSError("disk gone")
            return await settle(at)

        monkeypatch.setattr(store, "end_overdue_orders", fail_first)
        with capture_logs():
            async with OrderSetup(store, clock, driver) as setup:
                await asyncio.sleep(5.1)
        assert setup.states() == [OrderState.UNKNOWN]
