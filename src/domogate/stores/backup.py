"""Backs up a SQLite database while it is in use, and restores backups."""

import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from domogate.domain.ids import new_id
from domogate.stores.inspection import connect_readonly, list_tables
from domogate.stores.revisions import HEAD, explain_too_new

if sys.platform != "win32":
    import fcntl

_PAGES_A_STEP = 4_096
"""The number of pages in one step of the copy (16 MB). After each step, the copy stops if the backup is not wanted any more."""
_CHECK_EVERY = 10_000
"""SQLite checks a backup in many small steps. Each time after this number of steps, it asks whether the backup is still wanted.

If the backup is not wanted any more, the check stops.
"""
RESERVE = 16 << 20
"""In bytes. A backup leaves at least this space free: the database may be on the same disk."""
_MB = 1_000_000
_COUNTED = ("plants", "modules", "users")
_COUNT = "SELECT (SELECT count(*) FROM plants), (SELECT count(*) FROM modules), (SELECT count(*) FROM users)"


class Content(msgspec.Struct, frozen=True):
    """A database's schema revision, newest change and secret key id, and its numbers of plants, modules and users.

    The newest change shows whether two databases have the same history.
    """

    revision: str
    counts: dict[str, int]
    newest: tuple[int, float, str] | None
    key_id: str | None

    @property
    def cursor(self) -> int:
        return 0 if self.newest is None else self.newest[0]

    def __str__(self) -> str:
        return ", ".join(f"{number} {noun}" for noun, number in self.counts.items()) + f", {self.cursor} changes"


class BackupStopped(Exception):
    """The caller does not want the backup any more. The incomplete copy was removed."""


def back_up(
    source: Path,
    path: Path,
    *,
    replace: bool = False,
    replace_larger: bool = False,
    is_wanted: Callable[[], bool] = lambda: True,
) -> str | None:
    """Write a consistent copy of the database `source` to `path`, while the store is in use.

    The file at `path` appears only when the copy is checked and on disk.

    Returns the id of the secret key that a restore needs, or None if the secrets are not encrypted. Raises ValueError if the
    database cannot be read, or if the copy cannot be written. Also raises ValueError if the copy would leave less than
    `RESERVE` bytes free, or is not equal to the database. Raises BackupStopped soon after `is_wanted` returns False.

    Raises OSError if the folder of `path` cannot be written. Raises FileExistsError if there is already a file at `path`, and
    neither `replace` nor `replace_larger` is true. Raises ValueError if this file is a backup with more content than the new
    backup, and `replace_larger` is false.
    """
    replace = replace or replace_larger
    if path.exists() and not replace:
        raise FileExistsError(f"{path} already exists, and this backup may not replace it")

    def stop_if_unwanted(*_: object) -> None:
        if not is_wanted():
            raise BackupStopped

    with _unfinished_copy(path) as unfinished:
        _check_space(source, path.absolute().parent)
        content = _copy(source, unfinished, stop_if_unwanted)
        stop_if_unwanted()
        try:
            _check(unfinished, content, is_wanted)
        except ValueError:
            stop_if_unwanted()  # The check was interrupted.
            raise
        if replace and not replace_larger:
            _refuse_to_replace_larger(path, unfinished)
        _publish(unfinished, path, replace=replace)
    return find_key_of_backup(path)


def measure_needed_space(source: Path) -> int:
    """Return the number of bytes that must be free before a backup of this database begins."""
    files = (source, Path(f"{source}-wal"))
    return sum(file.stat().st_size for file in files if file.exists()) + RESERVE


def _check_space(source: Path, folder: Path) -> None:
    needed, free = measure_needed_space(source), shutil.disk_usage(folder).free
    if free < needed:
        raise ValueError(
            f"a backup needs {needed / _MB:.0f} MB in {folder}, and {free / _MB:.0f} MB are free. Delete files, or make the"
            " backup on another disk, with `domogate backup` or the setting backup_folder"
        )


def _copy(source: Path, unfinished: Path, progress: Callable[..., None] | None = None) -> Content:
    """Copy the database and the changes in its log into the file `unfinished`. Return the content that the file must have."""
    try:
        with _reading_source(source, unfinished) as database, closing(sqlite3.connect(unfinished)) as copy:
            # The transaction keeps one snapshot. Without it, SQLite would start the copy again after every write of another
            # connection. The copy does not block writers.
            database.execute("BEGIN")
            _check_tables(database, source)
            content = _read_content(database)
            database.backup(copy, pages=_PAGES_A_STEP, progress=progress)
            copy.execute("PRAGMA journal_mode = DELETE")  # so that the backup is a single file
            if "gateways" in list_tables(copy):
                copy.execute("DELETE FROM gateways")
            copy.commit()
    except sqlite3.Error as error:
        raise ValueError(f"{source} cannot be copied to {unfinished.parent}: {error}") from error
    return content


def find_key_of_backup(path: Path) -> str | None:
    """Return the id of the secret key that a restore needs. Return None if the secrets in the backup are not encrypted.

    Raises ValueError if the file is not a SQLite database. The content of the database is not checked.
    """
    with _reading(path) as connection:
        return _find_key(connection)


def restore(backup_path: Path, data_file: Path) -> None:
    """Copy a backup to `data_file`. Raises FileExistsError if this file, or a file -wal or -shm beside it, is not empty.

    `backup_path` can also be a database that was moved away, with its write-ahead log beside it. Raises FileNotFoundError if
    there is no backup. Raises ValueError if the backup is damaged, if a newer version made it, or if it cannot be copied.
    """
    if not backup_path.is_file():
        raise FileNotFoundError(f"there is no backup {backup_path}")
    _check(backup_path)
    with _reading(backup_path) as connection:
        revision = _read_content(connection).revision
    if revision > HEAD:
        raise ValueError(f"{explain_too_new(str(backup_path), revision)} Install that version to restore this backup.")
    for leftover in (data_file, Path(f"{data_file}-wal"), Path(f"{data_file}-shm")):
        if leftover.exists() and leftover.stat().st_size:
            raise FileExistsError(f"{leftover} already exists: move it away before restoring")
    data_file.parent.mkdir(parents=True, exist_ok=True)
    with _unfinished_copy(data_file) as unfinished:
        _check(unfinished, _copy(backup_path, unfinished))
        _publish(unfinished, data_file, replace=data_file.exists())


# the content of backups


def _check(path: Path, expected: Content | None = None, is_wanted: Callable[[], bool] = lambda: True) -> None:
    """Check the database. Raises ValueError if it is damaged, its content is not `expected`, or `is_wanted` returns False."""
    with _reading(path) as connection:
        connection.set_progress_handler(lambda: not is_wanted(), _CHECK_EVERY)
        _check_tables(connection, path)
        mistakes = [text for (text,) in connection.execute("PRAGMA integrity_check(10)") if text != "ok"]
        if mistakes:
            raise ValueError(f"{path} is damaged: {'; '.join(mistakes)}")
        if expected is not None and (found := _read_content(connection)) != expected:
            raise ValueError(f"the copy differs from the database: it has {found} instead of {expected}")


def _check_tables(connection: sqlite3.Connection, path: Path) -> None:
    if not {"alembic_version", "changes", "plants"} <= list_tables(connection):
        raise ValueError(f"{path} is not a Domogate database")


def compare_backups(old_path: Path, new_path: Path) -> str | None:
    """Compare the content of two files.

    If the first file is a backup with more content than the second file, return a sentence about the difference. Otherwise
    return None. More content means that the number of the newest change is higher. If the second file is not a later state of
    the same store, more plants, modules or users count too. Raises ValueError if the second file cannot be read.
    """
    try:
        with _reading(old_path) as connection:
            old = _read_content(connection)
    except (ValueError, OSError):
        return None
    with _reading(new_path) as connection:
        new = _read_content(connection)
        larger = old.cursor > new.cursor or (
            any(old.counts[noun] > new.counts[noun] for noun in _COUNTED) and not _is_same_store(connection, old, new)
        )
    return f"{old_path} holds more ({old}) than the new backup ({new})" if larger else None


def _refuse_to_replace_larger(path: Path, fresh: Path) -> None:
    """Raises ValueError if the file at `path` is a backup with more content than `fresh`. Any other file may be replaced."""
    if (larger := compare_backups(path, fresh)) is not None:
        raise ValueError(f"{larger}, and was not replaced. Check --data.\nTo replace it nevertheless, use --replace-larger.")


def _read_content(connection: sqlite3.Connection) -> Content:
    revision = connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    counts = dict(zip(_COUNTED, connection.execute(_COUNT).fetchone(), strict=True))
    newest = connection.execute("SELECT cursor, at, event FROM changes ORDER BY cursor DESC LIMIT 1").fetchone()
    return Content(revision, counts, newest, _find_key(connection))


def _is_same_store(connection: sqlite3.Connection, old: Content, new: Content) -> bool:
    """Whether the new backup is a later state of the store of the old backup.

    If so, plants, modules and users that are missing in the new backup were removed on purpose. The newest change of the old
    backup may be pruned, so that the new backup does not have it. Then only the ids of the secret keys are compared.
    """
    oldest = connection.execute("SELECT min(cursor) FROM changes").fetchone()[0]
    if oldest is None or old.cursor < oldest:  # This part of the history was pruned.
        return old.key_id == new.key_id
    same = connection.execute("SELECT cursor, at, event FROM changes WHERE cursor = ?", (old.cursor,)).fetchone()
    return bool(same == old.newest)


def _find_key(connection: sqlite3.Connection) -> str | None:
    if "secret_key" not in list_tables(connection):
        return None
    row = connection.execute("SELECT id FROM secret_key").fetchone()
    return None if row is None else row[0]


# files


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(connect_readonly(path)) as connection:
            yield connection
    except sqlite3.DatabaseError as error:
        raise ValueError(f"{path} cannot be read as a database: {error}") from error


@contextmanager
def _reading_source(source: Path, unfinished: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection that reads the database `source`. Other processes may use this database.

    SQLite needs the file -shm to read the write-ahead log. The first process that opens the database makes this file. If the
    file is missing, and this process may not make it, this function copies the database and its log, and yields a connection
    to the copy. The copy is consistent: without the file -shm, no other process is using the database.
    """
    log, index = Path(f"{source}-wal"), Path(f"{source}-shm")
    if index.exists() or os.access(source.parent, os.W_OK):
        with closing(connect_readonly(source)) as connection:
            yield connection
        return
    copied = [(source, unfinished.with_name(f"{unfinished.name}-source"))]
    if log.exists():
        copied.append((log, unfinished.with_name(f"{unfinished.name}-source-wal")))
    try:
        for original, copy in copied:
            os.close(_create_privately(copy))
            shutil.copyfile(original, copy)
        with closing(sqlite3.connect(copied[0][1])) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master")
            yield connection
    finally:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{copied[0][1]}{suffix}").unlink(missing_ok=True)


@contextmanager
def _unfinished_copy(path: Path) -> Iterator[Path]:
    """Yield a new private file in the folder of `path`.

    The file is locked, because another backup removes unfinished copies that are not locked.
    """
    remove_unfinished(path.parent, re.escape(path.name))
    unfinished = path.with_name(f".{path.name}.{new_id()}")
    try:
        with os.fdopen(_create_privately(unfinished), "wb") as held:
            _lock(held)
            yield unfinished
    finally:
        for leftover in (unfinished, Path(f"{unfinished}-journal")):
            leftover.unlink(missing_ok=True)


def remove_unfinished(folder: Path, name: str) -> None:
    """Remove the unfinished copies that killed processes left in the folder. `name` is the pattern of the names of backups."""
    pattern = re.compile(rf"(?P<copy>\.+(?:{name})(?:\.[0-9a-f-]{{32,36}})+?)(?P<more>(?:-source|-journal|-wal|-shm)*)")
    with suppress(OSError):
        # In the sorted list, a copy comes before the files that belong to this copy.
        for found in sorted(folder.iterdir()):
            match = pattern.fullmatch(found.name)
            if match is not None and not (match["more"] and found.with_name(match["copy"]).exists()):
                _remove_unless_held(found)


def _remove_unless_held(path: Path) -> None:
    with suppress(OSError), path.open("rb") as file:
        _lock(file)
        path.unlink()


def _lock(file: BinaryIO) -> None:
    """Lock the file. Raises OSError if another process has locked it. On Windows, close it instead."""
    if sys.platform == "win32":
        file.close()  # Windows does not remove or rename open files.
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _create_privately(path: Path) -> int:
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)


def _publish(unfinished: Path, path: Path, *, replace: bool) -> None:
    """Sync the file to the disk, then give it its final name.

    If `replace` is false, the name is given with a hard link. This fails if another process has created a file with this name.
    """
    _sync(unfinished)
    if replace:
        unfinished.replace(path)
    else:
        try:
            path.hardlink_to(unfinished)
        except FileExistsError:
            raise FileExistsError(f"{path} already exists") from None
        except OSError:  # a file system without hard links
            unfinished.rename(path)
    with suppress(OSError):  # Not every system can sync a folder.
        _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
