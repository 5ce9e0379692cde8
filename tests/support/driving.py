"""Driving over stores and drivers that tests hold in their hands."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from domogate.services.driving import Driving
from support.devices import FakeStore, ObedientDriver


@asynccontextmanager
async def running(store: FakeStore, *drivers: ObedientDriver, simulated_plants: int = 10) -> AsyncIterator[Driving]:
    """Started, and stopped at the end; plants may still be waking."""
    clock = drivers[0].clock
    named = {driver.name: driver for driver in drivers}
    driving = Driving(store, named, clock, simulated_plants=simulated_plants)
    store.listen(driving.apply)
    await driving.start()
    try:
        yield driving
    finally:
        await driving.stop()
