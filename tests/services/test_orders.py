import asyncio

import pytest
from structlog.testing import capture_logs

from domogate.domain.commands import Order, OrderEnd, OrderState, SceneStep, SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout, Internal, OrderKeyTaken, ValueOutOfRange
from domogate.domain.ids import Id
from domogate.domain.plants import SceneDetail
from domogate.domain.states import LightState
from domogate.fabric.in_process import InProcessFabric
from domogate.services.control import Control
from domogate.services.driving import Driving
from domogate.services.orders import Orders
from domogate.services.scenes import Scenes
from domogate.services.world import World
from support.devices import NOON, FakeStore, LoopClock, ObedientDriver, StillClock, make_id, make_module, make_order

pytestmark = pytest.mark.usefixtures("leaping_time")

LAMP = make_module(DeviceKind.LIGHT, make_id(100))
OTHER = make_module(DeviceKind.LIGHT, make_id(101))
ON, OFF = SetLight(on=True), SetLight(on=False)


class House:
    """A gateway's middle: control, fabric and driving on one store, with one driver."""

    def __init__(self, store: FakeStore, clock: StillClock, driver: ObedientDriver) -> None:
        self.store, self.driver, self.clock = store, driver, clock
        self.orders = Orders(store, clock)
        self.driving = Driving(store, {driver.name: driver}, clock, self.orders, awake_plants=10)
        store.listen(self.driving.apply)
        fabric = InProcessFabric(clock)
        fabric.serve(self.driving)
        self.control = Control(fabric, self.orders, clock, deadline=5.0, max_age=60.0, max_ages={})
        self.scenes = Scenes(self.control)

    async def __aenter__(self) -> "House":
        await self.driving.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.driving.stop()

    def states(self) -> list[OrderState]:
        return [record.state for record in self.store.orders.values()]


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


@pytest.fixture
def driver(clock) -> ObedientDriver:
    return ObedientDriver(clock)


@pytest.fixture
def house(store, clock, driver) -> House:
    return House(store, clock, driver)


class TestTheLifeOfAnOrder:
    async def test_it_is_on_disk_as_sent_before_the_driver_is_told(self, house, store, driver):
        plant = store.add_plant(LAMP)
        seen: list[OrderState] = []
        execute = driver.execute

        async def look(order: Order) -> object:
            seen.append(store.orders[order.id].state)
            return await execute(order)

        driver.execute = look
        async with house:
            await house.control.execute(plant, LAMP.id, ON)
        assert seen == [OrderState.SENT]
        (record,) = store.orders.values()
        assert (record.state, record.sent_at, record.ended_at) == (OrderState.CONFIRMED, NOON, NOON)

    async def test_one_that_cannot_be_kept_is_not_sent(self, house, store, driver):
        plant = store.add_plant(LAMP)
        store.keeps_orders = False
        async with house:
            with capture_logs(), pytest.raises(Internal):
                await house.control.execute(plant, LAMP.id, ON)
        assert driver.orders == []

    @pytest.mark.parametrize(
        ("fault", "end"),
        [
            (DeviceOffline("gone"), OrderState.FAILED),
            (DeviceRefused("will not"), OrderState.FAILED),
            (DeviceTimeout("no answer"), OrderState.EXPIRED),
        ],
    )
    async def test_what_the_device_said_is_kept_with_its_end(self, house, store, driver, fault, end):
        plant = store.add_plant(LAMP)
        driver.trouble = fault
        async with house:
            with pytest.raises(type(fault)):
                await house.control.execute(plant, LAMP.id, ON)
        (record,) = store.orders.values()
        assert (record.state, record.problem) == (end, fault.message)
        assert record.sent_at == NOON

    async def test_one_that_nobody_can_carry_out_was_never_sent(self, house, store):
        stranger = make_module(DeviceKind.LIGHT, driver="telepathy")
        plant = store.add_plant(stranger)
        with capture_logs():
            async with house:
                with pytest.raises(DeviceOffline):
                    await house.control.execute(plant, stranger.id, ON)
        (record,) = store.orders.values()
        assert (record.state, record.sent_at) == (OrderState.FAILED, None)

    async def test_one_whose_confirmation_cannot_be_kept_stays_open_until_it_is_settled(self, house, store, clock):
        plant = store.add_plant(LAMP)
        store.fails_on = lambda reports: bool(reports)
        async with house:
            with capture_logs(), pytest.raises(Internal):
                await house.control.execute(plant, LAMP.id, ON)
            assert house.states() == [OrderState.SENT]
            clock.pass_by(100)
            assert await house.orders.settle() == 1
        assert house.states() == [OrderState.UNKNOWN]


class TestAnOrderThatWasQueued:
    async def queue(self, house: House, plant: Id) -> Order:
        (order,) = await house.control.queue(plant, [SceneStep(LAMP.id, ON)])
        return order

    async def test_and_is_not_on_disk_any_more_is_not_sent(self, house, store, driver):
        async with house:
            order = await self.queue(house, store.add_plant(LAMP))
            store.orders.clear()
            with pytest.raises(Internal):
                await house.control.send(order)
        assert driver.orders == []

    async def test_whose_time_runs_out_while_it_is_put_on_disk_was_not_sent_and_says_so(self, house, store, driver, clock):
        plant = store.add_plant(LAMP)
        mark_sent = store.mark_sent

        async def mark_late(order_id: str, at: float) -> bool:
            return await mark_sent(order_id, at + 60)

        store.mark_sent = mark_late
        async with house:
            order = await self.queue(house, plant)
            with pytest.raises(DeviceTimeout, match="not sent"):
                await house.control.send(order)
        assert driver.orders == []
        assert store.orders[order.id].sent_at is None

    async def test_and_never_sent_is_not_remembered_beyond_its_time(self, house, store, clock):
        async with house:
            await self.queue(house, store.add_plant(LAMP))
            clock.pass_by(60)
            await house.orders.settle()
            assert house.states() == [OrderState.EXPIRED]
            assert not house.orders._queued_here


class TestAnOrderUnderAKey:
    async def test_gives_its_record(self, house, store, driver):
        plant = store.add_plant(LAMP)
        async with house:
            record = await house.control.order(plant, LAMP.id, ON, key="breakfast")
        assert (record.order.id, record.state) == ("breakfast", OrderState.CONFIRMED)
        assert record.order.deadline == NOON + 5

    async def test_is_sent_once_however_often_it_comes(self, house, store, driver):
        plant = store.add_plant(LAMP)
        async with house:
            at_once = await asyncio.gather(*(house.control.order(plant, LAMP.id, ON, key="k") for _ in range(5)))
            again = await house.control.order(plant, LAMP.id, ON, key="k")
        assert all(record == again for record in at_once)
        assert len(driver.orders) == 1

    async def test_is_sent_once_even_if_the_gateway_was_started_anew(self, store, clock, driver):
        plant = store.add_plant(LAMP)
        async with House(store, clock, driver) as house:
            first = await house.control.order(plant, LAMP.id, ON, key="k")
        async with House(store, clock, driver) as house:
            assert await house.control.order(plant, LAMP.id, ON, key="k") == first
            assert (await house.driving.execute(first.order)).state is None
        assert len(driver.orders) == 1

    async def test_is_refused_when_the_key_was_used_for_another_command(self, house, store, driver):
        plant = store.add_plant(LAMP, OTHER)
        async with house:
            first = await house.control.order(plant, LAMP.id, ON, key="k")
            for module, command in ((LAMP, OFF), (OTHER, ON)):
                with pytest.raises(OrderKeyTaken):
                    await house.control.order(plant, module.id, command, key="k")
                with pytest.raises(OrderKeyTaken):
                    await house.orders.begin(Order("k", plant, module.id, command, NOON + 5))
            assert store.orders["k"] == first

    async def test_is_refused_when_another_command_under_the_key_is_still_under_way(self, house, store, driver):
        plant = store.add_plant(LAMP)
        driver.pause = asyncio.Event()
        async with house:
            first = asyncio.create_task(house.control.order(plant, LAMP.id, ON, key="k"))
            while not driver.orders:
                await asyncio.sleep(0)
            with pytest.raises(OrderKeyTaken):
                await house.control.order(plant, LAMP.id, OFF, key="k")
            driver.pause.set()
            assert (await first).state is OrderState.CONFIRMED
        assert len(driver.orders) == 1

    @pytest.mark.parametrize("key", ["", "x" * 129, "a\nb"])
    async def test_is_refused_when_it_is_no_key(self, house, key):
        with pytest.raises(ValueOutOfRange):
            await house.control.order(make_id(1), LAMP.id, ON, key=key)

    @pytest.mark.parametrize(
        ("fault", "end"), [(DeviceOffline("gone"), OrderState.FAILED), (DeviceTimeout("late"), OrderState.EXPIRED)]
    )
    async def test_that_the_device_fails_is_an_answer(self, house, store, driver, fault, end):
        plant = store.add_plant(LAMP)
        driver.trouble = fault
        async with house:
            record = await house.control.order(plant, LAMP.id, ON)
        assert (record.state, record.problem) == (end, fault.message)

    async def test_that_never_is_answered_has_expired_at_its_deadline(self, house, store, driver, clock):
        plant = store.add_plant(LAMP)
        driver.pause = asyncio.Event()
        async with house:
            record = await house.control.order(plant, LAMP.id, ON)
            assert asyncio.get_running_loop().time() == pytest.approx(5)
        assert (record.state, record.sent_at) == (OrderState.EXPIRED, NOON)

    async def test_whose_end_cannot_be_written_is_answered_before_a_quarter_of_a_second_more(self, store, driver):
        clock = driver.clock = LoopClock()
        plant = store.add_plant(LAMP)
        driver.pause = asyncio.Event()
        async with House(store, clock, driver) as house:
            store.gate = asyncio.Event()
            deadline = clock.now() + 5
            record = await house.control.order(plant, LAMP.id, ON, deadline=deadline)
            assert deadline <= clock.now() < deadline + 0.25
            store.gate.set()
        assert record.state is OrderState.SENT

    async def test_that_comes_too_late_has_expired_and_is_not_sent(self, house, store, driver, clock):
        plant = store.add_plant(LAMP)
        async with house:
            record = await house.control.order(plant, LAMP.id, ON, deadline=clock.now() - 1)
        assert (record.state, record.sent_at) == (OrderState.EXPIRED, None)
        assert driver.orders == []


class TestAQuestionBesideAnOrder:
    async def test_never_shows_what_was_true_before_the_order(self, store, driver):
        """The answer and the device's confirmation are on their way to the disk together; the confirmation is the newer one."""
        clock = driver.clock = LoopClock()
        plant = store.add_plant(LAMP)
        world = World(store, max_modules=100)
        store.listen(world.apply)
        async with House(store, clock, driver) as house:
            view = (await world.get_plant(plant)).modules[LAMP.id]
            store.gate = asyncio.Event()
            driver.answer = LightState(on=False)
            asked = asyncio.create_task(house.control.read_state(view))
            await asyncio.sleep(0.1)
            driver.answer = LightState(on=True)
            ordered = asyncio.create_task(house.control.execute(plant, LAMP.id, ON))
            await asyncio.sleep(0.1)
            store.gate.set()
            await asyncio.gather(asked, ordered)
            assert view.state == LightState(on=True)
            assert house.control.find_fresh(view) == LightState(on=True)


class TestAScene:
    def make_scene(self, *steps: tuple[object, SetLight]) -> object:
        detail = SceneDetail(tuple(SceneStep(module.id, command) for module, command in steps))
        return make_module(DeviceKind.SCENE, make_id(200), detail=detail)

    async def test_has_all_its_steps_on_disk_before_it_answers_and_none_is_sent_by_then(self, house, store, driver):
        scene = self.make_scene((LAMP, ON), (OTHER, OFF))
        plant = store.add_plant(LAMP, OTHER, scene)
        driver.pause = asyncio.Event()
        async with house:
            await house.scenes.run_scene(plant, scene)
            assert house.states() == [OrderState.QUEUED] * 2
            assert driver.orders == []
            driver.pause.set()
            await house.scenes.finish()
        assert house.states() == [OrderState.CONFIRMED] * 2

    async def test_is_no_scene_at_all_if_its_steps_cannot_be_kept(self, house, store, driver):
        scene = self.make_scene((LAMP, ON))
        plant = store.add_plant(LAMP, scene)
        store.keeps_orders = False
        async with house:
            with capture_logs(), pytest.raises(Internal):
                await house.scenes.run_scene(plant, scene)
            await house.scenes.finish()
        assert driver.orders == []

    async def test_keeps_the_order_of_steps_on_the_same_module(self, house, store, driver):
        scene = self.make_scene((LAMP, ON), (OTHER, ON), (LAMP, OFF), (LAMP, ON))
        plant = store.add_plant(LAMP, OTHER, scene)
        async with house:
            await house.scenes.run_scene(plant, scene)
            await house.scenes.finish()
        assert [order.command for order in driver.orders if order.module_id == LAMP.id] == [ON, OFF, ON]
        assert [order.deadline for order in driver.orders if order.module_id == LAMP.id] == [NOON + 5, NOON + 10, NOON + 15]

    async def test_goes_on_past_a_step_that_fails(self, house, store, driver):
        gone = make_module(DeviceKind.LIGHT, driver="telepathy")
        scene = self.make_scene((gone, ON), (LAMP, ON))
        plant = store.add_plant(LAMP, gone, scene)
        with capture_logs() as logs:
            async with house:
                await house.scenes.run_scene(plant, scene)
                await house.scenes.finish()
        assert house.states() == [OrderState.FAILED, OrderState.CONFIRMED]
        assert "scene step failed" in [entry["event"] for entry in logs]


class TestAfterAKill:
    async def test_queued_orders_within_their_deadline_are_sent_by_who_starts(self, store, clock, driver):
        plant = store.add_plant(LAMP)
        orders = [make_order(plant, LAMP.id, command, order_id=str(number)) for number, command in enumerate((ON, OFF, ON))]
        await store.add_orders(orders, NOON, sent=False)
        async with House(store, clock, driver) as house:
            await house.driving.settled()
        assert driver.orders == orders
        assert house.states() == [OrderState.CONFIRMED] * 3

    async def test_exactly_one_of_two_gateways_sends_them(self, store, clock):
        plant = store.add_plant(LAMP)
        orders = [make_order(plant, LAMP.id, ON, order_id=str(number)) for number in range(20)]
        await store.add_orders(orders, NOON, sent=False)
        drivers = ObedientDriver(clock), ObedientDriver(clock)
        with capture_logs():
            async with House(store, clock, drivers[0]) as one, House(store, clock, drivers[1]) as other:
                await asyncio.gather(one.driving.settled(), other.driving.settled())
        sent = [order.id for driver in drivers for order in driver.orders]
        assert sorted(sent) == sorted(order.id for order in orders)

    async def test_what_was_sent_is_not_sent_again_and_ends_unknown(self, store, driver):
        clock = driver.clock = LoopClock()
        plant = store.add_plant(LAMP)
        await store.add_orders([make_order(plant, LAMP.id, ON, deadline=NOON + 5)], NOON, sent=True)
        with capture_logs():
            async with House(store, clock, driver) as house:
                await house.driving.settled()
                await asyncio.sleep(6.9)
                assert house.states() == [OrderState.SENT], "it may be another gateway's, which is writing its end this moment"
                await asyncio.sleep(5.2)
        assert house.states() == [OrderState.UNKNOWN]
        assert driver.orders == []

    async def test_what_was_queued_too_long_ago_expires_unsent(self, store, clock, driver):
        plant = store.add_plant(LAMP)
        await store.add_orders([make_order(plant, LAMP.id, ON, deadline=NOON - 60)], NOON - 65, sent=False)
        with capture_logs() as logs:
            async with House(store, clock, driver) as house:
                await house.driving.settled()
                while house.states() == [OrderState.QUEUED]:
                    await asyncio.sleep(0)
        assert house.states() == [OrderState.EXPIRED]
        assert driver.orders == []
        assert [entry["orders"] for entry in logs] == [1]

    async def test_settling_goes_on_after_a_failure(self, store, clock, driver):
        plant = store.add_plant(LAMP)
        await store.add_orders([make_order(plant, LAMP.id, ON, deadline=NOON - 60)], NOON - 65, sent=True)
        settle, tries = store.settle_orders, []

        async def fail_first(at: float) -> int:
            tries.append(at)
            if len(tries) == 1:
                raise OSError("disk gone")
            return await settle(at)

        store.settle_orders = fail_first
        with capture_logs():
            async with House(store, clock, driver) as house:
                await asyncio.sleep(5.1)
        assert house.states() == [OrderState.UNKNOWN]


class TestAnEndThatComesTwice:
    async def test_changes_nothing(self, store):
        order = make_order(store.add_plant(LAMP), LAMP.id, ON)
        await store.add_orders([order], NOON, sent=True)
        await store.end_order(OrderEnd(order.id, OrderState.CONFIRMED, NOON))
        await Orders(store, StillClock()).end(order, DeviceTimeout("late"))
        assert store.orders[order.id].state is OrderState.CONFIRMED
