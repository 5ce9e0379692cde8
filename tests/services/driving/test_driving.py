import asyncio
from typing import Any, cast

import pytest

from domogate.domain.commands import OrderState, SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout, Internal
from domogate.domain.states import LightState, PlugState, Reading, Report, Unit
from domogate.fabric.in_process import InProcessFabric
from domogate.ports import StoredState
from domogate.services.driving import plant as driven_plant
from support.clocks import NOON, ManualClock
from support.device_store import FakeStore
from support.devices import FakeDriver, make_id, make_module, make_order
from support.driving_setup import running_driving
from support.log_lines import capture_logs

pytestmark = pytest.mark.usefixtures("virtual_time")

LAMP = make_module(DeviceKind.LIGHT, make_id(100))
SECOND_LAMP = make_module(DeviceKind.LIGHT, make_id(101))
ON, OFF = LightState(on=True), LightState(on=False)
SWITCH_ON = SetLight(on=True)


class TestAnOrder:
    async def test_is_on_disk_before_it_is_acknowledged(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        async with running_driving(store, driver) as driving:
            report = await driving.execute(make_order(plant, LAMP.id, SWITCH_ON))
            assert report.state == ON
            assert store.state_of(plant, LAMP.id) == StoredState(ON, True, NOON)

    async def test_that_cannot_be_recorded_is_not_acknowledged(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        store.fails_on = lambda reports: True
        async with running_driving(store, driver) as driving:
            with capture_logs(), pytest.raises(Internal):
                await driving.execute(make_order(plant, LAMP.id, SWITCH_ON))

    async def test_is_carried_out_once_and_has_the_same_outcome_the_second_time(
        self, store: FakeStore, driver: FakeDriver
    ) -> None:
        plant = store.add_plant(LAMP)
        order = make_order(plant, LAMP.id, SWITCH_ON)
        async with running_driving(store, driver) as driving:
            first = await driving.execute(order)
            driver.answer = OFF
            assert await driving.execute(order) == first
        assert driver.orders == [order]
        assert len(store.reports) == 1

    async def test_is_carried_out_once_when_it_comes_twice_at_a_time(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        order = make_order(plant, LAMP.id, SWITCH_ON)
        async with running_driving(store, driver) as driving:
            first, second = await asyncio.gather(driving.execute(order), driving.execute(order))
        assert first == second
        assert driver.orders == [order]

    async def test_that_was_refused_is_refused_again_without_asking(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        order = make_order(plant, LAMP.id, SWITCH_ON)
        driver.trouble = DeviceRefused("not today")
        async with running_driving(store, driver) as driving:
            for _ in range(2):
                with pytest.raises(DeviceRefused, match="not today"):
                    await driving.execute(order)
        assert driver.orders == [order]

    async def test_whose_caller_gave_up_goes_on_to_its_own_end(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        order = make_order(plant, LAMP.id, SWITCH_ON)
        driver.pause = asyncio.Event()
        async with running_driving(store, driver) as driving:
            await driving.settled()
            first = asyncio.create_task(driving.execute(order))
            while not driver.orders:
                await asyncio.sleep(0)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            assert driver.cancelled == 0
            driver.pause.set()
            assert (await driving.execute(order)).state == ON
        assert driver.orders == [order]
        assert store.orders[order.id].state is OrderState.CONFIRMED

    async def test_that_was_cut_off_is_never_tried_again(
        self, store: FakeStore, driver: FakeDriver, clock: ManualClock
    ) -> None:
        plant = store.add_plant(LAMP)
        order = make_order(plant, LAMP.id, SWITCH_ON, deadline=clock.now() + 5)
        driver.pause = asyncio.Event()
        async with running_driving(store, driver) as driving:
            await driving.settled()
            with pytest.raises(DeviceTimeout):
                await driving.execute(order)
            assert driver.cancelled == 1
            driver.pause = None
            with pytest.raises(DeviceTimeout):
                await driving.execute(order)
        assert driver.orders == [order]
        assert store.orders[order.id].state is OrderState.EXPIRED

    async def test_is_forgotten_when_many_others_have_come(
        self, store: FakeStore, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(driven_plant, "_REMEMBERED_ORDERS", 3)
        plant = store.add_plant(LAMP)
        async with running_driving(store, driver) as driving:
            for number in range(10):
                await driving.execute(make_order(plant, LAMP.id, SWITCH_ON, order_id=str(number)))
            remembered = await driving.execute(make_order(plant, LAMP.id, SWITCH_ON, order_id="9"))
            forgotten = await driving.execute(make_order(plant, LAMP.id, SWITCH_ON, order_id="0"))
        assert (remembered.state, forgotten.state) == (ON, None), "only the store knows the oldest, without its state"
        assert len(driver.orders) == 10

    async def test_is_not_carried_out_after_its_deadline(
        self, store: FakeStore, driver: FakeDriver, clock: ManualClock
    ) -> None:
        plant = store.add_plant(LAMP)
        async with running_driving(store, driver) as driving:
            with pytest.raises(DeviceTimeout):
                await driving.execute(make_order(plant, LAMP.id, SWITCH_ON, deadline=clock.now()))
        assert driver.orders == []

    async def test_whose_time_runs_out_while_the_plant_is_attached_is_not_carried_out(
        self, store: FakeStore, driver: FakeDriver, clock: ManualClock
    ) -> None:
        plant = store.add_plant(LAMP)
        driver.attach_pause = asyncio.Event()
        async with running_driving(store, driver) as driving:
            waiting = asyncio.create_task(driving.execute(make_order(plant, LAMP.id, SWITCH_ON, deadline=clock.now() + 5)))
            await asyncio.sleep(0.001)
            clock.advance(6)
            driver.attach_pause.set()
            with pytest.raises(DeviceTimeout):
                await waiting
        assert driver.orders == []

    async def test_done_in_time_is_recorded_even_if_nobody_waits_any_more(
        self, store: FakeStore, driver: FakeDriver, clock: ManualClock
    ) -> None:
        plant = store.add_plant(LAMP)
        fabric = InProcessFabric(clock)
        async with running_driving(store, driver) as driving:
            fabric.serve(driving)
            await driving.settled()
            store.gate = asyncio.Event()
            with pytest.raises(DeviceTimeout):
                await fabric.execute(make_order(plant, LAMP.id, SWITCH_ON, deadline=clock.now() + 5))
            store.gate.set()
            while store.find_state(plant, LAMP.id) is None:
                await asyncio.sleep(0)
            assert store.state_of(plant, LAMP.id).state == ON

    @pytest.mark.parametrize("fault", [None, DeviceRefused("not today"), DeviceOffline("gone")])
    async def test_answered_just_in_time_is_told_as_it_was_once_that_is_on_disk(
        self, store: FakeStore, driver: FakeDriver, clock: ManualClock, fault: Any
    ) -> None:
        """The deadline passes while the end is being written: the answer is what is written."""
        plant = store.add_plant(LAMP)
        order = make_order(plant, LAMP.id, SWITCH_ON, deadline=clock.now() + 5)
        driver.trouble = fault
        async with running_driving(store, driver) as driving:
            await driving.settled()
            store.gate = asyncio.Event()
            asyncio.get_running_loop().call_later(5.05, store.gate.set)
            told = await asyncio.gather(driving.execute(order), return_exceptions=True)
            assert asyncio.get_running_loop().time() == pytest.approx(5.05, abs=0.01)
        if fault is None:
            assert [answer.state for answer in told if isinstance(answer, Report)] == [ON]
        else:
            assert [(type(answer), str(answer)) for answer in told] == [(type(fault), fault.message)]
        assert store.orders[order.id].state is (OrderState.CONFIRMED if fault is None else OrderState.FAILED)

    @pytest.mark.parametrize("fault", [DeviceOffline, DeviceTimeout, DeviceRefused])
    async def test_raises_the_faults_of_the_device_as_they_are(self, store: FakeStore, driver: FakeDriver, fault: Any) -> None:
        plant = store.add_plant(LAMP)
        driver.trouble = fault("says the device")
        async with running_driving(store, driver) as driving:
            with capture_logs() as logs, pytest.raises(fault, match="says the device"):
                await driving.execute(make_order(plant, LAMP.id, SWITCH_ON))
        assert logs == []
        assert store.records == []

    async def test_on_which_the_driver_breaks_is_refused_and_logged(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        driver.trouble = ZeroDivisionError("a bug")
        async with running_driving(store, driver) as driving:
            with capture_logs() as logs, pytest.raises(DeviceRefused) as raised:
                await driving.execute(make_order(plant, LAMP.id, SWITCH_ON))
            assert "bug" not in raised.value.message
            assert [entry["log_level"] for entry in logs] == ["error"]
            driver.trouble = None
            assert (await driving.execute(make_order(plant, LAMP.id, SWITCH_ON))).state == ON

    async def test_answered_with_a_value_out_of_bounds_is_refused_and_not_recorded(
        self, store: FakeStore, driver: FakeDriver
    ) -> None:
        plant = store.add_plant(LAMP)
        driver.answer = LightState(on=True, level=101)
        async with running_driving(store, driver) as driving:
            with capture_logs(), pytest.raises(DeviceRefused):
                await driving.execute(make_order(plant, LAMP.id, SWITCH_ON))
        assert store.records == []

    async def test_for_an_unknown_plant_module_or_driver_is_offline(self, store: FakeStore, driver: FakeDriver) -> None:
        stranger = make_module(DeviceKind.LIGHT, driver="telepathy")
        plant = store.add_plant(LAMP, stranger)
        with capture_logs() as logs:
            async with running_driving(store, driver) as driving:
                for plant_id, module_id in ((make_id(9), LAMP.id), (plant, make_id(9))):
                    with pytest.raises(DeviceOffline):
                        await driving.execute(make_order(plant_id, module_id, SWITCH_ON))
                with pytest.raises(DeviceOffline, match="telepathy"):
                    await driving.execute(make_order(plant, stranger.id, SWITCH_ON))
        assert [entry["driver"] for entry in logs if entry["log_level"] == "warning"] == ["telepathy"]

    async def test_is_never_undone_by_a_report_made_before_it(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        async with running_driving(store, driver) as driving:
            await driving.settled()
            store.gate = asyncio.Event()
            reporting = asyncio.ensure_future(driver.report([Report(plant, LAMP.id, NOON, state=OFF)]))
            await asyncio.sleep(0)
            ordered = asyncio.create_task(driving.execute(make_order(plant, LAMP.id, SWITCH_ON)))
            await asyncio.sleep(0)
            store.gate.set()
            await ordered
            await reporting
        assert store.state_of(plant, LAMP.id).state == ON


class TestAQuestion:
    async def test_is_recorded_when_the_answer_is_news(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP, states={LAMP.id: StoredState(OFF, True, 1.0)})
        async with running_driving(store, driver) as driving:
            report = await driving.read(plant, LAMP.id, NOON + 5)
            assert report.state == ON
            assert store.state_of(plant, LAMP.id) == StoredState(ON, True, NOON)

    async def test_is_not_recorded_when_it_is_what_was_recorded_last(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP, states={LAMP.id: StoredState(ON, True, 1.0)})
        async with running_driving(store, driver) as driving:
            assert (await driving.read(plant, LAMP.id, NOON + 5)).state == ON
            await driver.report([Report(plant, LAMP.id, NOON, state=OFF)])
            await driving.settled()
            driver.answer = OFF
            await driving.read(plant, LAMP.id, NOON + 5)
        assert [report.state for report in store.reports] == [OFF]

    async def test_of_a_module_nothing_was_known_of_is_recorded_once(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        async with running_driving(store, driver) as driving:
            for _ in range(3):
                await driving.read(plant, LAMP.id, NOON + 5)
        assert [report.state for report in store.reports] == [ON]

    async def test_is_recorded_when_only_reachability_is_different(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP, states={LAMP.id: StoredState(ON, False, 1.0)})
        async with running_driving(store, driver) as driving:
            await driving.read(plant, LAMP.id, NOON + 5)
            await driving.read(plant, LAMP.id, NOON + 5)
        assert [report.reachable for report in store.reports] == [True]

    async def test_is_answered_even_if_it_cannot_be_recorded_and_is_news_again_next_time(
        self, store: FakeStore, driver: FakeDriver
    ) -> None:
        plant = store.add_plant(LAMP)
        store.fails_on = lambda reports: True
        async with running_driving(store, driver) as driving:
            with capture_logs() as logs:
                assert (await driving.read(plant, LAMP.id, NOON + 5)).state == ON
            assert [entry["log_level"] for entry in logs] == ["error"]
            store.fails_on = lambda reports: False
            await driving.read(plant, LAMP.id, NOON + 5)
        assert len(store.reports) == 1

    async def test_is_not_asked_after_its_deadline(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        async with running_driving(store, driver) as driving:
            with pytest.raises(DeviceTimeout):
                await driving.read(plant, LAMP.id, NOON)
        assert driver.questions == []


class TestReportsOfDrivers:
    async def test_are_recorded_together(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP, SECOND_LAMP)
        async with running_driving(store, driver):
            await driver.report([Report(plant, lamp.id, NOON, state=ON) for lamp in (LAMP, SECOND_LAMP)])
        assert [len(record) for record in store.records] == [2]

    async def test_are_recorded_up_to_the_last_one_when_the_gateway_stops(self, store: FakeStore, driver: FakeDriver) -> None:
        plant = store.add_plant(LAMP)
        async with running_driving(store, driver):
            await driver.report([Report(plant, LAMP.id, NOON, state=ON)])
        assert store.state_of(plant, LAMP.id).state == ON
        assert not driver.running

    async def test_that_cannot_be_recorded_do_not_take_others_with_them(self, store: FakeStore, driver: FakeDriver) -> None:
        bad, good = store.add_plant(LAMP), store.add_plant(SECOND_LAMP)
        store.fails_on = lambda reports: any(report.plant_id == bad for report in reports)
        async with running_driving(store, driver) as driving:
            await driving.settled()
            with capture_logs() as logs:
                await driver.report([Report(bad, LAMP.id, NOON, state=ON)])
                await driver.report([Report(good, SECOND_LAMP.id, NOON, state=ON)])
                await driving.settled()
        assert store.state_of(good, SECOND_LAMP.id).state == ON
        assert [entry["plant_id"] for entry in logs] == [bad]

    @pytest.mark.parametrize(
        "bad",
        [
            Report("", "", NOON, state=LightState(on=True, level=-1)),
            Report("", "", NOON, state=PlugState(on=True, power=Reading(100_001, Unit.WATT, NOON))),
            Report("", "", NOON, readings=(("energy", Reading(float("nan"), Unit.WATT_HOUR, NOON)),)),
            Report("", "", NOON, state=LightState(on=True, level=cast(int, "bright"))),
        ],
    )
    async def test_out_of_bounds_are_passed_over(self, store: FakeStore, driver: FakeDriver, bad: Any) -> None:
        plant = store.add_plant(LAMP)
        async with running_driving(store, driver) as driving:
            await driving.settled()
            with capture_logs() as logs:
                await driver.report([bad, Report(plant, LAMP.id, NOON, state=ON)])
                await driving.settled()
        assert [report.state for report in store.reports] == [ON]
        assert [entry["log_level"] for entry in logs] == ["warning"]
