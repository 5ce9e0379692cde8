"""Splits large work into parts, so that the work needs little memory, and other processes need not wait for the whole work."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from domogate.domain.estate import EstatePlant
from domogate.domain.ids import Id

T = TypeVar("T")

MODULES_A_PART = 2_000
"""A part ends when it has this number of modules or more. A plant is never split.

The import of a part takes tens of milliseconds.
"""


def split(plants: Iterable[T], count_modules: Callable[[T], int]) -> Iterator[list[T]]:
    part: list[T] = []
    size = 0
    for plant in plants:
        part.append(plant)
        size += 1 + count_modules(plant)
        if size >= MODULES_A_PART:
            yield part
            part, size = [], 0
    if part:
        yield part


def ids_of(plant: EstatePlant) -> Iterator[Id]:
    """Yield the ids of the plant, its floors, its ambients and its modules."""
    return (record.id for record in plant.every_record())
