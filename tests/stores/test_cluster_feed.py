"""Several gateways write to one PostgreSQL side by side. Each of them gets every change once, and all in the same order."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import psycopg
import pytest
from sqlalchemy import Connection, make_url, text

from domogate.domain.estate import Estate
from domogate.domain.events import ChangesLost, StateChanged, UserChanged
from domogate.domain.ids import Id
from domogate.domain.people import User
from domogate.domain.states import LightState, Report
from domogate.stores import SqlStore
from domogate.stores.cursors import MOST_EVENTS
from domogate.stores.direct import Write
from domogate.stores.engine import Transaction
from domogate.stores.subject import reads, writes
from domogate.stores.write_lock import WriteLock
from support.clocks import NOW
from support.examples import is_long
from support.houses import house_of, houses, lamp_of, lamp_on
from support.stored_orders import an_order
from support.stores import ANNA, CARLA, HOUSE, LAMP, SMALL, HeldStore, OpenStore, an_id, record_changes

pytestmark = pytest.mark.slow

MEMBERS = 3
LOCK = 0x646F6D6F67617465
INSERT = """
    INSERT INTO changes (cursor, at, plant_id, event)
    SELECT (pg_current_xact_id()::text::bigint + cursor_offset) * 65536 + 1, 0, NULL, '{"was":"user","user_id":"x"}' FROM feed
"""


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.005)


def on(level: int) -> Report:
    return Report(HOUSE.id, LAMP.id, NOW, LightState(on=True, level=level))


def _emit_too_many(tx: Transaction) -> None:
    for _ in range(MOST_EVENTS + 1):
        tx.emit(UserChanged(user_id=CARLA.id))


@pytest.fixture
def connection(postgres_url: str) -> Iterator["psycopg.Connection[tuple[int, ...]]"]:
    """A connection of another program."""
    parsed = make_url(postgres_url).set(drivername="postgresql")
    with psycopg.connect(parsed.render_as_string(hide_password=False)) as opened:
        yield opened
        opened.rollback()


class TestSideBySide:
    async def test_every_member_gets_every_change_once_in_one_order(self, open_store: OpenStore, postgres_url: str) -> None:
        command_line = await open_store(postgres_url, gateway=False)
        await command_line.import_estate(houses(MEMBERS), prune=False)
        stores = [await open_store(postgres_url, member=True) for _ in range(MEMBERS)]
        everyone = [*stores, command_line]
        recorded = [record_changes(store) for store in everyone]
        start = await command_line.newest_cursor()
        reports, edits = (60, 12) if is_long() else (20, 5)

        async def report(number: int) -> None:
            lamp = lamp_of(number)
            for level in range(reports):
                await stores[number].record([lamp_on(level, number)])
                own = [event for event in recorded[number].events if type(event) is StateChanged and event.module_id == lamp]
                assert own[-1].state == LightState(on=True, level=level), "the change comes before the answer"

        async def edit(number: int) -> None:
            for edit in range(edits):
                user_id = an_id(9000 + 100 * number + edit)
                await everyone[number].save_user(User(user_id, f"user{edit}@{number}.example"))
                assert UserChanged(user_id=user_id) in recorded[number].events

        async with asyncio.TaskGroup() as tasks:
            for number in range(MEMBERS):
                tasks.create_task(report(number))
            for number in range(len(everyone)):
                tasks.create_task(edit(number))
        total = MEMBERS * reports + len(everyone) * edits
        await until(lambda: all(len(each.changes) >= total for each in recorded))
        stored = await command_line.list_changes(start, 10 * total)
        assert all(each.changes == stored for each in recorded)
        assert all(before < after for before, after in pairwise(change.cursor for change in stored))
        for number in range(MEMBERS):
            own = [each.event for each in stored if type(each.event) is StateChanged]
            levels = [each.state for each in own if each.module_id == lamp_of(number)]
            assert levels == [LightState(on=True, level=level) for level in range(reports)]

    async def test_members_commit_at_the_same_time(self, open_store: OpenStore, postgres_url: str) -> None:
        first = await open_store(postgres_url, HeldStore, member=True)
        assert isinstance(first, HeldStore)
        await first.import_estate(houses(2), prune=False)
        second = await open_store(postgres_url, member=True)
        recorded = record_changes(second)
        start = await second.newest_cursor()
        held = await first.hold(first.record([lamp_on(1, 0)]))
        later = asyncio.ensure_future(second.record([lamp_on(2, 1)]))
        states = text("SELECT count(*) FROM states")
        count = reads(lambda connection: connection.execute(states).scalar())
        async with asyncio.timeout(60):
            while await count(second) != 1:
                await asyncio.sleep(0.005)
        # The second commit is done, but the first one will have a lower cursor.
        assert not later.done()
        assert recorded.changes == []
        plants = [house_of(0), house_of(1)]
        # A reader that continues after the newest change would miss the one of the first member.
        assert [*await second.list_changes(start, 10), *await second.list_changes_of(plants, start, 10)] == []
        first.released.set()
        await asyncio.gather(held, later)
        assert await second.list_changes_of(plants, start, 10) == recorded.changes
        assert [event.state for event in recorded.events if type(event) is StateChanged] == [
            LightState(on=True, level=1),
            LightState(on=True, level=2),
        ]

    async def test_a_write_without_changes_skips_no_change_of_another_member(
        self, open_store: OpenStore, postgres_url: str
    ) -> None:
        first = await open_store(postgres_url, HeldStore, member=True)
        assert isinstance(first, HeldStore)
        await first.import_estate(SMALL, prune=False)
        second = await open_store(postgres_url, member=True)
        recorded = record_changes(second)
        held = await first.hold(first.record([on(1)]))
        # This transaction has a higher number, and ends first.
        await second.add_orders((an_order(),), NOW, sent=True)
        first.released.set()
        await held
        await second.record([on(2)])
        assert [event.state for event in recorded.events if type(event) is StateChanged] == [on(1).state, on(2).state]

    async def test_a_snapshot_that_already_has_a_later_change_does_not_go_back(
        self, open_store: OpenStore, postgres_url: str, connection: "psycopg.Connection[tuple[int, ...]]"
    ) -> None:
        store = await open_store(postgres_url, member=True)
        await store.import_estate(SMALL, prune=False)
        recorded = record_changes(store)
        connection.execute("SELECT pg_current_xact_id()")
        waiting = asyncio.ensure_future(store.record([on(1)]))
        async with asyncio.timeout(60):
            while not ((stored := await store.find_plant(HOUSE.id)) and stored.states[LAMP.id].state == on(1).state):
                await asyncio.sleep(0.005)
        assert recorded.changes == []
        connection.rollback()
        await waiting
        assert recorded.cursors == [stored.cursor]


class TestATransactionThatStaysOpen:
    async def test_delays_the_changes_and_loses_none(
        self, open_store: OpenStore, postgres_url: str, connection: "psycopg.Connection[tuple[int, ...]]"
    ) -> None:
        stores = [await open_store(postgres_url, member=True)]
        await stores[0].import_estate(SMALL, prune=False)
        stores.append(await open_store(postgres_url, member=True))
        recorded = [record_changes(store) for store in stores]
        connection.execute(f"SELECT pg_advisory_xact_lock_shared({LOCK})")
        connection.execute(INSERT)
        waiting = asyncio.ensure_future(stores[0].record([on(5)]))
        await until(lambda: stores[1].knowledge_age() > 0.3)
        assert not waiting.done()
        assert not recorded[0].changes
        assert not recorded[1].changes
        connection.commit()
        await waiting
        await until(lambda: len(recorded[1].changes) == 2)
        assert [type(event) for event in recorded[1].events] == [UserChanged, StateChanged]
        assert recorded[0].changes == recorded[1].changes
        await until(lambda: max(store.knowledge_age() for store in stores) < 0.3)

    async def test_whoever_holds_the_lock_does_not_stop_the_feed(
        self, open_store: OpenStore, postgres_url: str, connection: "psycopg.Connection[tuple[int, ...]]"
    ) -> None:
        store = await open_store(postgres_url, member=True)
        await store.import_estate(SMALL, prune=False)
        recorded = record_changes(store)
        connection.execute(f"SELECT pg_advisory_lock({LOCK})")
        connection.commit()
        waiting = asyncio.ensure_future(store.record([on(5)]))
        await asyncio.sleep(0.1)
        connection.execute(INSERT)
        connection.commit()
        await until(lambda: recorded.events == [UserChanged(user_id=Id("x"))])
        assert not waiting.done()
        connection.execute(f"SELECT pg_advisory_unlock({LOCK})")
        connection.commit()
        await waiting
        assert [type(event) for event in recorded.events] == [UserChanged, StateChanged]


class TestCursors:
    async def test_a_store_with_higher_cursors_than_its_server_goes_on_above_them(
        self, open_store: OpenStore, postgres_url: str, connection: "psycopg.Connection[tuple[int, ...]]"
    ) -> None:
        huge = 1 << 52
        event = '{"was":"user","user_id":"x"}'
        connection.execute("INSERT INTO changes (cursor, at, event) VALUES (%s, 0, %s)", (huge, event))
        connection.commit()
        store = await open_store(postgres_url)
        recorded = record_changes(store)
        other = await open_store(postgres_url)
        await store.save_user(CARLA)
        await other.save_user(ANNA)
        await until(lambda: len(recorded.changes) == 2)
        assert recorded.events == [UserChanged(user_id=CARLA.id), UserChanged(user_id=ANNA.id)]
        assert recorded.cursors[0] > huge
        assert [change.cursor for change in await other.list_changes(huge, 10)] == recorded.cursors

    async def test_a_write_with_very_many_changes_is_followed_by_higher_cursors(
        self, open_store: OpenStore, postgres_url: str
    ) -> None:
        store = await open_store(postgres_url, member=True)
        other = await open_store(postgres_url, member=True)
        of_store, of_other = record_changes(store), record_changes(other)
        # Only long writes, such as imports, have so many changes. Others may be idle for at most a second (Decision 0086).
        await writes(_emit_too_many, long=True)(store)
        await store.save_user(CARLA)
        await until(lambda: len(of_other.changes) == MOST_EVENTS + 2)
        await other.save_user(ANNA)
        await until(lambda: len(of_store.changes) == MOST_EVENTS + 3)
        assert of_store.cursors == of_other.cursors == sorted(set(of_store.cursors))
        assert of_store.events[-2:] == [UserChanged(user_id=CARLA.id), UserChanged(user_id=ANNA.id)]

    async def test_a_write_with_a_shared_lock_and_too_many_changes_is_refused(
        self, open_store: OpenStore, postgres_url: str
    ) -> None:
        store = await open_store(postgres_url, member=True)
        with pytest.raises(ValueError, match="at most 65535 changes"):
            await writes(_emit_too_many, lock=WriteLock.SHARED)(store)
        await store.save_user(CARLA)
        assert len(await store.list_changes(0, 10)) == 1

    async def test_a_cursor_of_one_gateway_is_a_place_for_every_other(self, open_store: OpenStore, postgres_url: str) -> None:
        first = await open_store(postgres_url, member=True)
        await first.import_estate(SMALL, prune=False)
        recorded = record_changes(first)
        for level in range(4):
            await first.record([on(level)])
        ready = await first.newest_cursor()
        await first.stop()
        second = await open_store(postgres_url, member=True)
        oldest, newest = await second.feed_span()
        assert oldest <= recorded.cursors[0]
        assert newest >= ready >= recorded.cursors[-1]
        resumed = await second.list_changes_of([HOUSE.id], recorded.cursors[1], 10)
        assert resumed == recorded.changes[2:]


class TestChangesOfOthers:
    async def test_a_module_that_another_process_removed_is_passed_over(self, open_store: OpenStore, postgres_url: str) -> None:
        member = await open_store(postgres_url, member=True, poll=30.0)
        await member.import_estate(SMALL, prune=False)
        await member.record([on(1)])
        recorded = record_changes(member)
        other = await open_store(postgres_url, gateway=False)
        await other.import_estate(Estate(users=SMALL.users), prune=True)
        await member.record([on(2)])
        assert StateChanged not in map(type, recorded.events)

    async def test_after_an_event_of_a_newer_version_nothing_is_known_any_more(
        self, open_store: OpenStore, postgres_url: str, connection: "psycopg.Connection[tuple[int, ...]]"
    ) -> None:
        member = await open_store(postgres_url, member=True)
        recorded = record_changes(member)
        connection.execute(INSERT.replace('"was":"user"', '"was":"an idea of a later year"').encode())
        connection.commit()
        await member.save_user(CARLA)
        assert [type(event) for event in recorded.events] == [ChangesLost, UserChanged]

    async def test_poll_now_reads_them_at_once(self, open_store: OpenStore, postgres_url: str) -> None:
        first = await open_store(postgres_url, member=True)
        second = await open_store(postgres_url, member=True, poll=3600.0)
        recorded = record_changes(second)
        told = threading.Event()
        first.on_commit = told.set
        await first.save_user(CARLA)
        await until(told.is_set)
        second.poll_now()
        await until(lambda: len(recorded.changes) == 1)


class TestFailures:
    async def test_a_commit_that_fails_fails_the_callers_and_the_next_ones_succeed(
        self, open_store: OpenStore, postgres_url: str
    ) -> None:
        class FailingStore(SqlStore):
            fails = False

            def commit(self, connection: Connection, last_writes: Sequence[Write] = (), *, has_written: bool = True) -> None:
                if self.fails:
                    raise OSError("no commit")
                super().commit(connection, last_writes, has_written=has_written)

        store = await open_store(postgres_url, FailingStore, member=True)
        assert isinstance(store, FailingStore)
        await store.import_estate(SMALL, prune=False)
        recorded = record_changes(store)
        store.fails = True
        results = await asyncio.gather(*(store.record([on(level)]) for level in range(3)), return_exceptions=True)
        assert [str(result) for result in results] == ["no commit"] * 3
        store.fails = False
        await store.record([on(9)])
        assert [event.state for event in recorded.events if type(event) is StateChanged] == [LightState(on=True, level=9)]

    async def test_stop_waits_for_changes_that_are_not_delivered_yet(
        self, open_store: OpenStore, postgres_url: str, connection: "psycopg.Connection[tuple[int, ...]]"
    ) -> None:
        store = await open_store(postgres_url, member=True)
        await store.import_estate(SMALL, prune=False)
        connection.execute("SELECT pg_current_xact_id()")
        waiting = asyncio.ensure_future(store.record([on(1)]))
        await asyncio.sleep(0.1)
        stopping = asyncio.ensure_future(store.stop())
        await asyncio.sleep(0.1)
        assert not stopping.done()
        connection.rollback()
        await asyncio.gather(waiting, stopping)
