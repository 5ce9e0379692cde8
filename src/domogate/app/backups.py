"""Makes a backup for a download.

The backup file is opened, and then removed from its folder, before the download begins. The download reads the open file. So
an interrupted download leaves no file behind. On Windows, which does not remove an open file, the file stays until the next
backup.
"""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from domogate import management
from domogate.ports import Store

_NAME = "backup-for-download"


async def make_backup(store: Store, folder: Path) -> management.Backup:
    """Back up the store into a file in the data folder `folder`. Return the open file, which is removed from the folder.

    While the file is in the folder, only its owner can read it. Raises ValueError if the database is PostgreSQL or cannot be
    read. Also raises ValueError if the copy cannot be written, or is not equal to the database.
    """
    # The task continues if the caller is cancelled. If the task were cancelled too, the
    # thread that makes the backup would leave the file behind.
    return await asyncio.shield(asyncio.create_task(_make(store, folder / _NAME), name="backup for a download"))


async def _make(store: Store, path: Path) -> management.Backup:
    key_id = await store.backup(path, replace_larger=True)
    return await asyncio.to_thread(_take, path, key_id)


def _take(path: Path, key_id: str | None) -> management.Backup:
    file = path.open("rb")
    with suppress(PermissionError):  # Windows does not remove an open file. The next backup replaces it.
        path.unlink()
    return management.Backup(file, os.fstat(file.fileno()).st_size, key_id)
