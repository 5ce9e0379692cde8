"""Backup of a SQLite database while it is in use, and restore."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from domogate.domain.ids import new_id
from domogate.stores.engine import Database, SqliteDatabase


def back_up(database: Database, path: Path) -> None:
    """Write a consistent copy to `path` while the store is in use. It appears there only when it is complete and on disk."""
    if not isinstance(database, SqliteDatabase):
        raise ValueError("Domogate does not back up PostgreSQL databases: use pg_dump")
    if path.exists():
        raise FileExistsError(f"{path} exists already: a backup never overwrites anything")
    unfinished = _beside(path)
    try:
        with closing(_connect_readonly(database.path)) as source, closing(_connect_privately(unfinished)) as copy:
            # In one step, because with several steps SQLite restarts after every write of others. Writers are not blocked.
            source.backup(copy, pages=-1)
            copy.execute("PRAGMA journal_mode = DELETE")  # so that the backup is one file
            copy.execute("DELETE FROM gateways")
            copy.commit()
        _check(unfinished)
        _publish(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def find_key_of_backup(path: Path) -> str | None:
    """Return the id of the secret key that a restore needs; None if the secrets in it are not encrypted. Raises ValueError."""
    with _reading(path) as connection:
        if "secret_key" not in _list_tables(connection):
            return None
        row = connection.execute("SELECT id FROM secret_key").fetchone()
    return None if row is None else row[0]


def restore(backup_path: Path, data_file: Path) -> None:
    """Copy a backup to `data_file`, which must not exist. Raises ValueError if the backup is damaged."""
    for leftover in (data_file, Path(f"{data_file}-wal"), Path(f"{data_file}-shm")):
        if leftover.exists():
            raise FileExistsError(f"{leftover} exists already: move it away before restoring")
    if not backup_path.is_file():
        raise FileNotFoundError(f"there is no backup {backup_path}")
    _check(backup_path)
    data_file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = _beside(data_file)
    try:
        with backup_path.open("rb") as source, os.fdopen(_create_privately(unfinished), "wb") as copy:
            shutil.copyfileobj(source, copy)
        _check(unfinished)
        _publish(unfinished, data_file)
    finally:
        unfinished.unlink(missing_ok=True)


def _check(path: Path) -> None:
    with _reading(path) as connection:
        if not {"alembic_version", "changes", "plants"} <= _list_tables(connection):
            raise ValueError(f"{path} is not a Domogate database")
        mistakes = [text for (text,) in connection.execute("PRAGMA integrity_check(10)") if text != "ok"]
    if mistakes:
        raise ValueError(f"{path} is damaged: {'; '.join(mistakes)}")


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(_connect_readonly(path)) as connection:
            yield connection
    except sqlite3.DatabaseError as error:
        raise ValueError(f"{path} cannot be read as a database: {error}") from error


def _list_tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{new_id()}")


def _create_privately(path: Path) -> int:
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)


def _connect_readonly(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def _connect_privately(path: Path) -> sqlite3.Connection:
    os.close(_create_privately(path))
    return sqlite3.connect(path)


def _publish(unfinished: Path, path: Path) -> None:
    """Sync the file, then give it its name. A hard link fails if a file with that name was created meanwhile."""
    _sync(unfinished)
    try:
        path.hardlink_to(unfinished)
    except FileExistsError:
        raise FileExistsError(f"{path} exists already") from None
    except OSError:  # a file system without hard links
        unfinished.rename(path)
    with suppress(OSError):  # not every system can sync a folder
        _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
