"""Ports for the stored data of emergency lighting: the logbook and the spare parts."""

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from domogate.domain.ids import Id
from domogate.domain.logbook import LogbookEntry, LogbookKind
from domogate.domain.safety import SpareParts


class StoredEntry(msgspec.Struct, frozen=True):
    """A logbook entry and its number. A later entry has a higher number."""

    number: int
    entry: LogbookEntry


class LogbookFilter(msgspec.Struct, frozen=True):
    """A filter for logbook entries, by period and kind. If `kinds` is empty, entries of all kinds match.

    The period includes the time `since`, but not the time `until`. So consecutive periods share no entry.
    """

    since: float = 0.0
    until: float | None = None
    kinds: Collection[LogbookKind] = ()


class LogbookStore(Protocol):
    """Stores the logbooks.

    If a report of a unit or controller causes logbook entries, the store writes the report and the entries in one commit.
    """

    async def add_logbook_entry(self, entry: LogbookEntry) -> int:
        """Add the entry and return its number.

        Raise ValueError if the plant does not exist or does not have the module. Also raise it if the entry cannot be stored
        unchanged.
        """
        ...

    async def list_logbook(self, plant_id: Id, wanted: LogbookFilter, limit: int, after: int = 0) -> Sequence[StoredEntry]:
        """Return the first `limit` entries that match `wanted` and have a higher number than `after`, ordered by number."""
        ...


class SparePartStore(Protocol):
    """Finds spare parts in the stored list of spare parts."""

    async def find_spare_parts(self, unit: str) -> SpareParts | None:
        """Return the spare parts of this unit reference, or None if the reference is unknown.

        A reference is known if the list of spare parts or a unit of any plant has it.
        """
        ...
