"""A list of ids in a temporary file. A large estate has millions of ids, which would need much memory."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager

_CACHE_KIB = 4 * 1024
_MOST_AT_ONCE = 500


class DiskIds(AbstractContextManager["DiskIds"]):
    """A list of ids. The same id can be added twice; then `are_unique` returns False.

    Add all ids before the first call of `are_unique` or `find_missing`. The ids are in a temporary SQLite file. The file is
    deleted at the end of the `with` block, and also if the process crashes.
    """

    def __init__(self) -> None:
        # The threads of a store use the connection one after the other.
        self._table = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._table.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self._table.execute("PRAGMA journal_mode = OFF")
        self._table.execute("CREATE TABLE listed (id TEXT)")
        self._table.execute("BEGIN")

    def __exit__(self, *_: object) -> None:
        self._table.close()

    def add(self, ids: Iterable[str]) -> None:
        self._table.executemany("INSERT INTO listed VALUES (?)", ((one,) for one in ids))

    def are_unique(self) -> bool:
        # Sorting all ids at the end is much faster than keeping them sorted.
        try:
            self._table.execute("CREATE UNIQUE INDEX by_id ON listed (id)")
        except sqlite3.IntegrityError:
            return False
        return True

    def find_missing(self, ids: Sequence[str]) -> set[str]:
        """Return the given ids that were not added to the list."""
        self._table.execute("CREATE INDEX IF NOT EXISTS by_id ON listed (id)")
        missing = set(ids)
        for begin in range(0, len(ids), _MOST_AT_ONCE):
            some = json.dumps(ids[begin : begin + _MOST_AT_ONCE])
            found = self._table.execute("SELECT id FROM listed WHERE id IN (SELECT value FROM json_each(?))", (some,))
            missing.difference_update(one for (one,) in found)
        return missing
