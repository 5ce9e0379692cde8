"""The port for the folder with the backups that a gateway makes by itself."""

from collections.abc import Sequence
from typing import Protocol

import msgspec


class BackupFile(msgspec.Struct, frozen=True):
    """A finished backup in the folder of backups."""

    number: int
    """A later backup has a higher number. The number does not depend on the clock."""
    at: float
    """The time of the gateway's clock when the backup began."""
    size: int
    name: str


class BackupFolder(Protocol):
    """The folder with the backups that a gateway makes by itself."""

    async def list_backups(self) -> Sequence[BackupFile]:
        """Return the complete backups, the oldest first. A folder that does not exist has no backups.

        Raises OSError if the folder cannot be read.
        """
        ...

    async def add_backup(self, at: float) -> BackupFile:
        """Write a backup and check it. If one of these steps fails, raise OSError or ValueError, and add no file."""
        ...

    async def remove_old(self, keep: int) -> Sequence[str]:
        """Remove all backups except the newest `keep`.

        An older backup is also kept if it has more content than the newest backup: data may have been lost after the older
        backup. For each backup that is kept because of this, return a sentence about the difference. An older backup that
        cannot be read is removed.

        Raises OSError if a backup cannot be removed, and OSError or ValueError if the newest backup cannot be read.
        """
        ...
