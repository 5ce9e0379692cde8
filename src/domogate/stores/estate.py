"""Imports and exports estates. A large estate is imported in parts, so that other writes need not wait for the whole import."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from operator import itemgetter
from time import monotonic
from typing import Concatenate, ParamSpec, TypeVar

from domogate.common.disk_ids import DiskIds
from domogate.domain.estate import Estate, EstatePlant
from domogate.ports import ImportDifference, ImportSummary
from domogate.stores.engine import Transaction, chunked
from domogate.stores.estate_difference import find_difference
from domogate.stores.estate_export import export_estate, export_in_parts
from domogate.stores.estate_import import import_estate, import_part
from domogate.stores.estate_people import ImportedUsers
from domogate.stores.estate_prune import count_modules, has_unlisted, list_sizes, remove_unlisted, remove_unlisted_users
from domogate.stores.estate_rows import EstateRows, make_rows
from domogate.stores.parts import PartSize, ids_of, split
from domogate.stores.presence import any_running
from domogate.stores.readers import Lane
from domogate.stores.subject import SqlSubject, reads, writes

_PAUSE = 0.02
"""In seconds. An import pauses for this time between two parts, so that other processes can write.

`Database.lock_retry` is added to this time, because a waiting process may try again only after `lock_retry`.
"""
_LONGEST_RUN = 2.0
"""In seconds: the time between two pauses of an import if no gateway runs in another process.

In this case only another `domogate` command can wait for the import. So the import need not pause after each part.
"""

P = ParamSpec("P")
T = TypeVar("T")


def _timed(work: Callable[Concatenate[Transaction, P], T]) -> Callable[Concatenate[Transaction, P], tuple[float, T]]:
    """Return a function that does the work, and also returns the time (monotonic) at which the work began."""

    @wraps(work)
    def timed_work(tx: Transaction, /, *args: P.args, **kwargs: P.kwargs) -> tuple[float, T]:
        return monotonic(), work(tx, *args, **kwargs)

    return timed_work


class SqlEstate(SqlSubject):
    """Imports and exports estates. Implements EstateStore, together with SqlStore."""

    import_estate = writes(import_estate, long=True)
    export_estate = reads(export_estate, lane=Lane.LONG)
    export_in_parts = reads(export_in_parts, lane=Lane.LONG)
    count_modules = reads(count_modules)
    _import_part = writes(_timed(import_part), long=True)
    _has_unlisted = reads(has_unlisted, lane=Lane.LONG)
    _remove_unlisted = writes(_timed(remove_unlisted), long=True)

    async def find_difference(self, estate: Estate, *, prune: bool, most: int) -> ImportDifference:
        assert self._database is not None, "the store is not started"
        return await self._read_in(
            Lane.LONG, find_difference, self._database, self._clock.now(), estate, prune=prune, most=most
        )

    async def import_in_parts(
        self,
        people: Estate,
        plants: Iterable[EstatePlant],
        *,
        prune: bool = False,
        progress: Callable[[int], None] = lambda _: None,
    ) -> ImportSummary:
        size = PartSize()
        with DiskIds() as listed:
            _, (users, summary) = await self._import_part(people, prune=prune)
            parts = split(plants, _count_modules, size)
            released = paused = monotonic()
            while (prepared := await asyncio.to_thread(_prepare_next, parts)) is not None:
                part, rows = prepared
                paused, alone = await self._give_way(released, paused)
                begun, (_, of_part) = await self._import_part(part, users, rows, prune=prune)
                released = monotonic()
                size.adapt(len(part.plants) + len(rows.modules), released - begun, alone=alone)
                summary = _add(summary, of_part)
                if prune:
                    listed.add(one for plant in part.plants for one in ids_of(plant))
                progress(len(rows.modules))
            return _add(summary, await self._prune(users, listed)) if prune else summary

    async def _prune(self, users: ImportedUsers, listed: DiskIds) -> ImportSummary:
        summary = ImportSummary({}, {}, {})
        size = PartSize()
        released = paused = monotonic()
        after = ""
        while page := await self._read(list_sizes, after):
            after = page[-1][0]
            for part in split(page, itemgetter(1), size):
                ids = [plant_id for plant_id, _ in part]
                if await self._has_unlisted(ids, listed):
                    paused, alone = await self._give_way(released, paused)
                    begun, of_part = await self._remove_unlisted(ids, listed)
                    released = monotonic()
                    size.adapt(sum(1 + modules for _, modules in part), released - begun, alone=alone)
                    summary = _add(summary, of_part)
        for user_ids in chunked(row[0] for row in users.difference.gone):
            paused, _ = await self._give_way(released, paused)
            await self._write(remove_unlisted_users, user_ids)
            released = monotonic()
        return summary

    async def _give_way(self, released: float, paused: float) -> tuple[float, bool]:
        """Pause the import, so that other processes can write. Return the end of the last pause, and whether no gateway runs.

        The second value is False if another gateway runs, or if this process itself is a gateway.

        If no other gateway runs, and the last pause was less than `_LONGEST_RUN` seconds before `released`, do not pause.
        `released` is the time at which the last part of the import was written. `paused` is the end of the last pause.
        """
        assert self._database is not None, "the store is not started"
        own_id = self._presence.id if self._presence is not None else ""
        others = await self._read(any_running, self._clock.now(), own_id)
        if others or released - paused >= _LONGEST_RUN:
            await asyncio.sleep(max(0.0, released + _PAUSE + self._database.lock_retry - monotonic()))
            paused = monotonic()
        return paused, not others and self._presence is None


def _prepare_next(parts: Iterator[list[EstatePlant]]) -> tuple[Estate, EstateRows] | None:
    """Return the next part of the estate and its database rows, or None after the last part."""
    plants = next(parts, None)
    if plants is None:
        return None
    part = Estate(plants=tuple(plants))
    return part, make_rows(part)


def _count_modules(plant: EstatePlant) -> int:
    return sum(1 for _ in plant.topology.every_module())


def _add(one: ImportSummary, other: ImportSummary) -> ImportSummary:
    def added(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
        return {noun: first.get(noun, 0) + second.get(noun, 0) for noun in first | second}

    return ImportSummary(
        added=added(one.added, other.added),
        updated=added(one.updated, other.updated),
        removed=added(one.removed, other.removed),
    )
