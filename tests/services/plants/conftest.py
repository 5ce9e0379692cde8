"""Fixtures of the tests of injected faults."""

import pytest

from domogate.domain.ids import Id
from domogate.domain.states import EmergencyState, LightState
from domogate.ports import StoredState
from domogate.services.plants.fault_injection import FaultInjector
from support.clocks import NOON, ManualClock
from support.device_store import FakeStore
from support.devices import FakeDriver
from support.injection_setup import (
    CONTROLLER,
    HIGH,
    LAMP,
    REMOTE,
    SCENE,
    UNIT,
    WELL,
    RecordedAudit,
)


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
