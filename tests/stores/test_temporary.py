"""Stores whose data nobody needs after the process (Decision 0120)."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from domogate.stores import SqlStore, sqlite_url
from domogate.stores.subject import reads
from support.clocks import ManualClock

_OFF, _FULL = 0, 2


def _read_synchronous(connection: Connection) -> int:
    found: int = connection.execute(text("PRAGMA synchronous")).scalar_one()
    return found


class _Store(SqlStore):
    read_synchronous = reads(_read_synchronous)


class TestTemporary:
    @pytest.mark.parametrize(
        ("given", "synchronous"), [({}, _FULL), ({"temporary": False}, _FULL), ({"temporary": True}, _OFF)]
    )
    async def test_only_commits_of_a_temporary_store_do_not_wait_for_the_disk(
        self, given: dict[str, Any], synchronous: int, tmp_path: Path
    ) -> None:
        store = _Store(sqlite_url(tmp_path / "x.db"), clock=ManualClock(), **given)
        await store.start()
        try:
            assert await store.read_synchronous() == synchronous
        finally:
            await store.stop()
