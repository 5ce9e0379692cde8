"""Checks of the backups that a gateway makes by itself: the folder can be used, and the newest backup is not too old."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from domogate.app.doctor.findings import Finding, ok, problem, warning
from domogate.app.maintenance import find_backup_folder
from domogate.app.parts import find_database_file
from domogate.settings import Settings
from domogate.stores.backup import measure_needed_space
from domogate.stores.backup_folder import list_backup_files

FOLDER, BACKUPS = "backup folder", "backups"
MB = 1_000_000
TOO_OLD = 2
"""The newest backup is too old if its age is more than this number of periods (`backup_every`)."""
_TRIAL = 1 << 16
"""In bytes: the size of the file that is written as a trial."""
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)

_FREE_SPACE = "Delete files, or set backup_folder to a folder on another disk."
_ALLOW = "Give this folder to the user of the gateway (chown), or set backup_folder to another folder."


def check_backups(settings: Settings, every: float) -> Iterator[Finding]:
    folder = find_backup_folder(settings).absolute()
    yield from check_backup_folder(settings, folder)
    yield check_newest(folder, every)


def check_backup_folder(settings: Settings, folder: Path) -> Iterator[Finding]:
    """Check that a backup can be written to the folder. Check that the folder is on another disk than the data folder."""
    unusable = _find_obstacle(settings, folder)
    if unusable is not None:
        yield unusable
        return
    if not folder.exists() and settings.backup_folder is not None:
        yield warning(
            FOLDER,
            f"{folder} does not exist yet.",
            "The gateway creates it at the first backup. If it should be on another disk, mount this disk first.",
        )
    elif _find_existing(folder).stat().st_dev == _find_existing(settings.data.absolute()).stat().st_dev:
        yield warning(
            FOLDER,
            f"{folder} is on the same disk as the data folder. If this disk is lost, the backups are lost too.",
            "Set backup_folder to a folder on another disk.",
        )
    else:
        yield ok(FOLDER, f"{folder} is writable, has enough space, and is on another disk than the data folder.")


def _find_obstacle(settings: Settings, folder: Path) -> Finding | None:
    """Return the reason why no backup can be written to the folder, or None."""
    existing = _find_existing(folder)
    if not existing.is_dir():
        return problem(FOLDER, f"{existing} is not a folder.", "Set backup_folder to a folder.")
    where = str(folder) if existing == folder else f"{existing}, in which the gateway must create {folder}"
    try:
        _write_trial(existing)
    except OSError as error:
        advice = _FREE_SPACE if error.errno in _NO_SPACE else _ALLOW
        if error.errno == errno.EROFS:
            advice = "Mount this disk with write access, or set backup_folder to another folder."
        return problem(FOLDER, f"nothing can be written to {where}: {error.strerror}.", advice)
    database = find_database_file(settings)
    if database is not None:
        needed, free = measure_needed_space(database), shutil.disk_usage(existing).free
        if free < needed:
            says = f"a backup needs {needed / MB:,.0f} MB in {folder}, and {free / MB:,.0f} MB are free."
            return problem(FOLDER, says, _FREE_SPACE)
    return None


def _find_existing(path: Path) -> Path:
    """Return the path, or its nearest parent that exists."""
    return next(one for one in (path, *path.parents) if os.path.lexists(one))


def _write_trial(folder: Path) -> None:
    """Write a temporary file to the folder, and remove it. Raises OSError if this fails."""
    with tempfile.TemporaryFile(dir=folder, prefix=".domogate-doctor-", buffering=0) as file:
        file.write(bytes(_TRIAL))
        os.fsync(file.fileno())


def check_newest(folder: Path, every: float) -> Finding:
    """Check that the newest backup is neither too old nor far in the future. `every`: the seconds between two backups."""
    try:
        backups = list_backup_files(folder)
    except OSError as error:
        return problem(BACKUPS, f"{folder} cannot be read: {error.strerror}.", _ALLOW)
    if not backups:
        advice = "A running gateway makes the first backup a minute after its start. If it does not, its log says why."
        return warning(BACKUPS, f"there is no backup in {folder} yet.", advice)
    newest, now = backups[-1], datetime.now(UTC).timestamp()
    says = f"{folder / newest.name} is the newest of {len(backups)} backups. It has {newest.size / MB:,.1f} MB."
    if abs(now - newest.at) <= TOO_OLD * every:
        return ok(BACKUPS, says)
    late = f"{says} It is {'older than' if newest.at < now else 'ahead of the clock by'} {TOO_OLD} times backup_every."
    return problem(BACKUPS, late, "Start the gateway. If it runs, its log says why it makes no backup.")
