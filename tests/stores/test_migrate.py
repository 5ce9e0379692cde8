"""How a database comes to be."""

import asyncio
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

import domogate.stores
from domogate.stores import DatabaseTooNew, SqlStore
from domogate.stores.engine import open_database
from domogate.stores.migrate import HEAD, find_revision
from domogate.stores.tables import metadata
from support.stores import SMALL, HandClock, OpenStore


class TestMigrations:
    async def test_an_empty_database_gets_exactly_the_tables_of_the_code(self, store: SqlStore, database_url: str) -> None:
        database = open_database(database_url)
        try:
            with database.reading.connect() as connection:
                assert compare_metadata(MigrationContext.configure(connection), metadata) == []
                assert find_revision(connection) == HEAD
        finally:
            database.close()

    def test_the_head_named_in_the_code_is_the_newest_script(self) -> None:
        scripts = ScriptDirectory(str(Path(domogate.stores.__file__).parent / "migrations"))
        assert scripts.get_current_head() == HEAD

    async def test_a_second_start_keeps_everything(self, open_store: OpenStore, database_url: str) -> None:
        first = await open_store(database_url)
        await first.import_estate(SMALL, prune=False)
        exported = await first.export_estate()
        await first.stop()
        second = await open_store(database_url)
        assert await second.export_estate() == exported

    async def test_processes_that_start_together_take_turns(self, open_store: OpenStore, database_url: str) -> None:
        stores = await asyncio.gather(*(open_store(database_url) for _ in range(4)))
        await asyncio.gather(*(store.list_users() for store in stores))


class TestNewerDatabase:
    async def test_it_stops_the_start_and_says_why(self, open_store: OpenStore, database_url: str) -> None:
        store = await open_store(database_url)
        await store._write(lambda tx: tx.connection.execute(text("UPDATE alembic_version SET version_num = '9999'")))
        await store.stop()
        newer = SqlStore(database_url, clock=HandClock())
        with pytest.raises(DatabaseTooNew, match=r"9999.*newer version"):
            await newer.start()
        with pytest.raises(RuntimeError, match="not running"):
            await newer.list_users()
