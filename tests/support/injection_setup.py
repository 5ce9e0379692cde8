"""A plant with modules that can have injected faults, and its driver."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from domogate.domain.commands import SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.domain.plants import ControllerDetail, Module
from domogate.domain.safety import Failure, FailureType
from domogate.domain.states import Battery, EmergencyState, RemoteState, State
from domogate.services.driving import Driving
from domogate.services.plants.read_model import PlantView, ReadModel
from support.device_store import FakeStore
from support.devices import FakeDriver, make_id, make_module
from support.driving_setup import running_driving

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


@asynccontextmanager
async def running(store: FakeStore, driver: FakeDriver) -> AsyncIterator[Driving]:
    async with running_driving(store, driver) as driving:
        await driving.settled()
        yield driving


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
