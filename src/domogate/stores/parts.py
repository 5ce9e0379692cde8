"""Splits large work into parts, so that it needs little memory, and other processes need not wait for the whole work."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from domogate.domain.estate import EstatePlant
from domogate.domain.ids import Id

T = TypeVar("T")

MODULES_A_PART = 2_000
"""A part ends at the latest when it has this number of plants and modules together. A plant is never split."""
FIRST_PART = 250
"""The size of the first part: plants and modules together. It is small, because the speed of the work is not known yet."""
SECONDS_A_PART = 0.2
"""One part of the work should hold the lock for writing at most this number of seconds (see `PartSize`)."""
MODULES_ALONE = 10_000
SECONDS_ALONE = 1.0
"""While no gateway runs, MODULES_ALONE and SECONDS_ALONE replace MODULES_A_PART and SECONDS_A_PART. So parts are larger.

In a large part, neighbouring rows of an index are often written together. So the database changes fewer pages for each module.
"""


class PartSize:
    """The size of the next part of a large work: the number of its plants and modules together.

    Each part holds the lock for writing. The size depends on the time that the last part took. So other processes wait only a
    short time, also on slow machines.
    """

    def __init__(self) -> None:
        self.next = min(FIRST_PART, MODULES_A_PART)

    def adapt(self, size: int, seconds: float, *, alone: bool) -> None:
        """Choose the size of the next part. The last part had the size `size`. Its write held the lock for `seconds` seconds.

        `alone` means that no gateway runs on this database. Then parts may be larger.
        """
        longest, most = (SECONDS_ALONE, MODULES_ALONE) if alone else (SECONDS_A_PART, MODULES_A_PART)
        fitting = size * longest / max(seconds, 0.001)
        self.next = max(1, min(int(fitting), 2 * self.next, most))


def split(plants: Iterable[T], count_modules: Callable[[T], int], size: PartSize | None = None) -> Iterator[list[T]]:
    """Yield the plants in parts. A part ends as soon as the number of its plants and modules together reaches the size.

    The size is `size.next`, which the caller may change between two parts. If `size` is None, it is MODULES_A_PART.
    """
    part: list[T] = []
    counted = 0
    for plant in plants:
        part.append(plant)
        counted += 1 + count_modules(plant)
        if counted >= (MODULES_A_PART if size is None else size.next):
            yield part
            part, counted = [], 0
    if part:
        yield part


def ids_of(plant: EstatePlant) -> Iterator[Id]:
    """Yield the ids of the plant, its floors, its ambients and its modules."""
    return (record.id for record in plant.every_record())
