"""The store on SQLAlchemy Core, in a SQLite file or a PostgreSQL database.

The names of this package are imported when they are first used (Decision 0098).
"""

from typing import TYPE_CHECKING

from domogate.common.late_imports import late_names

if TYPE_CHECKING:
    from domogate.stores.backup import back_up, find_key_of_backup, restore
    from domogate.stores.inspection import DatabaseUnusable, UsedDatabases, inspect_header, is_writable
    from domogate.stores.migrate import DatabaseInUse, DatabaseTooNew
    from domogate.stores.move import Move, Moved, MoveRefused
    from domogate.stores.opening import find_sqlite_file, sqlite_url
    from domogate.stores.store import SqlStore

__all__ = [
    "DatabaseInUse",
    "DatabaseTooNew",
    "DatabaseUnusable",
    "Move",
    "MoveRefused",
    "Moved",
    "SqlStore",
    "UsedDatabases",
    "back_up",
    "find_key_of_backup",
    "find_sqlite_file",
    "inspect_header",
    "is_writable",
    "restore",
    "sqlite_url",
]

__getattr__ = late_names(
    __name__,
    {
        "backup": ("back_up", "find_key_of_backup", "restore"),
        "inspection": ("DatabaseUnusable", "UsedDatabases", "inspect_header", "is_writable"),
        "migrate": ("DatabaseInUse", "DatabaseTooNew"),
        "move": ("Move", "Moved", "MoveRefused"),
        "opening": ("find_sqlite_file", "sqlite_url"),
        "store": ("SqlStore",),
    },
)
