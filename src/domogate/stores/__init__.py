"""The store on SQLAlchemy Core, in a SQLite file or a PostgreSQL database."""

from domogate.stores.backup import find_key_of_backup, restore
from domogate.stores.engine import sqlite_url
from domogate.stores.migrate import DatabaseTooNew
from domogate.stores.store import SqlStore

__all__ = ["DatabaseTooNew", "SqlStore", "find_key_of_backup", "restore", "sqlite_url"]
