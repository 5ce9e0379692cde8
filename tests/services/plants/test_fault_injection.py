import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from domogate.domain.commands import OrderState, SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout, NoSuchModule, NoSuchPlant, ValueOutOfRange
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.plants import ControllerDetail, Module, PlantStatus
from domogate.domain.reachability import AbsenceReason
from domogate.domain.safety import Failure, FailureType
from domogate.domain.states import Battery, EmergencyState, LightState, RemoteState, Report, State
from domogate.ports import StoredState
from domogate.services.driving import Driving
from domogate.services.plants.fault_injection import FaultExpiry, FaultInjector
from domogate.services.plants.fault_overlay import is_injected
from domogate.services.plants.read_model import PlantView, ReadModel
from support.clocks import NOON, LoopClock, ManualClock
from support.device_store import FakeStore
from support.devices import FakeDriver, make_id, make_module, make_order

pytestmark = pytest.mark.usefixtures("virtual_time")

LAMP = make_module(DeviceKind.LIGHT, make_id(100))
REMOTE = make_module(DeviceKind.REMOTE, make_id(101))
CONTROLLER = make_module(DeviceKind.EMERGENCY_CONTROLLER, make_id(102), detail=ControllerDetail(alert_level=1))
UNIT = make_module(DeviceKind.EMERGENCY_UNIT, make_id(103), controller_id=CONTROLLER.id)
SCENE = make_module(DeviceKind.SCENE, make_id(104))
ON = SetLight(on=True)
HIGH = RemoteState(battery=Battery.HIGH, firmware=7)
WELL = EmergencyState(failures=(Failure(FailureType.BLOCK_OK),))


class RecordedAudit:
    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []

    def note(self, action: str, **entry: Any) -> None:
        self.entries.append({"action": action, **entry})


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


@pytest.fixture
def driver(clock: ManualClock) -> FakeDriver:
    driver = FakeDriver(clock)
    driver.answers = {LAMP.id: LightState(on=True), REMOTE.id: HIGH, UNIT.id: WELL, CONTROLLER.id: EmergencyState()}
    return driver


@pytest.fixture
def notes() -> RecordedAudit:
    return RecordedAudit()


@pytest.fixture
def injector(store: FakeStore, clock: ManualClock, notes: RecordedAudit) -> FaultInjector:
    return FaultInjector(store, clock, notes)


@pytest.fixture
def plant(store: FakeStore) -> Id:
    states = {
        LAMP.id: StoredState(LightState(on=False), True, NOON),
        REMOTE.id: StoredState(HIGH, True, NOON),
        UNIT.id: StoredState(WELL, True, NOON),
        CONTROLLER.id: StoredState(EmergencyState(alert=False), True, NOON),
    }
    return store.add_plant(LAMP, REMOTE, CONTROLLER, UNIT, SCENE, states=states)


@asynccontextmanager
async def running(store: FakeStore, driver: FakeDriver) -> AsyncIterator[Driving]:
    driving = Driving(store, {driver.name: driver}, driver.clock, simulated_plants=10)
    store.listen(driving.apply)
    await driving.start()
    await driving.settled()
    try:
        yield driving
    finally:
        await driving.stop()


async def get_view(read_model: ReadModel, plant: Id) -> PlantView:
    view = await read_model.get_plant(plant)
    assert view is not None
    return view


def battery_of(state: State | None) -> Battery:
    assert isinstance(state, RemoteState)
    return state.battery


def emergency_state_of(store: FakeStore, plant: Id, module: Module) -> EmergencyState:
    state = store.state_of(plant, module.id).state
    assert isinstance(state, EmergencyState)
    return state


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


class TestTheInjector:
    async def test_expands_a_battery_of_a_plant_to_its_remotes(
        self, store: FakeStore, injector: FaultInjector, plant: Id
    ) -> None:
        injected = await injector.inject(plant, None, InjectedFault.BATTERY, "low")
        assert [injection.module_id for injection in injected] == [REMOTE.id]
        assert store.plants[plant].injections == (Injection(InjectedFault.BATTERY, REMOTE.id, "low", None, HIGH),)

    @pytest.mark.parametrize(("value", "module"), [("BLOCK.DLD", UNIT), ("REMOTE.STATUS.BATTERY_FAULT", CONTROLLER)])
    async def test_expands_a_failure_of_a_plant_to_the_modules_that_can_have_it(
        self, injector: FaultInjector, plant: Id, value: str, module: Module
    ) -> None:
        injected = await injector.inject(plant, None, InjectedFault.FAILURE, value)
        assert [injection.module_id for injection in injected] == [module.id]

    @pytest.mark.parametrize("fault", ["offline", "slow", "refusing", "408", "469", "470", "500"])
    async def test_keeps_every_other_fault_of_a_plant_as_one(self, injector: FaultInjector, plant: Id, fault: Any) -> None:
        (injected,) = await injector.inject(plant, None, InjectedFault(fault))
        assert injected.module_id is None

    @pytest.mark.parametrize(
        ("module_id", "fault", "value", "until", "refusal"),
        [
            (REMOTE.id, "battery", "empty", None, ValueOutOfRange),
            (REMOTE.id, "battery", "", None, ValueOutOfRange),
            (UNIT.id, "failure", "BLOCK.SAD", None, ValueOutOfRange),
            (LAMP.id, "offline", "very", None, ValueOutOfRange),
            (LAMP.id, "offline", "", NOON, ValueOutOfRange),
            (LAMP.id, "offline", "", float("nan"), ValueOutOfRange),
            (LAMP.id, "battery", "low", None, NoSuchModule),
            (REMOTE.id, "failure", "BLOCK.OK", None, NoSuchModule),
            (make_id(9), "offline", "", None, NoSuchModule),
        ],
    )
    async def test_refuses_what_makes_no_sense(
        self,
        store: FakeStore,
        injector: FaultInjector,
        plant: Id,
        notes: RecordedAudit,
        module_id: Id | None,
        fault: Any,
        value: str,
        until: float | None,
        refusal: type[Exception],
    ) -> None:
        with pytest.raises(refusal):
            await injector.inject(plant, module_id, InjectedFault(fault), value, until)
        assert store.plants[plant].injections == ()
        assert notes.entries == []

    async def test_refuses_plants_that_are_not_there_or_hold_nothing_that_could_have_it(
        self, store: FakeStore, injector: FaultInjector
    ) -> None:
        lamp_only = store.add_plant(LAMP)
        with pytest.raises(NoSuchModule):
            await injector.inject(lamp_only, None, InjectedFault.BATTERY, "low")
        store.change_plant(lamp_only, LAMP, status=PlantStatus.REMOVED)
        for plant_id in (lamp_only, make_id(8)):
            with pytest.raises(NoSuchPlant):
                await injector.inject(plant_id, None, InjectedFault.OFFLINE)

    async def test_notes_who_did_what(self, injector: FaultInjector, plant: Id, notes: RecordedAudit) -> None:
        await injector.inject(plant, REMOTE.id, InjectedFault.BATTERY, "low", who="operator", address="::1")
        await injector.clear(plant, who="operator")
        await injector.clear(plant, who="operator")
        assert [entry["detail"] for entry in notes.entries] == [
            {"inject": "battery", "value": "low"},
            {"clear": "all", "faults": "1"},
        ]
        assert {entry["who"] for entry in notes.entries} == {"operator"}
        assert notes.entries[0]["what"] == f"plant:{plant} module:{REMOTE.id}"

    async def test_lists_what_holds(self, injector: FaultInjector, plant: Id, clock: ManualClock) -> None:
        await injector.inject(plant, LAMP.id, InjectedFault.OFFLINE, until=NOON + 10)
        await injector.inject(plant, None, InjectedFault.SLOW)
        assert len(await injector.list()) == 2
        clock.advance(10)
        assert [injection.fault for _, injection in await injector.list()] == [InjectedFault.SLOW]

    async def test_injecting_again_replaces(self, injector: FaultInjector, plant: Id) -> None:
        await injector.inject(plant, REMOTE.id, InjectedFault.BATTERY, "low")
        await injector.inject(plant, REMOTE.id, InjectedFault.BATTERY, "full")
        assert [injection.value for _, injection in await injector.list()] == ["full"]


class TestFaultsThatAreOver:
    async def test_are_cleared_in_time_and_the_true_state_is_back(
        self, store: FakeStore, plant: Id, notes: RecordedAudit
    ) -> None:
        clock = LoopClock()
        driver, injector = FakeDriver(clock), FaultInjector(store, clock, notes)
        timer = FaultExpiry(injector, clock)
        store.listen(timer.apply)
        async with running(store, driver) as driving:
            await timer.start()
            await injector.inject(plant, LAMP.id, InjectedFault.OFFLINE, until=clock.now() + 30)
            await driving.settled()
            await asyncio.sleep(29.9)
            assert not store.state_of(plant, LAMP.id).reachable
            await asyncio.sleep(0.2)
            await driving.settled()
            assert store.state_of(plant, LAMP.id).reachable
            await timer.stop()
        assert store.plants[plant].injections == ()

    async def test_do_not_hold_any_more_even_before_they_are_cleared(
        self, store: FakeStore, driver: FakeDriver, injector: FaultInjector, plant: Id, clock: ManualClock
    ) -> None:
        async with running(store, driver) as driving:
            await injector.inject(plant, LAMP.id, InjectedFault.REFUSING, until=NOON + 5)
            with pytest.raises(DeviceRefused):
                await driving.execute(make_order(plant, LAMP.id, ON))
            clock.advance(5)
            assert (await driving.execute(make_order(plant, LAMP.id, ON))).state == LightState(on=True)

    async def test_that_cannot_be_cleared_are_tried_again(
        self, store: FakeStore, injector: FaultInjector, plant: Id, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await injector.inject(plant, LAMP.id, InjectedFault.SLOW, until=NOON + 1)
        clock.advance(2)
        clear, tries = store.clear_injections, []

        async def fail_first(*arguments: Any, **named: Any) -> int:
            tries.append(arguments)
            if len(tries) == 1:
                raise OSError("disk gone")
            return await clear(*arguments, **named)

        monkeypatch.setattr(store, "clear_injections", fail_first)
        timer = FaultExpiry(injector, clock)
        with capture_logs() as logs:
            await timer.start()
            async with asyncio.timeout(60):
                while store.plants[plant].injections:
                    await asyncio.sleep(1)
            await timer.stop()
        assert [entry["log_level"] for entry in logs] == ["error"]
