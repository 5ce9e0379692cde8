"""The port for import, export and backup of the whole content of the store."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.ids import Id


class ImportSummary(msgspec.Struct, frozen=True):
    """The result of an import: the numbers of added, updated and removed records, by kind of record ('plants', 'modules',
    'users'…).
    """

    added: dict[str, int]
    updated: dict[str, int]
    removed: dict[str, int]


class RecordChange(msgspec.Struct, frozen=True):
    """A record that an import would change. `noun` is the kind of the record. `change` is `added`, `updated` or `removed`."""

    noun: str
    change: str
    id: str
    name: str
    fields: tuple[str, ...] = ()
    """The names of the changed columns, if the record is updated."""


class ImportDifference(msgspec.Struct, frozen=True):
    """The changes that an import would make.

    `summary` counts all changes. `changes` has the first changes of each kind of record.
    """

    summary: ImportSummary
    changes: tuple[RecordChange, ...]


class ImportRecord(msgspec.Struct, frozen=True):
    """An import in the history. `user_id` is None if a `domogate` command did the import."""

    number: int
    at: float
    user_id: Id | None
    prune: bool
    summary: ImportSummary
    has_document: bool


class UnnamedDrivers(msgspec.Struct, frozen=True):
    """The number (`count`) of modules that use the simulator only because no estate file names a driver for them.

    The other fields describe one of these modules as an example.
    """

    count: int
    plant: str
    module: str
    module_id: Id


class EstateStore(Protocol):
    """Imports, exports and backs up the whole content of the store."""

    async def find_unnamed_drivers(self) -> UnnamedDrivers | None:
        """Return how many modules of active plants use the simulator only because no estate file names a driver for them.

        The result also describes one of these modules. Return None if there are no such modules.
        """
        ...

    async def import_estate(self, estate: Estate, *, prune: bool) -> ImportSummary: ...
    async def count_modules(self) -> int: ...
    async def import_in_parts(
        self, people: Estate, plants: Iterable[EstatePlant], *, prune: bool = ..., progress: Callable[[int], None] = ...
    ) -> ImportSummary:
        """Import `people`, which is an estate without plants, and then the plants, in many transactions.

        If `prune` is true, the import also removes the stored records that are not in the estate. Users, plants and the content
        of plants are removed last, other records earlier. If the import is interrupted, the parts that are already imported
        stay. To import the missing parts, import the whole estate again. `progress` is called after each part with plants, with
        the number of modules in this part.
        """
        ...

    async def find_difference(self, estate: Estate, *, prune: bool, most: int) -> ImportDifference:
        """Return what `import_estate` would change.

        `most` is the largest number of changes of each kind of record in the result.

        Raise ValueError if the estate contradicts itself or the store.
        """
        ...

    async def add_import(self, user_id: Id | None, summary: ImportSummary, *, prune: bool, document: str | None) -> int:
        """Add an import to the history and return its number.

        `document` is the text of the imported file. The store keeps only the newest documents.
        """
        ...

    async def list_imports(self, before: int | None, limit: int) -> Sequence[ImportRecord]:
        """Return the newest imports, the newest first. If `before` is given, all their numbers are lower than `before`."""
        ...

    async def find_import_document(self, number: int) -> str | None: ...
    async def export_estate(self) -> Estate: ...
    async def export_in_parts(self, take: Callable[[EstatePlant], None]) -> Estate:
        """Pass the plants to `take` one by one, on another thread. Return the estate without plants."""
        ...

    async def backup(self, path: Path, *, replace: bool = False, replace_larger: bool = False) -> str | None:
        """Write a backup to this file. Return the id of the secret key that a restore needs, or None if it needs no key.

        Raise OSError or ValueError if the backup cannot be written. Raise FileExistsError if the file exists, and both
        `replace` and `replace_larger` are false. Raise ValueError if the file is a backup with more content than the new
        backup, and `replace_larger` is false.
        """
        ...
