"""In a cluster, a gateway drives only the plants of the shards that it holds."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from domogate.domain.commands import Order, OrderRecord, OrderState, SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, DeviceTimeout
from domogate.domain.ids import Id
from domogate.domain.shards import shard_of
from domogate.domain.states import LightState, Report
from domogate.ports import NotHeld
from domogate.services.cluster import HeldShards
from domogate.services.driving import Driving
from support.clocks import NOON, ManualClock
from support.cluster_setup import loop_time
from support.device_store import FakeStore
from support.devices import FakeDriver, make_id, make_module, make_order
from support.driving_setup import running_driving

pytestmark = pytest.mark.usefixtures("virtual_time")

LAMP, OTHER_LAMP = make_module(DeviceKind.LIGHT, make_id(100)), make_module(DeviceKind.LIGHT, make_id(101))
HOME, OTHER_HOME = make_id(1), make_id(2)
SHARD, OTHER_SHARD = shard_of(HOME), shard_of(OTHER_HOME)
SWITCH_ON = SetLight(on=True)


@pytest.fixture
def held(virtual_time: None) -> HeldShards:
    held = HeldShards(loop_time)
    held.valid_until = 1000.0
    return held


@pytest.fixture
async def driving(store: FakeStore, driver: FakeDriver, held: HeldShards) -> AsyncIterator[Driving]:
    """Two homes in two shards; the first shard is held."""
    store.add_plant(LAMP, plant_id=HOME)
    store.add_plant(OTHER_LAMP, plant_id=OTHER_HOME)
    async with running_driving(store, driver, holdings=held) as driving:
        held.add({SHARD: 1})
        driving.start_shards([SHARD])
        await driving.settled()
        yield driving


async def hand_over(driving: Driving, held: HeldShards, *shards: int) -> list[int]:
    held.begin_hand_over(shards)
    return [shard async for stopped in driving.hand_over(shards) for shard in stopped]


async def begin_order(driving: Driving, driver: FakeDriver) -> tuple[Order, asyncio.Task[Report]]:
    """Send an order to a device that does not answer before `driver.pause` is set."""
    driver.pause = asyncio.Event()
    order = make_order(HOME, LAMP.id, SWITCH_ON)
    running = asyncio.create_task(driving.execute(order))
    await asyncio.sleep(0.1)
    return order, running


class TestHolding:
    async def test_only_plants_of_held_shards_are_driven(self, driving: Driving, driver: FakeDriver) -> None:
        assert set(driver.attached) == {HOME}

    async def test_no_plant_is_driven_before_a_shard_is_held(
        self, store: FakeStore, driver: FakeDriver, held: HeldShards
    ) -> None:
        store.add_plant(LAMP, plant_id=HOME)
        async with running_driving(store, driver, holdings=held) as driving:
            await driving.settled()
            store.change_plant(HOME, LAMP, OTHER_LAMP)
            await driving.settled()
        assert driver.attachments == []

    async def test_calls_for_other_plants_are_refused(self, driving: Driving, store: FakeStore) -> None:
        with pytest.raises(NotHeld):
            await driving.execute(make_order(OTHER_HOME, OTHER_LAMP.id, SWITCH_ON))
        with pytest.raises(NotHeld):
            await driving.read(OTHER_HOME, OTHER_LAMP.id, NOON + 5)
        with pytest.raises(NotHeld):
            await driving.take_picture(OTHER_HOME, OTHER_LAMP.id, NOON + 5)
        assert store.orders == {}

    async def test_changes_of_other_plants_are_ignored(self, driving: Driving, store: FakeStore, driver: FakeDriver) -> None:
        store.change_plant(OTHER_HOME, OTHER_LAMP)
        await driving.settled()
        assert set(driver.attached) == {HOME}

    async def test_reports_of_other_plants_are_not_recorded(
        self, driving: Driving, store: FakeStore, driver: FakeDriver
    ) -> None:
        await driver.report(
            [
                Report(HOME, LAMP.id, NOON, LightState(on=True)),
                Report(OTHER_HOME, OTHER_LAMP.id, NOON, LightState(on=True)),
            ]
        )
        assert [report.plant_id for report in store.reports] == [HOME]

    async def test_nothing_is_driven_after_the_end_of_the_lease(self, driving: Driving, held: HeldShards) -> None:
        held.valid_until = loop_time()
        with pytest.raises(NotHeld):
            await driving.execute(make_order(HOME, LAMP.id, SWITCH_ON))

    async def test_an_order_is_not_sent_if_the_lease_ended_while_it_was_written(
        self, driver: FakeDriver, held: HeldShards
    ) -> None:
        class SlowStore(FakeStore):
            async def add_orders(self, orders: Sequence[Order], at: float, *, sent: bool) -> Sequence[OrderRecord | None]:
                known = await super().add_orders(orders, at, sent=sent)
                held.valid_until = loop_time()
                return known

        store = SlowStore()
        store.add_plant(LAMP, plant_id=HOME)
        async with running_driving(store, driver, holdings=held) as driving:
            held.add({SHARD: 1})
            with pytest.raises(DeviceOffline):
                await driving.execute(make_order(HOME, LAMP.id, SWITCH_ON))
        assert len(store.orders) == 1
        assert driver.orders == []


class TestAcquiring:
    async def test_the_plants_of_a_new_shard_are_driven(self, driving: Driving, driver: FakeDriver, held: HeldShards) -> None:
        held.add({OTHER_SHARD: 3})
        driving.start_shards([OTHER_SHARD])
        await driving.settled()
        assert set(driver.attached) == {HOME, OTHER_HOME}

    async def test_queued_orders_of_a_new_shard_are_sent_once(
        self, driving: Driving, store: FakeStore, driver: FakeDriver, held: HeldShards
    ) -> None:
        queued = make_order(OTHER_HOME, OTHER_LAMP.id, SWITCH_ON)
        of_other_shard = make_order(HOME, LAMP.id, SWITCH_ON)
        await store.add_orders([queued, of_other_shard], NOON, sent=False)
        held.add({OTHER_SHARD: 3})
        driving.start_shards([OTHER_SHARD])
        await driving.settled()
        assert driver.orders == [queued]
        assert store.orders[queued.id].state is OrderState.CONFIRMED

    async def test_limits_of_simulated_plants_count_only_held_plants(
        self, store: FakeStore, driver: FakeDriver, held: HeldShards
    ) -> None:
        """Plants of other shards that are listed first use no slot."""
        ids = [make_id(number) for number in range(40)]
        for number, plant_id in enumerate(ids):
            store.add_plant(make_module(DeviceKind.LIGHT, make_id(200 + number)), plant_id=plant_id)
        last = ids[-1]
        async with running_driving(store, driver, holdings=held, simulated_plants=1) as driving:
            held.add({shard_of(last): 1})
            driving.start_shards([shard_of(last)])
            await driving.settled()
            assert last in driver.attached


class TestHandingOver:
    async def test_shards_without_plants_are_given_back_at_once(self, driving: Driving, held: HeldShards) -> None:
        held.add({5: 1, 6: 1})
        assert await hand_over(driving, held, 5, 6) == [5, 6]

    async def test_the_plants_are_detached(self, driving: Driving, driver: FakeDriver, held: HeldShards) -> None:
        assert await hand_over(driving, held, SHARD) == [SHARD]
        assert driver.attached == {}

    async def test_a_running_order_ends_first_and_new_ones_are_refused(
        self, driving: Driving, store: FakeStore, driver: FakeDriver, held: HeldShards
    ) -> None:
        order, running = await begin_order(driving, driver)
        handing_over = asyncio.create_task(hand_over(driving, held, SHARD))
        await asyncio.sleep(1)
        with pytest.raises(NotHeld):
            await driving.execute(make_order(HOME, LAMP.id, SWITCH_ON))
        assert not handing_over.done()
        assert HOME in driver.attached
        assert driver.pause is not None
        driver.pause.set()
        assert (await running).state == LightState(on=True)
        assert await handing_over == [SHARD]
        assert store.orders[order.id].state is OrderState.CONFIRMED
        assert driver.attached == {}

    async def test_a_driver_that_hangs_delays_it_only_for_a_limited_time(
        self, driving: Driving, driver: FakeDriver, held: HeldShards, clock: ManualClock
    ) -> None:
        _, running = await begin_order(driving, driver)
        start = loop_time()
        assert await hand_over(driving, held, SHARD) == [SHARD]
        assert loop_time() - start < 12
        with pytest.raises(DeviceTimeout):
            await running

    async def test_all_reports_are_stored_before_the_shard_is_given_back(
        self, driving: Driving, store: FakeStore, driver: FakeDriver, held: HeldShards
    ) -> None:
        store.gate = asyncio.Event()
        reporting = asyncio.ensure_future(driver.report([Report(HOME, LAMP.id, NOON, LightState(on=False))]))
        await asyncio.sleep(0.1)
        handing_over = asyncio.create_task(hand_over(driving, held, SHARD))
        await asyncio.sleep(1)
        assert not handing_over.done()
        store.gate.set()
        assert await handing_over == [SHARD]
        await reporting
        assert [report.plant_id for report in store.reports] == [HOME]

    async def test_a_report_that_cannot_be_stored_delays_it_only_for_a_limited_time(
        self, driving: Driving, store: FakeStore, driver: FakeDriver, held: HeldShards
    ) -> None:
        """The write of a report may take a minute. Meanwhile nobody would drive the plants."""
        store.gate = asyncio.Event()
        reporting = asyncio.ensure_future(driver.report([Report(HOME, LAMP.id, NOON, LightState(on=False))]))
        await asyncio.sleep(0.1)
        start = loop_time()
        async with asyncio.timeout(300):
            assert await hand_over(driving, held, SHARD) == [SHARD]
        assert loop_time() - start < 12
        store.gate.set()
        await reporting

    async def test_the_plant_is_driven_again_if_the_shard_comes_back(
        self, driving: Driving, driver: FakeDriver, held: HeldShards
    ) -> None:
        await hand_over(driving, held, SHARD)
        held.remove([SHARD])
        held.add({SHARD: 4})
        driving.start_shards([SHARD])
        await driving.settled()
        assert set(driver.attached) == {HOME}
        await driving.execute(make_order(HOME, LAMP.id, SWITCH_ON))


class TestLosing:
    async def test_everything_stops_at_once_and_nothing_is_written(
        self, driving: Driving, store: FakeStore, driver: FakeDriver, held: HeldShards
    ) -> None:
        order, running = await begin_order(driving, driver)
        held.remove([SHARD])
        driving.drop_shards([SHARD])
        with pytest.raises(DeviceTimeout):
            await running
        await driving.settled()
        assert driver.attached == {}
        assert driver.cancelled == 1
        assert store.orders[order.id].state is OrderState.SENT, "its outcome is unknown; the next holder settles it"
        assert store.records == []

    async def test_a_plant_is_attached_again_only_after_all_its_earlier_ends(
        self, driving: Driving, driver: FakeDriver, held: HeldShards, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        may_detach = asyncio.Event()
        detach = driver.detach

        async def detach_later(plant_id: Id) -> None:
            await may_detach.wait()
            await detach(plant_id)

        async def lose() -> None:
            held.remove([SHARD])
            driving.drop_shards([SHARD])
            await asyncio.sleep(0.1)

        async def take_again(epoch: int) -> None:
            held.add({SHARD: epoch})
            driving.start_shards([SHARD])
            await asyncio.sleep(0.1)

        monkeypatch.setattr(driver, "detach", detach_later)
        await lose()
        await take_again(2)
        await lose()
        await take_again(3)
        assert driver.attachments == [HOME], "its modules are still being detached"
        may_detach.set()
        await driving.settled()
        assert driver.attachments == [HOME, HOME]
        assert set(driver.attached) == {HOME}
        await driving.execute(make_order(HOME, LAMP.id, SWITCH_ON))
