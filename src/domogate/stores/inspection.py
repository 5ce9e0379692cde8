"""Checks a database before the store uses it: is it lost, empty or damaged, or does it belong to another program?

The data folder has a list of the databases that the folder was used with. If a database in this list is missing or empty, it is
lost. Then the store does not start, and creates no empty database (Decision 0066).
"""

import os
import sqlite3
import struct
import time
from contextlib import closing
from pathlib import Path

from domogate.common.owners import advise_denied, advise_writable, describe_denied, find_foreign_owner
from domogate.stores.log_check import find_damaged_log
from domogate.stores.refused_writes import explain_refused_write, find_cause

LIST_NAME = "in-use"
"""The name of a file in the data folder: the list of the databases that the folder was used with."""
_LIST_HEAD = "# The databases that this folder was used with. Domogate stops if one of them is missing or empty.\n"
_MAGIC = b"SQLite format 3\0"
CHECK_SECONDS, SHORT_CHECK_SECONDS = 1.0, 0.2
"""In seconds: the time limits for the check of a SQLite file, one for the start of a gateway, one for a `domogate` command."""
_DAMAGE = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))

GROWING_TABLES = ("audit", "changes", "hourly_readings", "orders", "parked", "raw_readings", "recent_readings")
"""Tables that grow with time. They are checked last, and are not checked in a large file."""
PLANT_TABLES = ("plants", "members", "floors", "ambients", "modules", "states")
"""Tables that are large if there are many plants. They are checked after the small tables."""
LARGE_FILE = 1 << 30
"""In bytes. Checking all tables of a file of this size takes several seconds, so GROWING_TABLES are not checked in it."""


class DatabaseUnusable(RuntimeError):
    """The database cannot be used, so the store does not start, or a read or write of the running store fails.

    The message says why and what to do.
    """


class UsedDatabases:
    """The databases that a data folder was used with.

    The file `in-use` in the folder has one line for each database. Without a folder the list is empty.
    """

    def __init__(self, folder: Path | None) -> None:
        self.file = None if folder is None else folder / LIST_NAME

    def has(self, name: str) -> bool:
        return name in self._read()

    def add(self, name: str) -> None:
        """Write the name of the database into the file `in-use`, if it is not there yet.

        Root does not write this file into a folder of another user, because that user could not read the file. Raises
        DatabaseUnusable if the file cannot be written.
        """
        if self.file is None or self.has(name) or find_foreign_owner(self.file.parent) is not None:
            return
        try:
            descriptor = os.open(self.file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "a", encoding="utf-8") as file:
                file.write(f"{name}\n" if file.tell() else f"{_LIST_HEAD}{name}\n")
        except OSError as error:
            says = f"{self.file} cannot be written: {error.strerror}.\n{advise_writable(self.file.parent)}"
            raise DatabaseUnusable(says) from None

    def refuse(self, name: str, problem: str) -> DatabaseUnusable:
        """Return the error: the folder was used with the database `name`, and this database is missing or empty now."""
        assert self.file is not None
        restore = "with pg_restore" if "://" in name else f"with: domogate restore BACKUP --data {self.file.parent}"
        return DatabaseUnusable(
            f"{problem}, but the folder {self.file.parent} was in use with it. Nothing was changed.\n"
            f"If the database was moved, put it back. If it is lost, restore a backup {restore}\n"
            f"To begin with an empty database, delete {self.file} first."
        )

    def _read(self) -> list[str]:
        if self.file is None:
            return []
        try:
            return self.file.read_text("utf-8", "replace").splitlines()
        except FileNotFoundError:
            return []


def inspect_header(path: Path, used: UsedDatabases) -> int:
    """Check the size and the header of a SQLite file, and return its size. Raises DatabaseUnusable if a check fails.

    In a new folder the file may be missing or empty.
    """
    try:
        size = path.stat().st_size if path.exists() else 0
        if size:
            _check_header(path, size)
        else:
            _check_lost(path, used)
    except PermissionError as error:
        raise _denied(Path(error.filename or path)) from error
    return size


def inspect_file(path: Path, used: UsedDatabases, *, seconds: float) -> None:
    """Check a SQLite file before it is opened for writing. Raises DatabaseUnusable if a check fails.

    Raises StoreNotWritable if SQLite cannot write the files that it needs for reading, for example because the disk is full.
    The check of the content ends after about `seconds` seconds, even if it has not reached all tables.
    """
    size = inspect_header(path, used)
    if not size:
        return
    if not is_writable(path):
        raise DatabaseUnusable(
            f"{path} cannot be written: its file system is read-only, or it belongs to another user."
            f" {describe_denied(path) or describe_denied(path.parent)}".rstrip()
            + "\n"
            "`domogate backup` works nevertheless."
        )
    try:
        with closing(connect_readonly(path)) as connection:
            tables = list_tables(connection)
            if not tables and used.has(path.name):
                raise used.refuse(path.name, f"{path} is empty")
            if tables and "alembic_version" not in tables:
                raise DatabaseUnusable(f"{path} is a database of another program: choose another folder with --data.")
            if (problem := find_damaged_log(path)) is not None:
                raise _damaged(path, problem)
            _check_content(connection, path, tables, size, time.monotonic() + seconds)
    except sqlite3.DatabaseError as error:
        raise explain_refused_write(path, explain_damage(path, error)) from error


def _check_lost(path: Path, used: UsedDatabases) -> None:
    log = Path(f"{path}-wal")
    problem = f"{path} is empty" if path.exists() else f"{path} is missing"
    if used.has(path.name):
        raise used.refuse(path.name, problem)
    if log.exists() and log.stat().st_size:
        # SQLite would delete the log, which has the last changes of the lost database.
        raise DatabaseUnusable(
            f"{problem}, but its log {log.name} exists. Nothing was changed.\n"
            "If the database was moved, put it back beside its log. If it is lost, move the log away and restore a backup"
            f" with: domogate restore BACKUP --data {path.parent}"
        )


def _check_header(path: Path, size: int) -> None:
    with path.open("rb") as file:
        head = file.read(100)
    if not head.startswith(_MAGIC) or len(head) < 100:
        raise _damaged(path, "it does not begin as a SQLite file")
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size:
        return  # The log may complete the file.
    page_size, pages = struct.unpack(">H", head[16:18])[0], struct.unpack(">I", head[28:32])[0]
    page_size = 65_536 if page_size == 1 else page_size
    # The number of pages is valid if these two counters are equal.
    if head[24:28] == head[92:96] and size < pages * page_size:
        raise _damaged(path, f"it has {size} of {pages * page_size} bytes")


def _check_content(connection: sqlite3.Connection, path: Path, tables: set[str], size: int, end: float) -> None:
    growing = [] if size >= LARGE_FILE else [name for name in GROWING_TABLES if name in tables]
    # Newer versions of SQLite can be interrupted during the check of a table.
    connection.set_progress_handler(lambda: time.monotonic() >= end, 10_000)
    small = sorted(tables.difference(GROWING_TABLES, PLANT_TABLES))
    for table in [*small, *(name for name in PLANT_TABLES if name in tables), *growing]:
        if time.monotonic() >= end:
            return
        try:
            found = connection.execute(f"PRAGMA quick_check('{table}')").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                return
            raise
        if found is not None and found[0] != "ok":
            raise _damaged(path, found[0])


def explain_damage(path: Path, error: Exception) -> Exception:
    """Return the error itself, or a DatabaseUnusable if the error means that the file is damaged."""
    cause = find_cause(error)
    if isinstance(cause, sqlite3.DatabaseError) and getattr(cause, "sqlite_errorcode", 0) & 0xFF in _DAMAGE:
        return _damaged(path, str(cause))
    return error


def _denied(path: Path) -> DatabaseUnusable:
    """Return the error for a file of the data folder that this process may not use."""
    return DatabaseUnusable(
        f"{path} cannot be used: Permission denied. {describe_denied(path)}".rstrip() + f"\n{advise_denied(path)}"
    )


def _damaged(path: Path, problem: str) -> DatabaseUnusable:
    return DatabaseUnusable(
        f"the database {path} is damaged: {problem}.\n"
        f"Stop the gateway, move {path.name} and its files -wal and -shm away (keep them), and restore a backup with:"
        f" domogate restore BACKUP --data {path.parent}"
    )


def connect_readonly(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def list_tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def is_writable(path: Path) -> bool:
    """Whether this process may write to the file and its folder. On a read-only file system not even root may write."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
