"""The folder with the backups that a gateway makes by itself.

The name of a backup has a number and a time, such as domogate-000012-20261117T030000Z.sqlite3. The number gives the order of
the backups, because the clock can be wrong.
"""

import asyncio
import re
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from domogate.ports import BackupFile
from domogate.stores.backup import back_up, compare_backups, remove_unfinished

_NAME = r"domogate-(?P<number>[0-9]{6,12})-(?P<at>[0-9]{8}T[0-9]{6}Z)\.sqlite3"
_TIME = "%Y%m%dT%H%M%SZ"
_LATEST = 253_402_300_799.0
"""The end of the year 9999, in seconds since the epoch. The year in a name has only four digits."""


def list_backup_files(folder: Path) -> list[BackupFile]:
    """Return the backups in the folder, the oldest first. Raises OSError if the folder cannot be read.

    Backups that are still being written are left out. A folder that does not exist has no backups.
    """
    if not folder.exists():
        return []
    found = []
    for path in folder.iterdir():
        match = re.fullmatch(_NAME, path.name)
        at = None if match is None else _read_time(match["at"])
        if match is not None and at is not None and path.is_file():
            found.append(BackupFile(int(match["number"]), at, path.stat().st_size, path.name))
    return sorted(found, key=lambda one: (one.number, one.at))


def _read_time(text: str) -> float | None:
    try:
        return datetime.strptime(text, _TIME).replace(tzinfo=UTC).timestamp()
    except ValueError:  # for example the month 13
        return None


class SqliteBackupFolder:
    """Makes and removes backups of a SQLite file. Implements BackupFolder."""

    def __init__(self, source: Path, folder: Path) -> None:
        self._source = source
        self._folder = folder

    async def list_backups(self) -> Sequence[BackupFile]:
        return await asyncio.to_thread(list_backup_files, self._folder)

    async def add_backup(self, at: float) -> BackupFile:
        stopped = threading.Event()
        task = asyncio.create_task(asyncio.to_thread(self._add, at, stopped), name="copy of the database")
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            stopped.set()  # The thread must end before the process ends, and must remove its incomplete copy.
            await asyncio.wait((task,))
            if not task.cancelled():
                task.exception()  # retrieved, so that asyncio does not log it
            raise

    async def remove_old(self, keep: int) -> Sequence[str]:
        return await asyncio.to_thread(self._remove_old, keep)

    # Runs on a thread.

    def _add(self, at: float, stopped: threading.Event) -> BackupFile:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_unfinished(self._folder, _NAME)
        present = list_backup_files(self._folder)
        number = present[-1].number + 1 if present else 1
        time = datetime.fromtimestamp(min(max(0.0, at), _LATEST), UTC).strftime(_TIME)
        path = self._folder / f"domogate-{number:06}-{time}.sqlite3"
        back_up(self._source, path, is_wanted=lambda: not stopped.is_set())
        return BackupFile(number, at, path.stat().st_size, path.name)

    def _remove_old(self, keep: int) -> list[str]:
        *old, newest = list_backup_files(self._folder)
        kept = []
        for one in old[: max(0, len(old) + 1 - keep)]:
            larger = compare_backups(self._folder / one.name, self._folder / newest.name)
            if larger is None:
                (self._folder / one.name).unlink(missing_ok=True)
            else:
                kept.append(larger)
        return kept
