"""Imports and exports estates. A large estate is imported in parts, so that commands need not wait for the whole import."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable

from domogate.domain.estate import Estate, EstatePlant
from domogate.ports import ImportSummary
from domogate.stores.estate_export import export_estate, export_in_parts
from domogate.stores.estate_import import import_estate, import_part
from domogate.stores.parts import split
from domogate.stores.subject import SqlSubject, reads, writes

_PAUSE = 0.02
"""Seconds between two parts, in which other processes can write."""


class SqlEstate(SqlSubject):
    """Implements the import and export of EstateStore."""

    import_estate = writes(import_estate, long=True)
    export_estate = reads(export_estate, long=True)
    export_in_parts = reads(export_in_parts, long=True)

    async def import_in_parts(
        self, people: Estate, plants: Iterable[EstatePlant], *, progress: Callable[[int], None] = lambda _: None
    ) -> ImportSummary:
        users, summary = await self._write(import_part, people)
        for part in split(plants, _count_modules):
            await asyncio.sleep(_PAUSE)
            _, of_part = await self._write(import_part, Estate(plants=tuple(part)), users)
            summary = _add(summary, of_part)
            progress(sum(map(_count_modules, part)))
        return summary


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
