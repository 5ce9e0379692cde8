"""A database that cannot be written, at the start of the store or later: a clear refusal, and nothing is lost."""

import asyncio
import os
import sqlite3
from pathlib import Path
from typing import cast

import pytest
from sqlalchemy import Connection

from domogate.domain.states import LightState, Report
from domogate.ports import StoreNotWritable
from domogate.stores import SqlStore, sqlite_url
from domogate.stores.engine import Transaction
from domogate.stores.sqlite import SqliteDatabase
from domogate.stores.subject import writes
from support.clocks import NOW
from support.log_lines import capture_logs
from support.small_disk import small_disk
from support.stores import HOUSE, LAMP, SMALL, OpenStore, level_in, record_changes

SENTENCE = (
    "the database {} cannot be written: its file system is read-only, or its files belong to another user. "
    "Make the data folder writable; a running gateway then continues by itself. If the log of the system says that Linux made "
    "the file system read-only after an error, this is not enough: stop the gateway, unmount the disk, run fsck, mount the "
    "disk, and start the gateway"
)


@writes
def find_connection(tx: Transaction) -> sqlite3.Connection:
    """Return the connection of the writer."""
    return cast(sqlite3.Connection, tx.connection.connection.driver_connection)


async def open_with_house(open_store: OpenStore, file: Path) -> tuple[SqlStore, sqlite3.Connection]:
    """Open a store that does not poll, so that only its writes say whether the database is reachable."""
    store = await open_store(sqlite_url(file), poll=60.0)
    await store.import_estate(SMALL, prune=False)
    return store, await find_connection(store)


def set_read_only(connection: sqlite3.Connection, read_only: bool) -> None:
    """If the connection is read-only, SQLite refuses its transactions with the error of a read-only file."""
    connection.execute(f"PRAGMA query_only = {'ON' if read_only else 'OFF'}")


def dim(level: int) -> Report:
    return Report(HOUSE.id, LAMP.id, NOW, LightState(on=True, level=level))


async def read_level(store: SqlStore) -> int:
    plant = await store.find_plant(HOUSE.id)
    assert plant is not None
    return level_in(plant.states[LAMP.id])


class TestADatabaseThatBecomesReadOnly:
    async def test_writes_are_refused_and_work_again_and_nothing_is_lost(self, open_store: OpenStore, tmp_path: Path) -> None:
        file = tmp_path / "domogate.db"
        store, connection = await open_with_house(open_store, file)
        recorded = record_changes(store)
        await store.record([dim(1)])
        set_read_only(connection, True)
        with capture_logs() as lines:
            for level in (2, 3):
                with pytest.raises(StoreNotWritable) as refused:
                    await store.record([dim(level)])
                assert str(refused.value) == store.write_problem == SENTENCE.format(file)
                assert store.is_reachable
            assert await read_level(store) == 1
            set_read_only(connection, False)
            await find_connection(store)  # a transaction that writes nothing does not show that writing works again
            still = store.write_problem
            await store.record([dim(4)])
        assert [line["event"] for line in lines] == ["nothing can be written", "the database can be written again"]
        assert lines[0]["reason"] == SENTENCE.format(file)
        assert (still, store.write_problem) == (SENTENCE.format(file), None)
        assert [level_in(event) for event in recorded.events] == [1, 4]
        assert recorded.cursors == [recorded.cursors[0], recorded.cursors[0] + 1]
        await store.stop()
        assert await read_level(await open_store(sqlite_url(file))) == 4

    async def test_each_caller_of_a_shared_commit_is_refused(self, open_store: OpenStore, tmp_path: Path) -> None:
        store, connection = await open_with_house(open_store, tmp_path / "domogate.db")
        await store.record([dim(1)])
        set_read_only(connection, True)
        with capture_logs() as lines:
            answers = await asyncio.gather(*(store.record([dim(level)]) for level in range(2, 34)), return_exceptions=True)
        assert {type(answer) for answer in answers} == {StoreNotWritable}
        assert [line["event"] for line in lines if line["log_level"] == "error"] == ["nothing can be written"]
        assert await read_level(store) == 1


async def test_a_gateway_that_cannot_write_at_its_start_says_why(
    open_store: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables are current, so the first write of the start is the heartbeat."""
    file = tmp_path / "domogate.db"
    await (await open_store(sqlite_url(file))).stop()

    def prepare_writer(_database: SqliteDatabase, connection: Connection) -> None:
        set_read_only(cast(sqlite3.Connection, connection.connection.driver_connection), True)

    monkeypatch.setattr(SqliteDatabase, "prepare_writer", prepare_writer)
    with pytest.raises(StoreNotWritable) as refused:
        await open_store(sqlite_url(file))
    assert str(refused.value) == SENTENCE.format(file)


async def test_a_gateway_that_starts_on_a_full_disk_says_so(open_store: OpenStore, tmp_path: Path) -> None:
    """SQLite cannot even make its shared memory file, so the check before the start fails."""
    with small_disk(tmp_path / "disk") as disk:
        if not disk.is_mounted:
            pytest.skip("no disk may be mounted here")
        file = disk.folder / "domogate.db"
        await (await open_store(sqlite_url(file))).stop()
        disk.fill(os.getpid())
        with pytest.raises(StoreNotWritable, match=r"cannot be written: its disk .*free space"):
            await open_store(sqlite_url(file))
