"""Random numbers that are the same in every run.

Each number depends on the seed, on a name (for example the id of a module), on a purpose and often on an interval of time.
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from math import floor
from typing import TypeVar
from zlib import crc32

_T = TypeVar("_T")
_MASK = (1 << 64) - 1


class SeededRandom:
    """Makes the random numbers of one module. They are the same in every run."""

    __slots__ = ("_key",)

    def __init__(self, seed: int, module_id: str) -> None:
        self._key = int.from_bytes(blake2b(f"{seed}/{module_id}".encode(), digest_size=8).digest(), "big")

    def derive(self, name: str) -> "SeededRandom":
        """Return the random numbers of one part of the module, for example of one socket."""
        return SeededRandom(self._key, name)

    def of(self, purpose: str, slot: int = 0) -> float:
        """Return a number in [0, 1) that depends on the purpose and the slot.

        The slot is the number of an interval of time.
        """
        return _make_number(self._key, purpose, slot)

    def between(self, purpose: str, low: float, high: float, slot: int = 0) -> float:
        return low + (high - low) * self.of(purpose, slot)

    def pick(self, purpose: str, choices: Sequence[_T], slot: int = 0) -> _T:
        return choices[int(self.of(purpose, slot) * len(choices))]


# A device asks for the same number again until its slot changes.
@lru_cache(maxsize=2048)
def _make_number(key: int, purpose: str, slot: int) -> float:
    """Make a number in [0, 1) by the last steps of the algorithm splitmix64. It is fast enough for every tick."""
    mixed = (key ^ (crc32(purpose.encode()) * 0x9E3779B97F4A7C15)) + slot * 0xD1B54A32D192ED03 & _MASK
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _MASK
    return ((mixed ^ mixed >> 31) >> 11) / (1 << 53)


class TimeSlots:
    """Divides time into intervals of equal length (slots).

    Their start differs between modules, so modules change at different times.
    """

    __slots__ = ("_phase", "_span")

    def __init__(self, random: SeededRandom, purpose: str, span: float) -> None:
        self._span = span
        self._phase = random.of(f"{purpose} phase") * span

    def at(self, now: float) -> int:
        return floor((now + self._phase) / self._span)


class MeasureSchedule:
    """The times at which a device measures, which are at equal intervals.

    The first interval is shorter and differs between modules. So not all modules measure at the same time.
    """

    __slots__ = ("_due", "_every")

    def __init__(self, random: SeededRandom, purpose: str, every: float, now: float) -> None:
        self._every = every
        self._due = now + every * (0.05 + random.of(purpose) / 2)

    def is_due(self, now: float) -> bool:
        """Return True once per interval. If the clock jumps over several intervals, the result is True only once for them."""
        if now < self._due <= now + 2 * self._every:
            return False
        late = now - self._due
        self._due = now + self._every - (late % self._every if late > 0 else 0.0)
        return True


class ResidentActivity:
    """Residents who use a device from time to time.

    They do nothing for two hours after a command to the device. They also do nothing for two hours after the device was added
    to the simulator.
    """

    __slots__ = ("_paused_until", "_random", "_slot", "_slots")

    SPAN = 3 * 3600.0
    PAUSE = 2 * 3600.0

    def __init__(self, random: SeededRandom, now: float) -> None:
        self._random = random
        self._slots = TimeSlots(random, "residents", self.SPAN)
        self._slot = self._slots.at(now)
        self._paused_until = now + self.PAUSE

    def pause(self, now: float) -> None:
        self._paused_until = now + self.PAUSE

    def next_visit(self, now: float) -> int | None:
        """Return the number of the present time slot if a resident uses this module in this slot. Otherwise return None.

        Later calls in the same slot return None.
        """
        slot = self._slots.at(now)
        if slot == self._slot:
            return None
        self._slot = slot
        if now < self._paused_until or self._random.of("come by", slot) >= 0.5:
            return None
        return slot
