"""The change feed gives every change of every process once, in order. A command line can wait until changes are applied."""

import asyncio
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable

import pytest
from sqlalchemy import select

from domogate.domain.events import PlantChanged, StateChanged, UserChanged
from domogate.domain.people import User
from domogate.domain.states import LightState, Report
from domogate.stores import SqlStore, changes, writer
from domogate.stores.presence import ALIVE
from domogate.stores.subject import reads, writes
from domogate.stores.tables.feed import gateways
from support.clocks import DAY, NOW, ManualClock
from support.stores import BRUNO, CARLA, HOUSE, LAMP, SMALL, ChangeRecorder, OpenStore, an_id, record_changes


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


def on(level: int) -> Report:
    return Report(HOUSE.id, LAMP.id, NOW, LightState(on=True, level=level))


class TestOwnChanges:
    async def test_they_are_heard_before_the_write_returns(self, filled_store: SqlStore) -> None:
        recorded = record_changes(filled_store)
        await filled_store.save_user(CARLA)
        assert recorded.events == [UserChanged(user_id=CARLA.id)]

    async def test_the_list_of_changes_is_what_was_heard(self, store: SqlStore) -> None:
        recorded = record_changes(store)
        await store.import_estate(SMALL, prune=False)
        await store.record([on(1), on(2)])
        assert recorded.changes == await store.list_changes(0, 1000)
        assert recorded.cursors == sorted(set(recorded.cursors))
        assert await store.list_changes(recorded.cursors[1], 1) == recorded.changes[2:3]
        assert await store.newest_cursor() == recorded.cursors[-1]

    async def test_a_change_is_dated_by_the_clock(self, filled_store: SqlStore, clock: ManualClock) -> None:
        recorded = record_changes(filled_store)
        clock.at = NOW + 5
        await filled_store.record([on(1)])
        assert recorded.changes[0].at == NOW + 5

    async def test_an_empty_store_is_at_cursor_zero(self, store: SqlStore) -> None:
        assert await store.newest_cursor() == 0
        assert await store.list_changes(0, 10) == []


class TestForeignChanges:
    async def test_they_are_found_while_idle(self, filled_store: SqlStore, open_store: OpenStore, database_url: str) -> None:
        other = await open_store(database_url, gateway=False)
        recorded = record_changes(filled_store)
        await other.save_user(CARLA)
        await until(lambda: len(recorded.events) == 1)
        await other.record([on(3)])
        await until(lambda: len(recorded.events) == 2)
        assert recorded.events[0] == UserChanged(user_id=CARLA.id)

    async def test_they_come_before_ones_own_later_changes(
        self, filled_store: SqlStore, open_store: OpenStore, database_url: str
    ) -> None:
        deaf_while_idle = await open_store(database_url, poll=30.0)
        recorded = record_changes(deaf_while_idle)
        await filled_store.save_user(CARLA)
        await deaf_while_idle.record([on(3)])
        assert [type(event) for event in recorded.events] == [UserChanged, StateChanged]

    async def test_what_was_committed_before_the_start_is_not_heard(
        self, filled_store: SqlStore, open_store: OpenStore, database_url: str
    ) -> None:
        late = await open_store(database_url)
        recorded = record_changes(late)
        newest = await filled_store.newest_cursor()
        await filled_store.record([on(3)])
        await until(lambda: bool(recorded.events))
        assert recorded.changes == await filled_store.list_changes(newest, 10)

    async def test_two_stores_writing_at_once_get_the_same_changes_without_gap_or_repetition(
        self, filled_store: SqlStore, open_store: OpenStore, database_url: str
    ) -> None:
        other = await open_store(database_url)
        start = await filled_store.newest_cursor()
        ears = [ChangeRecorder(), ChangeRecorder()]
        filled_store.listen(ears[0])
        other.listen(ears[1])

        async def write(store: SqlStore) -> None:
            for level in range(30):
                await asyncio.gather(store.record([on(level)]), store.save_user(CARLA))

        await asyncio.gather(write(filled_store), write(other))
        await until(lambda: all(len(recorded.changes) == 120 for recorded in ears))
        assert ears[0].changes == ears[1].changes
        assert ears[0].changes == await other.list_changes(start, 1_000)

    async def test_a_module_that_another_process_removed_is_passed_over(
        self, filled_store: SqlStore, open_store: OpenStore, database_url: str
    ) -> None:
        await filled_store.record([on(1)])
        other = await open_store(database_url, gateway=False)
        await other.import_estate(SMALL.__class__(users=SMALL.users), prune=True)
        newest = await other.newest_cursor()
        await filled_store.record([on(2)])
        assert await filled_store.newest_cursor() == newest

    @pytest.mark.slow
    async def test_another_process_is_heard_without_a_gap(self, filled_store: SqlStore, database_url: str) -> None:
        script = textwrap.dedent(
            """
            import asyncio, sys
            from domogate.domain.ids import new_id
            from domogate.domain.people import User
            from domogate.stores import SqlStore

            class Clock:
                def now(self): return 1_800_000_000.0

            async def main():
                store = SqlStore(sys.argv[1], clock=Clock(), gateway=False)
                await store.start()
                print("started", flush=True)
                for number in range(40):
                    await store.save_user(User(new_id(), f"user{number}@elsewhere.example"))
                assert await store.wait_applied(60)
                await store.stop()

            asyncio.run(main())
            """
        )
        recorded = record_changes(filled_store)
        start = await filled_store.newest_cursor()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-W", "error", "-c", script, database_url, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        await process.stdout.readline()  # all writes of the other process come after it has started
        written = 0
        while process.returncode is None and written < 100_000:
            await filled_store.record([on(written % 100)])
            written += 1
            await asyncio.sleep(0.001)
            if sum(isinstance(event, UserChanged) for event in recorded.events) == 40:
                break
        _, errors = await process.communicate()
        assert (process.returncode, errors) == (0, b"")
        assert sum(isinstance(event, UserChanged) for event in recorded.events) == 40
        assert len(recorded.changes) == 40 + written
        assert recorded.changes == await filled_store.list_changes(start, 1_000_000)


class TestWaitApplied:
    async def test_true_at_once_when_no_gateway_runs(self, open_store: OpenStore, database_url: str) -> None:
        command_line = await open_store(database_url, gateway=False)
        await command_line.save_user(CARLA)
        assert await command_line.wait_applied(0.0)

    async def test_true_once_the_running_gateway_has_applied_it(
        self, filled_store: SqlStore, open_store: OpenStore, database_url: str
    ) -> None:
        command_line = await open_store(database_url, gateway=False)
        recorded = record_changes(filled_store)
        await command_line.save_user(User(an_id(80), "new@example.com"))
        assert await command_line.wait_applied(30.0)
        assert UserChanged(user_id=an_id(80)) in recorded.events

    async def test_false_when_a_gateway_does_not_get_there_in_time(self, open_store: OpenStore, database_url: str) -> None:
        await open_store(database_url, poll=30.0)
        command_line = await open_store(database_url, gateway=False)
        await command_line.save_user(CARLA)
        assert not await command_line.wait_applied(0.1)

    async def test_what_was_applied_while_it_looked_for_too_long_is_seen_still(
        self, open_store: OpenStore, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        command_line = await open_store(database_url, gateway=False)
        looks = iter((False, True))

        def look_slowly(*_: object) -> bool:
            time.sleep(0.05)
            return next(looks)

        monkeypatch.setattr(changes, "all_applied", look_slowly)
        assert await command_line.wait_applied(0.01)

    async def test_true_when_nothing_was_written(self, open_store: OpenStore, database_url: str) -> None:
        await open_store(database_url, poll=30.0)
        command_line = await open_store(database_url, gateway=False)
        assert await command_line.wait_applied(0.0)

    async def test_a_gateway_that_died_is_not_waited_for(
        self, open_store: OpenStore, database_url: str, clock: ManualClock
    ) -> None:
        command_line = await open_store(database_url, gateway=False)
        await writes(lambda tx: tx.connection.execute(tx.upsert(gateways), {"id": "dead", "applied": 0, "seen_at": clock.at}))(
            command_line
        )
        await command_line.save_user(CARLA)
        assert not await command_line.wait_applied(0.0)
        clock.at += ALIVE + 1
        assert await command_line.wait_applied(0.0)

    async def test_a_gateway_that_was_killed_while_its_clock_was_ahead_is_not_waited_for(
        self, open_store: OpenStore, database_url: str, clock: ManualClock
    ) -> None:
        dead = {"id": "dead", "applied": 0, "seen_at": clock.at + 400 * DAY}
        command_line = await open_store(database_url, gateway=False)
        await writes(lambda tx: tx.connection.execute(tx.upsert(gateways), dead))(command_line)
        await command_line.save_user(CARLA)
        assert await command_line.wait_applied(0.0)
        gateway = await open_store(database_url)
        assert await reads(lambda connection: connection.execute(select(gateways.c.id)).scalars().all())(gateway) == [
            gateway.gateway_id
        ]

    async def test_a_gateway_whose_clock_is_set_at_the_start_removes_no_running_gateway(
        self, open_store: OpenStore, database_url: str, clock: ManualClock
    ) -> None:
        running = await open_store(database_url)
        machine = ManualClock(clock.at - DAY)

        async def set_clock() -> None:
            machine.at = clock.at

        started = SqlStore(database_url, clock=machine)
        await started.start(set_clock)
        try:
            found = await reads(lambda connection: connection.execute(select(gateways.c.id, gateways.c.seen_at)).all())(running)
            assert {tuple(row) for row in found} == {(gateway.gateway_id, NOW) for gateway in (running, started)}
        finally:
            await started.stop()

    async def test_a_gateway_that_stopped_is_not_waited_for(self, open_store: OpenStore, database_url: str) -> None:
        gateway = await open_store(database_url, poll=30.0)
        command_line = await open_store(database_url, gateway=False)
        await gateway.stop()
        await command_line.save_user(CARLA)
        assert await command_line.wait_applied(0.0)

    async def test_a_gateway_waits_for_the_others_but_not_for_itself(
        self, filled_store: SqlStore, open_store: OpenStore, database_url: str
    ) -> None:
        await filled_store.save_user(CARLA)
        assert await filled_store.wait_applied(0.0)
        other = await open_store(database_url)
        recorded = record_changes(other)
        await filled_store.withdraw_user(HOUSE.id, BRUNO.id)
        assert await filled_store.wait_applied(30.0)
        assert isinstance(recorded.events[-1], PlantChanged)

    async def test_applying_ones_own_writes_costs_no_commit(self, filled_store: SqlStore) -> None:
        before = filled_store.commits
        for level in range(5):
            await filled_store.record([on(level)])
        assert filled_store.commits - before == 5

    async def test_applying_foreign_changes_is_written_down_with_the_time(
        self, filled_store: SqlStore, open_store: OpenStore, database_url: str, clock: ManualClock
    ) -> None:
        other = await open_store(database_url, gateway=False)
        clock.at += 7
        await other.save_user(CARLA)
        assert await other.wait_applied(30.0)
        rows = await reads(lambda connection: connection.execute(select(gateways)).all())(other)
        assert [(row.applied, row.seen_at) for row in rows] == [(await other.newest_cursor(), NOW + 7)]

    async def test_a_gateway_says_now_and_then_that_it_is_there_though_nothing_happens(
        self, store: SqlStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(writer, "HEARTBEAT", 0.05)
        clock.at += ALIVE
        async with asyncio.timeout(30):
            while await reads(lambda connection: connection.execute(select(gateways.c.seen_at)).scalar())(store) != clock.at:
                await asyncio.sleep(0.01)
