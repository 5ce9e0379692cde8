import asyncio

import pytest

from domogate.domain.commands import OrderState
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault
from domogate.domain.reachability import AbsenceReason
from domogate.domain.safety import FailureType
from domogate.domain.states import Battery, LightState, RemoteState, Report
from domogate.ports import StoredState
from domogate.services.plants.fault_injection import FaultInjector
from domogate.services.plants.fault_overlay import is_injected
from domogate.services.plants.read_model import ReadModel
from support.clocks import NOON, ManualClock
from support.device_store import FakeStore
from support.devices import FakeDriver, make_order
from support.injection_setup import (
    CONTROLLER,
    HIGH,
    LAMP,
    ON,
    REMOTE,
    SCENE,
    UNIT,
    WELL,
    battery_of,
    emergency_state_of,
    get_view,
    running,
)

pytestmark = pytest.mark.usefixtures("virtual_time")


class TestOffline:
    async def test_shows_at_once_and_ends_at_once(
        self, store: FakeStore, driver: FakeDriver, injector: FaultInjector, plant: Id
    ) -> None:
        async with running(store, driver) as driving:
            await injector.inject(plant, LAMP.id, InjectedFault.OFFLINE)
            await driving.settled()
            away = store.state_of(plant, LAMP.id)
            assert (away.reachable, away.state) == (False, LightState(on=False))
            assert store.absence_of(plant, LAMP.id).why is AbsenceReason.INJECTED
            assert store.state_of(plant, REMOTE.id).reachable
            await injector.clear(plant, LAMP.id)
            await driving.settled()
            back = store.state_of(plant, LAMP.id)
            assert (back.reachable, back.absence, back.state) == (True, None, LightState(on=True))

    async def test_of_a_plant_is_of_all_its_modules(
        self, store: FakeStore, driver: FakeDriver, injector: FaultInjector, plant: Id
    ) -> None:
        async with running(store, driver) as driving:
            await injector.inject(plant, None, InjectedFault.OFFLINE)
            await driving.settled()
            assert not any(store.state_of(plant, module.id).reachable for module in (LAMP, REMOTE, UNIT, CONTROLLER))
            reasons = {store.absence_of(plant, module.id).why for module in (LAMP, REMOTE, UNIT, CONTROLLER)}
            assert reasons == {AbsenceReason.INJECTED}
            await injector.clear(plant)
            await driving.settled()
            assert all(store.state_of(plant, module.id).reachable for module in (LAMP, REMOTE, UNIT, CONTROLLER))
            assert store.find_state(plant, SCENE.id) is None, "a scene is no device"

    async def test_answers_orders_and_questions_in_the_devices_place(
        self, store: FakeStore, driver: FakeDriver, injector: FaultInjector, plant: Id
    ) -> None:
        async with running(store, driver) as driving:
            await injector.inject(plant, LAMP.id, InjectedFault.OFFLINE)
            with pytest.raises(DeviceOffline):
                await driving.execute(make_order(plant, LAMP.id, ON))
            answer = await driving.read(plant, LAMP.id, NOON + 5)
            assert answer.absence is not None
            assert (answer.reachable, answer.absence.why) == (False, AbsenceReason.INJECTED)
        assert (driver.orders, driver.questions) == ([], [])
        assert [record.state for record in store.orders.values()] == [OrderState.FAILED]

    async def test_silences_what_the_driver_says(
        self, store: FakeStore, driver: FakeDriver, injector: FaultInjector, plant: Id
    ) -> None:
        async with running(store, driver) as driving:
            await injector.inject(plant, LAMP.id, InjectedFault.OFFLINE)
            await driving.settled()
            await driver.report([Report(plant, LAMP.id, NOON, state=LightState(on=True))])
            assert not store.state_of(plant, LAMP.id).reachable

    @pytest.mark.parametrize("asks", ["order", "question"])
    async def test_hides_the_answer_to_an_earlier_order_or_question(
        self, store: FakeStore, driver: FakeDriver, injector: FaultInjector, plant: Id, asks: str
    ) -> None:
        async with running(store, driver) as driving:
            driver.pause = asyncio.Event()
            order = make_order(plant, LAMP.id, ON, deadline=NOON + 5)
            call = driving.execute(order) if asks == "order" else driving.read(plant, LAMP.id, NOON + 5)
            calling = asyncio.create_task(call)
            while not (driver.orders or driver.questions):
                await asyncio.sleep(0)
            await injector.inject(plant, LAMP.id, InjectedFault.OFFLINE)
            await driving.settled()
            driver.pause.set()
            assert (await calling).reachable is (asks == "order")
            away = store.state_of(plant, LAMP.id)
            assert not away.reachable
            assert is_injected(away.absence)
            if asks == "order":
                assert store.orders[order.id].state is OrderState.CONFIRMED

    async def test_that_was_cleared_while_no_gateway_ran_is_over_at_the_start(
        self, store: FakeStore, driver: FakeDriver, injector: FaultInjector, plant: Id
    ) -> None:
        async with running(store, driver) as driving:
            await injector.inject(plant, LAMP.id, InjectedFault.OFFLINE)
            await driving.settled()
        await injector.clear(plant)
        async with running(store, driver) as driving:
            await driving.settled()
            assert driver.attached[plant][LAMP.id].last.reachable
            assert store.state_of(plant, LAMP.id).reachable

    async def test_gives_way_to_a_true_absence(
        self, store: FakeStore, driver: FakeDriver, injector: FaultInjector, plant: Id
    ) -> None:
        async with running(store, driver) as driving:
            await injector.inject(plant, LAMP.id, InjectedFault.OFFLINE)
            await driving.settled()
            driver.trouble = DeviceOffline("unplugged")
            await injector.clear(plant)
            await driving.settled()
        absence = store.absence_of(plant, LAMP.id)
        assert not store.state_of(plant, LAMP.id).reachable
        assert (absence.why, absence.evidence) == (AbsenceReason.CONNECTION_LOST, "unplugged")


class TestSlow:
    async def test_never_answers_in_time(
        self, store: FakeStore, driver: FakeDriver, injector: FaultInjector, plant: Id, clock: ManualClock
    ) -> None:
        async with running(store, driver) as driving:
            await injector.inject(plant, LAMP.id, InjectedFault.SLOW)
            order = make_order(plant, LAMP.id, ON, deadline=clock.now() + 5)
            with pytest.raises(DeviceTimeout):
                await driving.execute(order)
            with pytest.raises(DeviceTimeout):
                await driving.read(plant, LAMP.id, clock.now() + 5)
        assert (driver.orders, driver.questions) == ([], [])
        assert store.orders[order.id].state is OrderState.EXPIRED

    async def test_is_never_fresh(self, store: FakeStore, driver: FakeDriver, injector: FaultInjector, plant: Id) -> None:
        read_model = ReadModel(store, max_modules=100)
        store.listen(read_model.apply)
        await injector.inject(plant, LAMP.id, InjectedFault.SLOW)
        view = await get_view(read_model, plant)
        assert view.modules[LAMP.id].confirmed_at == 0.0
        assert view.modules[REMOTE.id].confirmed_at == NOON
        await store.record([Report(plant, LAMP.id, NOON + 1, state=LightState(on=True))])
        assert view.modules[LAMP.id].confirmed_at == 0.0


class TestRefusing:
    async def test_can_be_read_and_obeys_nothing(
        self, store: FakeStore, driver: FakeDriver, injector: FaultInjector, plant: Id
    ) -> None:
        async with running(store, driver) as driving:
            await injector.inject(plant, None, InjectedFault.REFUSING)
            with pytest.raises(DeviceRefused):
                await driving.execute(make_order(plant, LAMP.id, ON))
            assert (await driving.read(plant, LAMP.id, NOON + 5)).state == LightState(on=True)
        assert driver.orders == []


class TestBatteryAndFailure:
    async def test_cover_the_true_state_until_they_are_cleared(
        self, store: FakeStore, driver: FakeDriver, injector: FaultInjector, plant: Id
    ) -> None:
        async with running(store, driver) as driving:
            await injector.inject(plant, REMOTE.id, InjectedFault.BATTERY, "very_low")
            await driving.settled()
            assert store.state_of(plant, REMOTE.id).state == RemoteState(battery=Battery.VERY_LOW, firmware=7)
            medium = RemoteState(battery=Battery.MEDIUM, firmware=7)
            await driver.report([Report(plant, REMOTE.id, NOON, state=medium)])
            assert battery_of(store.state_of(plant, REMOTE.id).state) is Battery.VERY_LOW
            driver.answers[REMOTE.id] = medium
            assert battery_of((await driving.read(plant, REMOTE.id, NOON + 5)).state) is Battery.VERY_LOW
            await injector.clear(plant)
            await driving.settled()
            assert store.state_of(plant, REMOTE.id) == StoredState(medium, True, NOON)

    async def test_are_not_what_a_driver_goes_on_from(
        self, store: FakeStore, driver: FakeDriver, injector: FaultInjector, plant: Id
    ) -> None:
        async with running(store, driver) as driving:
            await injector.inject(plant, REMOTE.id, InjectedFault.BATTERY, "low")
            await driving.settled()
        async with running(store, driver) as driving:
            assert driver.attached[plant][REMOTE.id].last.state == HIGH
            assert battery_of(store.state_of(plant, REMOTE.id).state) is Battery.LOW

    async def test_a_failure_puts_the_controller_in_alert_and_out_of_it(
        self, store: FakeStore, driver: FakeDriver, injector: FaultInjector, plant: Id
    ) -> None:
        async with running(store, driver) as driving:
            await injector.inject(plant, UNIT.id, InjectedFault.FAILURE, "BLOCK.FAULTY_BATTERY")
            await driving.settled()
            assert [failure.type for failure in emergency_state_of(store, plant, UNIT).failures] == [
                FailureType.BLOCK_FAULTY_BATTERY
            ]
            assert emergency_state_of(store, plant, CONTROLLER).alert is True
            await injector.clear(plant)
            await driving.settled()
            assert store.state_of(plant, UNIT.id).state == WELL
            assert emergency_state_of(store, plant, CONTROLLER).alert is False

    async def test_of_a_remote_nothing_was_known_of_is_its_first_state(
        self, store: FakeStore, driver: FakeDriver, injector: FaultInjector
    ) -> None:
        plant = store.add_plant(REMOTE)
        async with running(store, driver) as driving:
            await injector.inject(plant, REMOTE.id, InjectedFault.BATTERY, "full")
            await driving.settled()
            assert store.state_of(plant, REMOTE.id).state == RemoteState(battery=Battery.FULL)


class TestTheReadModel:
    async def test_sees_a_fault_and_its_end_without_waiting_for_a_driver(
        self, store: FakeStore, injector: FaultInjector, plant: Id
    ) -> None:
        read_model = ReadModel(store, max_modules=100)
        store.listen(read_model.apply)
        await read_model.get_plant(plant)
        await injector.inject(plant, REMOTE.id, InjectedFault.BATTERY, "low")
        await injector.inject(plant, LAMP.id, InjectedFault.OFFLINE)
        await injector.inject(plant, None, InjectedFault.INTERNAL)
        view = await get_view(read_model, plant)
        assert battery_of(view.modules[REMOTE.id].state) is Battery.LOW
        assert not view.modules[LAMP.id].reachable
        assert is_injected(view.modules[LAMP.id].absence)
        assert {injection.fault for injection in view.injections} == {"battery", "offline", "500"}
        await store.record([Report(plant, LAMP.id, NOON, state=LightState(on=True))])
        assert not view.modules[LAMP.id].reachable
        await injector.clear()
        view = await get_view(read_model, plant)
        assert view.modules[REMOTE.id].state == HIGH
        assert view.modules[LAMP.id].reachable
        assert view.injections == ()

    async def test_ignores_a_stored_absence_of_a_cleared_fault(
        self, store: FakeStore, injector: FaultInjector, plant: Id, driver: FakeDriver
    ) -> None:
        read_model = ReadModel(store, max_modules=100)
        async with running(store, driver) as driving:
            await injector.inject(plant, LAMP.id, InjectedFault.OFFLINE)
            await driving.settled()
        await injector.clear()
        lamp = (await get_view(read_model, plant)).modules[LAMP.id]
        assert (lamp.reachable, lamp.absence, lamp.confirmed_at) == (True, None, 0.0)
