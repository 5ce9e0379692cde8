"""Bounds how many purely simulated plants are driven at once."""

import asyncio
from typing import Protocol


class Occupant(Protocol):
    """A plant that can hold a place."""

    last_use: int

    @property
    def is_idle(self) -> bool: ...
    def begin_stop(self) -> object: ...


class Room:
    """A number of places. When a plant waits for one, the least recently used idle plant is stopped."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._free = asyncio.Semaphore(places)
        self._occupants: set[Occupant] = set()
        self._leaving: set[Occupant] = set()
        """Plants that are being stopped. They hold their place until then."""
        self.waiting = 0

    @property
    def is_full(self) -> bool:
        return self._free.locked()

    def holds(self, plant: Occupant) -> bool:
        return plant in self._occupants

    async def enter(self, plant: Occupant) -> None:
        """Wait for a place."""
        self.waiting += 1
        try:
            self.make_way()
            await self._free.acquire()
            self._occupants.add(plant)
        finally:
            self.waiting -= 1

    def leave(self, plant: Occupant) -> None:
        """Give the place back, if the plant has one."""
        if plant in self._occupants or plant in self._leaving:
            self._occupants.discard(plant)
            self._leaving.discard(plant)
            self._free.release()

    def make_way(self) -> None:
        """Stop idle plants for those that wait."""
        while self.waiting > self._places - len(self._occupants):
            idle = [plant for plant in self._occupants if plant.is_idle]
            if not idle:
                return
            oldest = min(idle, key=lambda plant: plant.last_use)
            self._occupants.remove(oldest)
            self._leaving.add(oldest)
            oldest.begin_stop()
