"""Group commit: callers share a transaction, but not their failures."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from domogate.domain.people import User
from domogate.domain.states import LightState, PlugState, Reading, Report, Unit
from domogate.stores import SqlStore, batch, sqlite_url
from domogate.stores.direct import Write
from domogate.stores.engine import Transaction
from domogate.stores.subject import writes
from support.clocks import NOW
from support.postgres import PostgresServer
from support.stores import ANNA, HOUSE, LAMP, PLUG, SMALL, ChangeRecorder, HeldStore, OpenStore, an_id, level_in, record_changes


def on(level: int, at: float = NOW) -> Report:
    return Report(HOUSE.id, LAMP.id, at, LightState(on=True, level=level))


class TestGroupCommit:
    async def test_calls_made_while_a_commit_is_under_way_share_the_next(
        self, open_store: OpenStore, database_url: str
    ) -> None:
        store = await open_store(database_url, HeldStore, gateway=False)
        assert isinstance(store, HeldStore)
        await store.import_estate(SMALL, prune=False)
        before = store.commits
        first = await store.hold(store.record([on(1)]))
        others = [asyncio.create_task(store.record([on(level)])) for level in range(2, 32)]
        await asyncio.sleep(0)  # they are queued
        store.released.set()
        await asyncio.gather(first, *others)
        assert store.commits - before == 2

    async def test_callers_in_a_closed_loop_share_commits_even_on_a_fast_disk(
        self, open_store: OpenStore, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Long enough for a busy machine. The test checks that the writer waits, not for how long.
        monkeypatch.setattr(batch, "QUIET", 0.3)
        monkeypatch.setattr(batch, "LONGEST", 0.6)
        store = await open_store(database_url, gateway=False)
        await store.import_estate(SMALL, prune=False)
        before = store.commits

        async def caller() -> None:
            for level in range(20):
                await store.record([on(level)])

        await asyncio.gather(*(caller() for _ in range(32)))
        assert (store.commits - before) / (32 * 20) <= 0.1

    async def test_a_lone_caller_does_not_wait_for_others(
        self, filled_store: SqlStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await asyncio.gather(*(filled_store.record([on(level)]) for level in range(8)))
        for level in range(3):
            await filled_store.record([on(level)])
        monkeypatch.setattr(batch, "QUIET", 60.0)
        monkeypatch.setattr(batch, "LONGEST", 60.0)
        await asyncio.wait_for(filled_store.record([on(9)]), 20)

    async def test_a_batch_of_one_is_a_commit_each(self, open_store: OpenStore, database_url: str) -> None:
        store = await open_store(database_url, gateway=False, max_batch=1)
        await store.import_estate(SMALL, prune=False)
        before = store.commits
        await asyncio.gather(*(store.record([on(level)]) for level in range(10)))
        assert store.commits - before == 10

    async def test_all_changes_of_a_batch_are_kept_in_order_and_the_last_state_wins(
        self, open_store: OpenStore, database_url: str
    ) -> None:
        store = await open_store(database_url)
        await store.import_estate(SMALL, prune=False)
        recorded = record_changes(store)
        await asyncio.gather(*(store.record([on(level), on(level + 1)]) for level in range(0, 20, 2)))
        assert [level_in(event) for event in recorded.events] == list(range(20))
        stored = await store.find_plant(HOUSE.id)
        assert stored is not None
        assert stored.states[LAMP.id].state == LightState(on=True, level=19)

    async def test_a_report_is_seen_by_the_work_queued_after_it_in_the_same_batch(
        self, open_store: OpenStore, database_url: str
    ) -> None:
        store = await open_store(database_url, HeldStore, gateway=False)
        assert isinstance(store, HeldStore)
        await store.import_estate(SMALL, prune=False)
        first = await store.hold(store.record([on(1)]))
        calls = [store.record([on(2)]), store.set_module_options(LAMP.id, {"a": 1}), store.record([on(3, NOW + 1)])]
        tasks = [asyncio.create_task(call) for call in calls]
        await asyncio.sleep(0)
        store.released.set()
        await asyncio.gather(first, *tasks)
        changes = await store.list_changes(await store.newest_cursor() - 3, 10)
        assert [type(change.event).__name__ for change in changes] == ["StateChanged", "PlantChanged", "StateChanged"]


class TestFailures:
    async def test_a_failing_unit_fails_alone(self, open_store: OpenStore, database_url: str) -> None:
        store = await open_store(database_url)
        await store.import_estate(SMALL, prune=False)
        recorded = record_changes(store)
        results = await asyncio.gather(
            store.record([on(7)]),
            store.save_user(User(an_id(90), "anna@EXAMPLE.com")),
            store.save_user(User(an_id(91), "dora@example.com")),
            store.invite(an_id(404), "dora@example.com"),
            store.record([Report(HOUSE.id, PLUG.id, NOW, PlugState(on=True))]),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [type(None), ValueError, type(None), ValueError, type(None)]
        assert await store.find_user(an_id(90)) is None
        assert await store.find_user(an_id(91)) is not None
        assert len(recorded.events) == 3
        assert recorded.cursors == list(range(recorded.cursors[0], recorded.cursors[0] + 3))

    async def test_half_of_a_failing_unit_is_undone(self, filled_store: SqlStore) -> None:
        def half(tx: Transaction) -> None:
            tx.connection.execute(text("UPDATE plants SET name = 'half'"))
            raise RuntimeError("and no further")

        others = [filled_store.record([on(level)]) for level in range(3)]
        results = await asyncio.gather(writes(half)(filled_store), *others, return_exceptions=True)
        assert isinstance(results[0], RuntimeError)
        assert results[1:] == [None, None, None]
        stored = await filled_store.find_plant(HOUSE.id)
        assert stored is not None
        assert stored.plant.name == HOUSE.name

    async def test_a_report_that_could_not_be_read_back_fails_alone(self, filled_store: SqlStore) -> None:
        nan = float("nan")
        unreadable = PlugState(on=True, power=Reading(nan, Unit.WATT, NOW))
        results = await asyncio.gather(
            filled_store.record([on(7)]),
            filled_store.record([Report(HOUSE.id, PLUG.id, NOW, unreadable)]),
            filled_store.record([Report(HOUSE.id, PLUG.id, NOW, readings=(("power", Reading(nan, Unit.WATT, NOW)),))]),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [type(None), ValueError, ValueError]
        stored = await filled_store.find_plant(HOUSE.id)
        assert stored is not None
        assert stored.states[LAMP.id].state == LightState(on=True, level=7)
        assert PLUG.id not in stored.states

    async def test_a_commit_that_fails_fails_every_caller_and_the_store_goes_on(
        self, open_store: OpenStore, database_url: str
    ) -> None:
        class FailingStore(SqlStore):
            fail = False

            def commit(self, connection: Connection, last_writes: Sequence[Write] = (), *, has_written: bool = True) -> None:
                if self.fail:
                    raise OSError("disk full")
                super().commit(connection, last_writes, has_written=has_written)

        store = await open_store(database_url, FailingStore)
        assert isinstance(store, FailingStore)
        await store.import_estate(SMALL, prune=False)
        recorded = record_changes(store)
        store.fail = True
        results = await asyncio.gather(*(store.record([on(level)]) for level in range(3)), return_exceptions=True)
        assert [str(result) for result in results] == ["disk full"] * 3
        store.fail = False
        assert recorded.events == []
        newest = await store.newest_cursor()
        await store.record([on(9)])
        assert recorded.changes == await store.list_changes(newest, 10)
        assert len(recorded.changes) == 1

    async def test_a_full_disk_is_the_callers_exception_and_the_store_recovers(
        self, open_store: OpenStore, tmp_path: Path
    ) -> None:
        store = await open_store(sqlite_url(tmp_path / "x.db"), gateway=False)
        await store.import_estate(SMALL, prune=False)

        def limit(tx: Transaction) -> None:
            pages = tx.connection.execute(text("PRAGMA page_count")).scalar()
            tx.connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

        def fill(tx: Transaction) -> None:
            tx.connection.execute(text("UPDATE plants SET address = :much"), {"much": "x" * 1_000_000})

        await writes(limit)(store)
        results = await asyncio.gather(
            store.record([on(1)]), writes(fill)(store), store.record([on(2)]), return_exceptions=True
        )
        assert "full" in str(results[1])
        await asyncio.wait_for(store.record([on(3)]), 30)
        stored = await store.find_plant(HOUSE.id)
        assert stored is not None
        assert stored.states[LAMP.id].state == LightState(on=True, level=3)


class TestLostConnection:
    @pytest.mark.slow
    async def test_one_lost_while_idle_is_replaced(
        self, open_store: OpenStore, postgres: PostgresServer, postgres_url: str
    ) -> None:
        store = await open_store(postgres_url)
        await store.import_estate(SMALL, prune=False)
        recorded = record_changes(store)
        for level in (1, 2):
            postgres.disconnect_all()
            await store.record([on(level)])
            assert (await store.find_plant(HOUSE.id)) is not None
        other = await open_store(postgres_url, gateway=False)
        await other.record([on(3)])
        assert await other.wait_applied(30.0)
        assert [level_in(event) for event in recorded.events] == [1, 2, 3]


class TestStopping:
    async def test_stop_finishes_what_was_queued(self, open_store: OpenStore, database_url: str) -> None:
        store = await open_store(database_url)
        await store.import_estate(SMALL, prune=False)
        calls = [asyncio.create_task(store.record([on(level)])) for level in range(50)]
        await asyncio.sleep(0)
        await store.stop()
        assert all(call.done() and call.exception() is None for call in calls)
        again = await open_store(database_url)
        stored = await again.find_plant(HOUSE.id)
        assert stored is not None
        assert stored.states[LAMP.id].state == LightState(on=True, level=49)

    async def test_a_stopped_store_refuses(self, open_store: OpenStore, database_url: str) -> None:
        store = await open_store(database_url)
        await store.stop()
        with pytest.raises(RuntimeError, match="not running"):
            await store.save_user(ANNA)
        with pytest.raises(RuntimeError, match="not running"):
            await store.list_users()

    async def test_no_thread_of_it_is_left(self, open_store: OpenStore, database_url: str) -> None:
        store = await open_store(database_url)
        await store.list_users()
        await store.stop()
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("domogate-store")]


class TestThreads:
    async def test_a_write_is_answered_after_the_listeners_on_the_loops_thread(self, filled_store: SqlStore) -> None:
        order: list[object] = []
        filled_store.listen(lambda changes: order.append(threading.current_thread()))
        await filled_store.record([on(5)])
        order.append("answered")
        assert order == [threading.current_thread(), "answered"]

    async def test_a_listener_that_fails_does_not_keep_others_from_hearing(self, filled_store: SqlStore) -> None:
        def fails(_: object) -> None:
            raise RuntimeError("deaf")

        recorded = ChangeRecorder()
        filled_store.listen(fails)
        filled_store.listen(recorded)
        await filled_store.record([on(5)])
        assert len(recorded.events) == 1

    async def test_the_loop_goes_on_while_a_write_takes_long(self, filled_store: SqlStore) -> None:
        ticked = threading.Event()
        writing = asyncio.ensure_future(writes(lambda tx: ticked.wait(30))(filled_store))
        for _ in range(5):
            await asyncio.sleep(0.001)
        assert not writing.done()
        ticked.set()
        assert await writing


class TestWriteAheadLog:
    @pytest.mark.parametrize(("gateway", "pages"), [(True, 8_000), (False, 32_000)])
    async def test_only_commands_let_it_grow(self, open_store: OpenStore, tmp_path: Path, gateway: bool, pages: int) -> None:
        store = await open_store(sqlite_url(tmp_path / "x.db"), PragmaStore, gateway=gateway)
        assert isinstance(store, PragmaStore)
        assert await store.pages_in_log() == pages

    @pytest.mark.parametrize(("gateway", "kibibytes"), [(True, 32 * 1024), (False, 64 * 1024)])
    async def test_commands_have_a_larger_cache(
        self, open_store: OpenStore, tmp_path: Path, gateway: bool, kibibytes: int
    ) -> None:
        store = await open_store(sqlite_url(tmp_path / "x.db"), PragmaStore, gateway=gateway)
        assert isinstance(store, PragmaStore)
        assert await store.cache_size() == -kibibytes


def cache_size(tx: Transaction) -> int:
    size: int = tx.connection.execute(text("PRAGMA cache_size")).scalar_one()
    return size


def pages_in_log(tx: Transaction) -> int:
    pages: int = tx.connection.execute(text("PRAGMA wal_autocheckpoint")).scalar_one()
    return pages


class PragmaStore(SqlStore):
    cache_size = writes(cache_size)
    pages_in_log = writes(pages_in_log)
