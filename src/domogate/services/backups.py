"""Makes backups regularly, and removes old ones after a new one is complete (Decision 0132)."""

import asyncio
from collections.abc import Sequence

from domogate.common.log import get_logger
from domogate.common.tasks import cancel
from domogate.ports import Audit, BackupFile, BackupFolder, Clock
from domogate.services.audit import GATEWAY, AuditAction, AuditResult

CHECK_EVERY = 60.0
"""The seconds between two checks whether a backup is due.

The gateway also waits this time after its start, because a machine whose clock has no battery must first set its clock. If the
time between two backups (`every`) is shorter than `CHECK_EVERY`, the gateway waits only for `every` seconds.
"""
RETRY_AFTER = 600.0
"""In seconds. After a failed backup, the gateway waits at least this time. The reason: each attempt loads the disk.

If the time between two backups (`every`) is shorter than `RETRY_AFTER`, the gateway waits at least `every` seconds.
"""

_log = get_logger(__name__)


class RegularBackups:
    """Makes a backup when the newest backup is older than `every` seconds. Keeps the newest `keep` backups."""

    def __init__(self, folder: BackupFolder, clock: Clock, audit: Audit, *, every: float, keep: int) -> None:
        self._folder = folder
        self._clock = clock
        self._audit = audit
        self._every = every
        self._keep = keep
        self._not_before = 0.0
        """After a failure, no backup is made before this time of the event loop."""
        self._due_at = 0.0
        """The time of the event loop at which the next backup is due. It does not depend on the clock."""
        self.newest: BackupFile | None = None
        """The newest finished backup."""
        self._failed: str | None = None
        """The reason why the last backup failed. None if it did not fail."""
        self._unreadable: str | None = None
        """The reason why the folder could not be read. None if it could be read."""
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._due_at = asyncio.get_running_loop().time() + self._every
        await self._list()
        self._task = asyncio.create_task(self._run(), name="backups")

    async def stop(self) -> None:
        await cancel(self._task)

    @property
    def problem(self) -> str | None:
        """The reason why the folder cannot be read or the last backup failed. None if there is no problem."""
        return self._unreadable or self._failed

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(min(CHECK_EVERY, self._every))
            try:
                if await self._is_due():
                    await self._make()
            except Exception as error:
                self._failed = f"the last backup failed: {error}"
                self._note_failure(error)

    async def _is_due(self) -> bool:
        """Whether a backup is due by the clock or by the time of the event loop.

        The names of the files have the time of the clock, so the schedule survives a restart. The time of the event loop does
        not change if somebody sets the clock. If the clock was set back, a backup may have a time in the future. Such a backup
        counts as recent only if its time is less than `every` seconds ahead of the clock.
        """
        now = asyncio.get_running_loop().time()
        if now < self._not_before:
            return False
        backups = await self._list()
        if backups is None:
            return False
        return now >= self._due_at or not any(abs(self._clock.now() - one.at) < self._every for one in backups)

    async def _list(self) -> Sequence[BackupFile] | None:
        """Return the backups, and note the newest. If the folder cannot be read, note this problem and return None."""
        try:
            backups = await self._folder.list_backups()
        except OSError as error:
            self._unreadable = f"the folder of the backups cannot be read: {error}"
            self._note_failure(error)
            return None
        self.newest, self._unreadable = backups[-1] if backups else None, None
        return backups

    async def _make(self) -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        made = await self._folder.add_backup(self._clock.now())
        self._due_at = begun + self._every
        self.newest, self._failed = made, None
        _log.info("backup written and checked", file=made.name, bytes=made.size, seconds=round(loop.time() - begun, 1))
        detail = {"file": made.name}
        self._audit.note(AuditAction.BACKUP, who=GATEWAY, what="store", result=AuditResult.OK, detail=detail)
        try:
            kept = await self._folder.remove_old(self._keep)
        except (OSError, ValueError, TypeError) as error:  # for example if an old file is not a backup
            kept = [str(error)]
        for reason in kept:
            _log.warning("an old backup was not removed", reason=reason)

    def _note_failure(self, error: Exception) -> None:
        self._not_before = asyncio.get_running_loop().time() + min(RETRY_AFTER, self._every)
        _log.error("no backup was made; will retry", reason=str(error))
