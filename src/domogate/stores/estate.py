"""Imports and exports estates. A large estate is imported in parts, so that commands need not wait for the whole import."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from domogate.domain.estate import Estate, EstatePlant
from domogate.ports import ImportSummary
from domogate.stores.estate_export import export_estate
from domogate.stores.estate_import import import_estate, import_part
from domogate.stores.subject import SqlSubject, reads, writes

MODULES_A_PART = 1_000
"""With so many modules a part is complete; it may have more, because a plant is not split. It takes tens of milliseconds."""
_PAUSE = 0.02
"""Seconds between two parts, in which other processes can write."""


class SqlEstate(SqlSubject):
    """Implements the import and export of EstateStore."""

    import_estate = writes(import_estate, long=True)
    export_estate = reads(export_estate, long=True)

    async def import_in_parts(
        self, people: Estate, plants: Iterable[EstatePlant], *, progress: Callable[[int], None] = lambda _: None
    ) -> ImportSummary:
        users, summary = await self._write(import_part, people)
        for part in _split(plants):
            await asyncio.sleep(_PAUSE)
            _, of_part = await self._write(import_part, Estate(plants=part), users)
            summary = _add(summary, of_part)
            progress(sum(map(_count_modules, part)))
        return summary


def _split(plants: Iterable[EstatePlant]) -> Iterator[tuple[EstatePlant, ...]]:
    part: list[EstatePlant] = []
    modules = 0
    for plant in plants:
        part.append(plant)
        modules += _count_modules(plant)
        if modules >= MODULES_A_PART:
            yield tuple(part)
            part, modules = [], 0
    if part:
        yield tuple(part)


def _count_modules(plant: EstatePlant) -> int:
    return sum(1 for _ in plant.topology.every_module())


def _add(one: ImportSummary, other: ImportSummary) -> ImportSummary:
    def added(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
        total = Counter(first)
        total.update(second)
        return {noun: total[noun] for noun in first}

    return ImportSummary(
        added=added(one.added, other.added),
        updated=added(one.updated, other.updated),
        removed=added(one.removed, other.removed),
    )
