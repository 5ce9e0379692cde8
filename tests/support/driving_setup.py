"""Driving on a fake store and fake drivers."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from domogate.ports import Holdings
from domogate.services.driving import Driving
from support.device_store import FakeStore
from support.devices import FakeDriver


@asynccontextmanager
async def running_driving(
    store: FakeStore,
    *drivers: FakeDriver,
    simulated_plants: int = 10,
    chance: random.Random | None = None,
    holdings: Holdings | None = None,
) -> AsyncIterator[Driving]:
    """Start, and stop at the end. Plants may still be loading."""
    clock = drivers[0].clock
    named = {driver.name: driver for driver in drivers}
    driving = Driving(store, named, clock, simulated_plants=simulated_plants, random_source=chance, holdings=holdings)
    store.listen(driving.apply)
    await driving.start()
    await driving.start_plants()
    try:
        yield driving
    finally:
        await driving.stop()
