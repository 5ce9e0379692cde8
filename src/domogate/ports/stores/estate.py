"""Import, export and backup of the whole content of the store."""

from pathlib import Path
from typing import Protocol

import msgspec

from domogate.domain.estate import Estate


class ImportSummary(msgspec.Struct, frozen=True):
    """The result of an import: for each noun ('plants', 'modules', 'users'…) the number of objects."""

    added: dict[str, int]
    updated: dict[str, int]
    removed: dict[str, int]


class EstateStore(Protocol):
    """Import, export and backup."""

    async def import_estate(self, estate: Estate, *, prune: bool) -> ImportSummary: ...
    async def export_estate(self) -> Estate: ...

    async def backup(self, path: Path, *, replace: bool = False, replace_larger: bool = False) -> str | None:
        """Write a backup. Return the id of the secret key that a restore needs. Raise ValueError, FileExistsError."""
        ...
