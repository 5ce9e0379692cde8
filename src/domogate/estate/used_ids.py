"""Ids that a file has used, and their places. They are in a temporary file, because a large file has millions of ids."""

import sqlite3

_CACHE_KIB = 16 * 1024


class UsedIds:
    """The ids in an estate file, and the place in the file where each id is first used.

    They are in a temporary SQLite file. `close` deletes this file. It is also deleted if the process crashes.
    """

    def __init__(self) -> None:
        self._table = sqlite3.connect("", isolation_level=None)
        self._table.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self._table.execute("PRAGMA journal_mode = OFF")
        self._table.execute("CREATE TABLE used (id TEXT PRIMARY KEY, place TEXT) WITHOUT ROWID")
        self._table.execute("BEGIN")

    def close(self) -> None:
        self._table.close()

    def add(self, value: str, place: str) -> str | None:
        """Note the id with its place and return None. If the id was noted before, change nothing and return its first place."""
        added = self._table.execute("INSERT OR IGNORE INTO used VALUES (?, ?)", (value, place)).rowcount == 1
        if added:
            return None
        (first,) = self._table.execute("SELECT place FROM used WHERE id = ?", (value,)).fetchone()
        return str(first)
