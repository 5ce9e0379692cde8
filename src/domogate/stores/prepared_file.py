"""Reads a SQLite file without SQLAlchemy: importing SQLAlchemy takes longer than a short command (Decision 0098).

This is possible only if the file is prepared: it has the tables of this version, its secrets are encrypted, and the file
`in-use` in the data folder lists it. Otherwise the store must open it (`prepare_database`).
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import msgspec

from domogate.ports import Sealer
from domogate.stores.inspection import (
    SHORT_CHECK_SECONDS,
    UsedDatabases,
    connect_readonly,
    explain_damage,
    inspect_file,
    list_tables,
)
from domogate.stores.refused_writes import explain_refused_write
from domogate.stores.revisions import HEAD

S = TypeVar("S", bound=msgspec.Struct)


def read_rows(file: Path, used: UsedDatabases, sealer: Sealer, query: str, kind: type[S]) -> list[S] | None:
    """Return the rows of the query as structs. Return None if the file is not prepared.

    The columns must have the names and the types of the fields. Raises the same errors as the start of a store.
    """
    inspect_file(file, used, seconds=SHORT_CHECK_SECONDS)
    if not used.has(file.name):
        return None
    try:
        with closing(connect_readonly(file)) as connection:
            connection.execute("BEGIN")
            if not _is_prepared(connection, sealer):
                return None
            connection.row_factory = sqlite3.Row
            return [msgspec.convert(dict(row), kind) for row in connection.execute(query)]
    except sqlite3.DatabaseError as error:
        raise explain_refused_write(file, explain_damage(file, error)) from error


def _is_prepared(connection: sqlite3.Connection, sealer: Sealer) -> bool:
    if "alembic_version" not in list_tables(connection):
        return False
    if connection.execute("SELECT version_num FROM alembic_version").fetchone() != (HEAD,):
        return False
    key = connection.execute("SELECT id FROM secret_key").fetchone()
    if key is None:
        return False
    sealer.choose_key(key[0])  # Raises SecretKeyMissing, as for every other command on this database.
    return True
