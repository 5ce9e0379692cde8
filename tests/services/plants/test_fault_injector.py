"""Which faults can be injected, listed and cleared, and what happens when they are over."""

import asyncio
from typing import Any

import pytest

from domogate.domain.faults import DeviceRefused, NoSuchModule, NoSuchPlant, ValueOutOfRange
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.plants import Module, PlantStatus
from domogate.domain.states import LightState
from domogate.services.plants.fault_injection import FaultExpiry, FaultInjector
from support.clocks import NOON, LoopClock, ManualClock
from support.device_store import FakeStore
from support.devices import FakeDriver, make_id, make_order
from support.injection_setup import (
    CONTROLLER,
    HIGH,
    LAMP,
    ON,
    REMOTE,
    UNIT,
    RecordedAudit,
    running,
)
from support.log_lines import capture_logs

pytestmark = pytest.mark.usefixtures("virtual_time")


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
            (CONTROLLER.id, "failure", "BLOCK.DLD", None, NoSuchModule),
            (UNIT.id, "failure", "REMOTE.STATUS.BATTERY_FAULT", None, NoSuchModule),
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
