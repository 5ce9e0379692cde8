"""E2 with a remote whose driver says that it is offline (Decision 0008)."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, DeviceTimeout, Fault
from domogate.domain.people import Principal
from domogate.domain.states import Battery, RemoteState
from domogate.families._call import Call, ReadServices
from domogate.families.homectl import read_remote
from domogate.ports import StoredState
from domogate.services.plants.read_model import ReadModel
from support.clocks import NOON, ManualClock
from support.device_store import FakeStore
from support.devices import FakeDriver, make_id, make_module
from support.order_setup import OrderSetup

pytestmark = pytest.mark.usefixtures("virtual_time")

REMOTE = make_module(DeviceKind.REMOTE, make_id(1))
LOW = RemoteState(battery=Battery.LOW, firmware=7)


@asynccontextmanager
async def an_old_remote(trouble: Fault) -> AsyncIterator[tuple[ReadServices, Call]]:
    """A remote whose last state is a day old. If the driver is asked, it raises `trouble`."""
    store, clock = FakeStore(), ManualClock(NOON)
    driver = FakeDriver(clock)
    plant_id = store.add_plant(REMOTE, states={REMOTE.id: StoredState(LOW, True, NOON)})
    clock.advance(86_400)
    async with OrderSetup(store, clock, driver) as setup:
        driver.trouble = trouble
        read_model = ReadModel(store, max_modules=10)
        plant = await read_model.get_plant(plant_id)
        assert plant is not None
        unused: Any = None
        principal: Principal = unused
        services = ReadServices(read_model=read_model, control=setup.control, clock=clock, removed_plants_kept=0.0)
        yield services, Call(principal, "", plant=plant, module=plant.modules[REMOTE.id])


class TestE2RemoteStatus:
    async def test_a_driver_that_finds_the_remote_offline_is_shown_with_the_last_known_state(self) -> None:
        async with an_old_remote(DeviceOffline("no device is subscribed")) as (services, call):
            answer = await read_remote(services, call)
        (remote,) = json.loads(answer.body)["remotes"]
        assert (remote["reachable"], remote["battery"], remote["fw"]) == (False, "low", 7)

    async def test_a_remote_that_does_not_answer_in_time_is_a_fault(self) -> None:
        async with an_old_remote(DeviceTimeout("no answer")) as (services, call):
            with pytest.raises(DeviceTimeout):
                await read_remote(services, call)
