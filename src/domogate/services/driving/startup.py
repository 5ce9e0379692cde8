"""Waking plants when the gateway starts: nobody asks for most of them, and what their devices say would be missed."""

import asyncio
from collections.abc import Sequence

import structlog

from domogate.domain.ids import Id
from domogate.ports import PlantStore
from domogate.services.driving.driven_plants import MAY_SLEEP, AwakePlants

_log = structlog.get_logger(__name__)

_ALL_PLANTS = 1_000_000
_LISTING_AGAIN = 5.0


async def wake_plants(store: PlantStore, awake: AwakePlants, drivers: Sequence[str], *, most: int) -> None:
    """All that have a real device, and of the others as many as there is room for; no driver waits for another."""
    lasting: set[Id] = set()
    async with asyncio.TaskGroup() as waking:
        for name in drivers:
            if name not in MAY_SLEEP:
                plant_ids = await _list_plants(store, name, _ALL_PLANTS)
                lasting.update(plant_ids)
                waking.create_task(awake.wake(plant_ids, lasting=True), name=f"waking of the plants of {name}")
        for name in drivers:
            if name in MAY_SLEEP:
                plant_ids = await _list_plants(store, name, most + len(lasting))
                await awake.wake(plant_id for plant_id in plant_ids if plant_id not in lasting)


async def _list_plants(store: PlantStore, driver: str, limit: int) -> Sequence[Id]:
    while True:
        try:
            return await store.list_plant_ids(driver, limit)
        except Exception as error:
            _log.error("plants of a driver not woken, next try in a moment", driver=driver, exc_info=error)
            await asyncio.sleep(_LISTING_AGAIN)
