"""Limits how many plants without a real device are driven at the same time. Each of these plants needs a slot."""

import asyncio
from typing import Protocol


class SlotHolder(Protocol):
    """A plant without a real device. It needs one of the limited number of slots while it is driven."""

    last_use: int

    @property
    def is_idle(self) -> bool: ...
    def begin_stop(self) -> object: ...


class PlantSlots:
    """A limited number of slots. If a plant waits for a slot, the idle plant whose last use is oldest is stopped."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._free = asyncio.Semaphore(slots)
        self._holders: set[SlotHolder] = set()
        self._stopping: set[SlotHolder] = set()
        """Plants that are stopping. They keep their slot until they have stopped."""
        self.waiting = 0

    @property
    def is_full(self) -> bool:
        return self._free.locked()

    def has(self, plant: SlotHolder) -> bool:
        return plant in self._holders

    async def acquire(self, plant: SlotHolder) -> None:
        """Wait until a slot is free, and give it to the plant. With this slot, the plant may be driven."""
        self.waiting += 1
        try:
            self.stop_idle()
            await self._free.acquire()
            self._holders.add(plant)
        finally:
            self.waiting -= 1

    def release(self, plant: SlotHolder) -> None:
        """Give the slot back, if the plant has one."""
        if plant in self._holders or plant in self._stopping:
            self._holders.discard(plant)
            self._stopping.discard(plant)
            self._free.release()

    def stop_idle(self) -> None:
        """Stop idle plants until there is a slot for each waiting plant, or until no plant is idle."""
        while self.waiting > self._slots - len(self._holders):
            idle = [plant for plant in self._holders if plant.is_idle]
            if not idle:
                return
            oldest = min(idle, key=lambda plant: plant.last_use)
            self._holders.remove(oldest)
            self._stopping.add(oldest)
            oldest.begin_stop()
