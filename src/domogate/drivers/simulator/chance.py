"""Randomness that repeats: every number is a function of the seed, the module, what it is for, and a slot of time."""

from collections.abc import Sequence
from hashlib import blake2b
from math import floor
from typing import TypeVar
from zlib import crc32

_T = TypeVar("_T")
_MASK = (1 << 64) - 1


class Chance:
    """One module's luck."""

    __slots__ = ("_key",)

    def __init__(self, seed: int, module_id: str) -> None:
        self._key = int.from_bytes(blake2b(f"{seed}/{module_id}".encode(), digest_size=8).digest(), "big")

    def part(self, name: str) -> "Chance":
        """The luck of a part of the module, apart from the others'."""
        return Chance(self._key, name)

    def of(self, purpose: str, slot: int = 0) -> float:
        """A number in [0, 1): the finishing steps of splitmix64, which is quick enough to be asked at every tick."""
        mixed = (self._key ^ (crc32(purpose.encode()) * 0x9E3779B97F4A7C15)) + slot * 0xD1B54A32D192ED03 & _MASK
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _MASK
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _MASK
        return ((mixed ^ mixed >> 31) >> 11) / (1 << 53)

    def between(self, purpose: str, low: float, high: float, slot: int = 0) -> float:
        return low + (high - low) * self.of(purpose, slot)

    def pick(self, purpose: str, choices: Sequence[_T], slot: int = 0) -> _T:
        return choices[int(self.of(purpose, slot) * len(choices))]


class Slots:
    """Cuts time into equal spans, shifted from module to module so that they do not all move at once."""

    __slots__ = ("_phase", "_span")

    def __init__(self, chance: Chance, purpose: str, span: float) -> None:
        self._span = span
        self._phase = chance.of(f"{purpose} phase") * span

    def at(self, now: float) -> int:
        return floor((now + self._phase) / self._span)


class Cadence:
    """When to measure again: every so often, sooner the first time, and not all modules at once."""

    __slots__ = ("_due", "_every")

    def __init__(self, chance: Chance, purpose: str, every: float, now: float) -> None:
        self._every = every
        self._due = now + every * (0.05 + chance.of(purpose) / 2)

    def is_due(self, now: float) -> bool:
        """True once for each time that has come; time that jumps is not made up for."""
        if now < self._due <= now + 2 * self._every:
            return False
        late = now - self._due
        self._due = now + self._every - (late % self._every if late > 0 else 0.0)
        return True


class Residents:
    """People who use the house now and then. What was ordered, or found on waking, they leave alone for two hours."""

    __slots__ = ("_chance", "_slot", "_slots", "_undisturbed_until")

    SPAN = 3 * 3600.0
    PATIENCE = 2 * 3600.0

    def __init__(self, chance: Chance, now: float) -> None:
        self._chance = chance
        self._slots = Slots(chance, "residents", self.SPAN)
        self._slot = self._slots.at(now)
        self._undisturbed_until = now + self.PATIENCE

    def leave_alone(self, now: float) -> None:
        self._undisturbed_until = now + self.PATIENCE

    def come_by(self, now: float) -> int | None:
        """The slot of time in which somebody comes to this module, given once; None: nobody."""
        slot = self._slots.at(now)
        if slot == self._slot:
            return None
        self._slot = slot
        if now < self._undisturbed_until or self._chance.of("come by", slot) >= 0.5:
            return None
        return slot
