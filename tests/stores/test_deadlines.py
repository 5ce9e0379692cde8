"""Every read and write of the store ends by its deadline, and nothing waits for a thread that hangs."""

import asyncio
import gc
import sqlite3
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

import pytest
from msgspec.structs import replace
from sqlalchemy import Connection, text

from domogate.domain.people import User
from domogate.domain.states import LightState, Report
from domogate.ports import StoreTimeout
from domogate.stores import SqlStore, sqlite, sqlite_url, writer, writer_limits
from domogate.stores.presence import Presence
from domogate.stores.subject import reads
from support.clocks import NOW, ManualClock
from support.log_lines import capture_logs
from support.stores import ANNA, BRUNO, HOUSE, LAMP, SMALL, HeldStore, OpenStore

DEADLINE = 0.4
SLACK = 30.0
"""Seconds for a busy machine."""
T = TypeVar("T")
ENDLESS = text("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")


async def in_time(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask until the store answers. On a busy machine, an answer can take longer than DEADLINE."""
    while True:
        with suppress(StoreTimeout):
            return await ask()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "domogate.db"


@pytest.fixture
def locked(file: Path) -> Iterator[sqlite3.Connection]:
    """A connection of another process, which can hold the lock for writing."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        yield connection


class TestAWriteThatHangs:
    async def test_its_caller_gives_up_and_the_next_one_that_has_not_begun_is_not_done(
        self, open_store: OpenStore, database_url: str
    ) -> None:
        store = await open_store(database_url, HeldStore, deadline=DEADLINE)
        assert isinstance(store, HeldStore)
        held = await store.hold(store.save_user(ANNA))
        queued = asyncio.create_task(store.save_user(BRUNO))
        begun = time.monotonic()
        for waiting in (held, queued):
            with pytest.raises(StoreTimeout, match=r"within 0\.4 s"):
                await waiting
        assert time.monotonic() - begun < SLACK
        store.released.set()
        await in_time(store.newest_cursor)
        await in_time(lambda: store.save_user(ANNA))
        assert [user.id for user in await in_time(store.list_users)] == [ANNA.id]

    async def test_stopping_does_not_wait_for_it(self, file: Path) -> None:
        store = HeldStore(sqlite_url(file), clock=ManualClock(), deadline=DEADLINE)
        await store.start()
        held = await store.hold(store.save_user(ANNA))
        begun = time.monotonic()
        await store.stop()
        assert time.monotonic() - begun < DEADLINE + SLACK
        with pytest.raises(StoreTimeout):
            await held
        store.released.set()


class TestACallerWhoHasGivenUp:
    @pytest.mark.parametrize("waits", [True, False], ids=["after its deadline", "because it was cancelled"])
    async def test_the_store_does_not_keep_the_write(self, open_store: OpenStore, file: Path, waits: bool) -> None:
        store = await open_store(sqlite_url(file), of=HeldStore, deadline=0.1 if waits else 60.0)
        assert isinstance(store, HeldStore)

        def rename(user: User) -> User:
            return replace(user, name="Another name")

        kept = weakref.ref(rename)
        held = await store.hold(store.save_user(ANNA))
        given_up = asyncio.ensure_future(store.change_user(ANNA.id, rename))
        del rename
        await asyncio.sleep(0)
        if not waits:
            given_up.cancel()
        with suppress(StoreTimeout, asyncio.CancelledError):
            await given_up
        del given_up
        store.released.set()
        with suppress(StoreTimeout):
            await held
        for _ in range(2):  # The writer thread has its last batch until it takes the next one.
            await in_time(lambda: store.save_user(BRUNO))
        gc.collect()
        assert kept() is None


class TestALockOfAnotherProcess:
    async def test_a_write_is_done_when_the_lock_is_free_in_time(
        self, open_store: OpenStore, file: Path, locked: sqlite3.Connection
    ) -> None:
        store = await open_store(sqlite_url(file), deadline=30.0)
        locked.execute("BEGIN IMMEDIATE")
        saving = asyncio.create_task(store.save_user(ANNA))
        await asyncio.sleep(1.5)  # longer than one attempt
        assert not saving.done()
        locked.execute("ROLLBACK")
        await saving
        assert store.is_reachable

    async def test_a_caller_gives_up_by_its_deadline_and_a_report_waits_longer(
        self, open_store: OpenStore, file: Path, locked: sqlite3.Connection
    ) -> None:
        store = await open_store(sqlite_url(file), deadline=DEADLINE)
        await in_time(lambda: store.import_estate(SMALL, prune=False))
        locked.execute("BEGIN IMMEDIATE")
        saving = asyncio.create_task(store.save_user(ANNA))
        recording = asyncio.create_task(store.record([Report(HOUSE.id, LAMP.id, NOW, LightState(on=True, level=7))]))
        with pytest.raises(StoreTimeout):
            await saving
        await asyncio.sleep(1.5)
        assert not recording.done()
        locked.execute("ROLLBACK")
        await recording
        stored = await store.find_plant(HOUSE.id)
        assert stored is not None
        assert stored.states[LAMP.id].state == LightState(on=True, level=7)

    async def test_a_report_gives_up_too(
        self, open_store: OpenStore, file: Path, locked: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(writer_limits, "REPORT_SECONDS", DEADLINE)
        store = await open_store(sqlite_url(file), deadline=DEADLINE)
        await in_time(lambda: store.import_estate(SMALL, prune=False))
        locked.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreTimeout):
            await store.record([Report(HOUSE.id, LAMP.id, NOW, LightState(on=True))])
        locked.execute("ROLLBACK")

    async def test_a_heartbeat_is_tried_again_and_nothing_is_logged(
        self, open_store: OpenStore, file: Path, locked: sqlite3.Connection, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sqlite, "_WRITER_BUSY_SECONDS", 0.02)
        tries: list[int] = []
        announce = Presence.announce

        def count_tries(presence: Presence, connection: Connection, applied: int) -> None:
            tries.append(applied)
            announce(presence, connection, applied)

        await open_store(sqlite_url(file))
        locked.execute("BEGIN IMMEDIATE")
        clock.advance(60.0)
        monkeypatch.setattr(Presence, "announce", count_tries)
        with capture_logs() as lines:
            monkeypatch.setattr(writer, "HEARTBEAT", 0.0)
            async with asyncio.timeout(SLACK):
                while len(tries) < 3:
                    await asyncio.sleep(0.01)
            monkeypatch.setattr(writer, "HEARTBEAT", 1e9)  # Only the heartbeat that failed is tried again.
            locked.execute("ROLLBACK")
            async with asyncio.timeout(SLACK):
                while locked.execute("SELECT seen_at FROM gateways").fetchall() != [(clock.now(),)]:
                    await asyncio.sleep(0.01)
        assert lines == []


class TestAReadThatHangs:
    async def test_a_long_query_is_interrupted_and_its_thread_reads_again(self, open_store: OpenStore, file: Path) -> None:
        store = await open_store(sqlite_url(file), deadline=DEADLINE)
        count = reads(lambda connection: connection.execute(ENDLESS).scalar())
        for _ in range(3):
            # More queries than there are threads.
            answers = await asyncio.gather(*(count(store) for _ in range(6)), return_exceptions=True)
            assert all(isinstance(answer, Exception) for answer in answers)
        async with asyncio.timeout(SLACK):
            while True:
                try:
                    assert await store.list_users() == []
                    break
                except StoreTimeout:
                    pass

    async def test_a_thread_that_hangs_costs_nobody_else_an_answer(self, open_store: OpenStore, database_url: str) -> None:
        store = await open_store(database_url, deadline=DEADLINE)
        released = threading.Event()

        def hang(_connection: Connection) -> None:
            released.wait(30)

        with pytest.raises(StoreTimeout):
            await reads(hang)(store)
        assert await in_time(store.list_users) == []
        released.set()

    async def test_stopping_does_not_wait_for_it(self, file: Path) -> None:
        store = SqlStore(sqlite_url(file), clock=ManualClock(), deadline=DEADLINE)
        await store.start()
        released = threading.Event()
        with pytest.raises(StoreTimeout):
            await reads(lambda _connection: released.wait(60))(store)
        begun = time.monotonic()
        await store.stop()
        assert time.monotonic() - begun < SLACK
        released.set()
