"""A driver or plant that crashes, hangs or floods does not affect a healthy one.

These tests use virtual time: no real clock is read, and the tests control the order of events.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from domogate.domain.commands import Order, OrderState, SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceRefused, DeviceTimeout, Internal
from domogate.domain.ids import Id
from domogate.domain.states import LightState, Reading, Report, Unit
from domogate.fabric.in_process import InProcessFabric
from domogate.ports import StoredPlant
from domogate.services.driving import Driving, calls, recorder
from domogate.services.driving.recorder import Recorder, ReportQueue, TooManyReports
from support.clocks import NOON, LoopClock, ManualClock
from support.device_store import FakeStore
from support.devices import FakeDriver, make_id, make_module, make_order
from support.log_lines import capture_logs

pytestmark = pytest.mark.usefixtures("virtual_time")

LAMP = make_module(DeviceKind.LIGHT, make_id(100))
REAL = make_module(DeviceKind.LIGHT, make_id(101), driver="mqtt")
SWITCH_ON = SetLight(on=True)
ON, OFF = LightState(on=True), LightState(on=False)


class SilentDriver(FakeDriver):
    """Never answers and ignores cancellation, until a test releases it."""

    def __init__(self, clock: ManualClock, name: str = "mqtt") -> None:
        super().__init__(clock, name)
        self.release = asyncio.Event()

    async def _answer(self, plant_id: Id, module_id: Id) -> Report:
        while not self.release.is_set():
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
        return Report(plant_id, module_id, self.clock.now(), state=self.answer)


@pytest.fixture
def clock() -> LoopClock:
    return LoopClock()


@pytest.fixture
def healthy(clock: LoopClock) -> FakeDriver:
    return FakeDriver(clock)


@pytest.fixture
async def deaf(clock: LoopClock) -> AsyncIterator[SilentDriver]:
    driver = SilentDriver(clock)
    yield driver
    driver.release.set()


@asynccontextmanager
async def running(store: FakeStore, *drivers: FakeDriver) -> AsyncIterator[tuple[Driving, InProcessFabric]]:
    clock = drivers[0].clock
    driving = Driving(store, {each.name: each for each in drivers}, clock, simulated_plants=10)
    store.listen(driving.apply)
    fabric = InProcessFabric(clock)
    fabric.serve(driving)
    await driving.start()
    await driving.start_plants()
    await driving.settled()
    try:
        yield driving, fabric
    finally:
        await driving.stop()


async def until(check: Callable[[], object]) -> None:
    async with asyncio.timeout(4):
        while not check():
            await asyncio.sleep(0.001)


class TestADriverThatNeverAnswers:
    @pytest.mark.parametrize("what", ["order", "question"])
    async def test_is_a_time_out_before_a_quarter_of_a_second_more_has_passed(
        self, store: FakeStore, deaf: SilentDriver, clock: ManualClock, what: str
    ) -> None:
        """Also when it ignores its cancellation."""
        plant = store.add_plant(REAL)
        with capture_logs():
            async with running(store, deaf) as (_, fabric):
                deadline = clock.now() + 5
                order = make_order(plant, REAL.id, SWITCH_ON, deadline=deadline)
                asked = fabric.execute(order) if what == "order" else fabric.read(plant, REAL.id, deadline)
                with pytest.raises(DeviceTimeout):
                    await asked
                assert deadline <= clock.now() < deadline + 0.25
                deaf.release.set()

    async def test_is_a_time_out_in_time_even_if_the_end_cannot_be_written(
        self, store: FakeStore, deaf: SilentDriver, clock: ManualClock
    ) -> None:
        plant = store.add_plant(REAL)
        with capture_logs():
            async with running(store, deaf) as (_, fabric):
                store.gate = asyncio.Event()
                deadline = clock.now() + 5
                with pytest.raises(DeviceTimeout):
                    await fabric.execute(make_order(plant, REAL.id, SWITCH_ON, deadline=deadline))
                assert deadline < clock.now() < deadline + 0.25
                store.gate.set()
                deaf.release.set()

    async def test_is_counted_as_stuck_and_what_it_says_in_the_end_is_still_true(
        self, store: FakeStore, deaf: SilentDriver, clock: ManualClock
    ) -> None:
        plant = store.add_plant(REAL)
        order = make_order(plant, REAL.id, SWITCH_ON, deadline=clock.now() + 5)
        with capture_logs():
            async with running(store, deaf) as (driving, fabric):
                with pytest.raises(DeviceTimeout):
                    await fabric.execute(order)
                assert store.orders[order.id].state is OrderState.EXPIRED
                await until(lambda: driving.list_drivers()[0].stuck_calls == 1)
                deaf.release.set()
                await until(lambda: driving.list_drivers()[0].stuck_calls == 0)
                await until(lambda: store.find_state(plant, REAL.id) is not None)
        assert store.state_of(plant, REAL.id).state == ON
        assert store.orders[order.id].state is OrderState.EXPIRED

    async def test_cannot_pile_up_calls_without_end(
        self, store: FakeStore, deaf: SilentDriver, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(calls, "MOST_IN_A_PLANT", 5)
        plant, other = store.add_plant(REAL), store.add_plant(LAMP)
        healthy = FakeDriver(clock)
        with capture_logs():
            async with running(store, deaf, healthy) as (_, fabric):
                orders = [make_order(plant, REAL.id, SWITCH_ON, deadline=clock.now() + 5) for _ in range(8)]
                outcomes = await asyncio.gather(*map(fabric.execute, orders), return_exceptions=True)
                assert [type(outcome) for outcome in outcomes] == [DeviceTimeout] * 5 + [Internal] * 3
                assert len(deaf.orders) == 5
                with pytest.raises(Internal, match="not asked: too many") as refused:
                    await fabric.execute(make_order(plant, REAL.id, SWITCH_ON))
                assert refused.value.is_temporary
                assert (await fabric.execute(make_order(other, LAMP.id, SWITCH_ON))).state == ON
                deaf.release.set()
                await until(lambda: deaf.cancelled == 5)
                await until(lambda: store.orders[orders[0].id].state is not OrderState.SENT)
        assert len(store.orders) == 6

    @pytest.mark.slow
    async def test_a_thousand_times_does_not_delay_another_plant(
        self, store: FakeStore, deaf: SilentDriver, clock: ManualClock
    ) -> None:
        plant, other = store.add_plant(REAL), store.add_plant(LAMP)
        healthy = FakeDriver(clock)
        done: list[str] = []

        async def order(fabric: InProcessFabric, wanted: Order, name: str) -> None:
            try:
                await fabric.execute(wanted)
            except DeviceTimeout:
                pass
            finally:
                done.append(name)

        with capture_logs():
            async with running(store, deaf, healthy) as (_, fabric):
                slow = [make_order(plant, REAL.id, SWITCH_ON, deadline=clock.now() + 5) for _ in range(1000)]
                waiting = [asyncio.create_task(order(fabric, each, "slow")) for each in slow]
                await until(lambda: len(deaf.orders) == 1000)
                for _ in range(50):
                    await order(fabric, make_order(other, LAMP.id, SWITCH_ON), "healthy")
                assert done == ["healthy"] * 50
                await asyncio.gather(*waiting)
                deaf.release.set()
        assert done.count("slow") == 1000
        assert len({each.id for each in deaf.orders}) == 1000
        ends = [store.orders[each.id].state for each in slow]
        assert ends == [OrderState.EXPIRED] * 1000


class LoadlessStore(FakeStore):
    """A store that never returns a plant."""

    async def find_plant(self, plant_id: Id) -> StoredPlant | None:
        await asyncio.Event().wait()
        return None


class TestAPlantThatIsNeverLoaded:
    @pytest.mark.parametrize("what", ["order", "question", "picture"])
    async def test_is_a_time_out_before_a_quarter_of_a_second_more_has_passed(self, clock: LoopClock, what: str) -> None:
        driving = Driving(LoadlessStore(), {"simulator": FakeDriver(clock)}, clock, simulated_plants=10)
        fabric = InProcessFabric(clock)
        fabric.serve(driving)
        await driving.start()
        await driving.start_plants()
        deadline = clock.now() + 5
        asked: dict[str, Callable[[], Awaitable[object]]] = {
            "order": lambda: fabric.execute(make_order(make_id(1), LAMP.id, SWITCH_ON, deadline=deadline)),
            "question": lambda: fabric.read(make_id(1), LAMP.id, deadline),
            "picture": lambda: fabric.take_picture(make_id(1), LAMP.id, deadline),
        }
        with pytest.raises(DeviceTimeout):
            await asked[what]()
        assert deadline <= clock.now() < deadline + 0.25
        await driving.stop()


class TestADriverThatCrashes:
    async def test_on_every_call_is_a_refusal_and_no_other_driver_is_affected(
        self, store: FakeStore, healthy: FakeDriver, clock: ManualClock
    ) -> None:
        broken = FakeDriver(clock, "mqtt")
        broken.trouble = ZeroDivisionError("a bug")
        plant = store.add_plant(REAL, LAMP)
        with capture_logs():
            async with running(store, broken, healthy) as (_, fabric):
                for _ in range(3):
                    with pytest.raises(DeviceRefused):
                        await fabric.execute(make_order(plant, REAL.id, SWITCH_ON))
                    assert (await fabric.execute(make_order(plant, LAMP.id, SWITCH_ON))).state == ON


class TestADriverThatFloods:
    def reports(self, plant: Id, module_id: Id, count: int) -> list[Report]:
        return [Report(plant, module_id, NOON, state=LightState(on=True, level=number % 100)) for number in range(count)]

    async def test_has_one_batch_at_a_time_on_its_way_so_others_come_between(
        self, store: FakeStore, healthy: FakeDriver, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(recorder, "_BATCH", 10)
        flooding = FakeDriver(clock, "mqtt")
        plant = store.add_plant(REAL, LAMP)
        async with running(store, flooding, healthy):
            flood = [asyncio.ensure_future(flooding.report(self.reports(plant, REAL.id, 100))) for _ in range(5)]
            await asyncio.sleep(0)
            await healthy.report([Report(plant, LAMP.id, NOON, state=OFF)])
            ahead = len(store.records)
            assert store.state_of(plant, LAMP.id).state == OFF
            await asyncio.gather(*flood)
        assert ahead <= 4, "the healthy driver's report waited for more than the batches that were on their way"
        assert len(store.records) == 51

    async def test_without_waiting_is_refused_at_last_and_only_it(
        self, store: FakeStore, healthy: FakeDriver, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(recorder, "_MOST_WAITING", 300)
        flooding = FakeDriver(clock, "mqtt")
        plant = store.add_plant(REAL, LAMP)
        async with running(store, flooding, healthy) as (driving, _):
            store.gate = asyncio.Event()
            flood = [asyncio.ensure_future(flooding.report(self.reports(plant, REAL.id, 100))) for _ in range(10)]
            await until(lambda: sum(task.done() for task in flood) == 7)
            waiting = {each.name: each.waiting_reports for each in driving.list_drivers()}
            assert waiting == {"mqtt": 300, "simulator": 0}
            said = asyncio.ensure_future(healthy.report([Report(plant, LAMP.id, NOON, state=OFF)]))
            store.gate.set()
            await said
            outcomes = await asyncio.gather(*flood, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes].count(TooManyReports) == 7
        assert store.state_of(plant, LAMP.id).state == OFF

    async def test_never_undoes_an_order_with_what_it_said_before_it(self, store: FakeStore, clock: ManualClock) -> None:
        flooding = FakeDriver(clock, "mqtt")
        plant = store.add_plant(REAL)
        async with running(store, flooding) as (_, fabric):
            store.gate = asyncio.Event()
            readings = (("power", Reading(1.0, Unit.WATT, NOON)),)
            earlier = [Report(plant, REAL.id, NOON, state=OFF, readings=readings)]
            said = [asyncio.ensure_future(flooding.report(earlier)) for _ in range(3)]
            await asyncio.sleep(0)
            ordered = asyncio.create_task(fabric.execute(make_order(plant, REAL.id, SWITCH_ON)))
            await until(lambda: flooding.orders)
            await asyncio.sleep(0)
            store.gate.set()
            await asyncio.gather(ordered, *said)
        assert store.state_of(plant, REAL.id).state == ON
        assert len(store.readings[REAL.id]) == 3, "what was measured is kept, overtaken or not"


class TestAReportQueue:
    async def test_records_at_once_for_a_driver_that_waits(self, store: FakeStore) -> None:
        plant = store.add_plant(LAMP)
        queue = ReportQueue(Recorder(store))
        said: Sequence[Report] = [Report(plant, LAMP.id, NOON, state=ON)]
        for _ in range(3):
            await queue.push(said)
            assert queue.waiting == 0
        assert len(store.records) == 3
