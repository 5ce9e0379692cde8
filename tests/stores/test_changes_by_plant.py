"""Finding the changes of a plant. On SQLite, changes are added to the index for this in groups (Decision 0147)."""

import sqlite3
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, func, insert, select

from domogate.domain.events import StateChanged
from domogate.domain.states import LightState, Report
from domogate.stores import SqlStore, sqlite, sqlite_url
from domogate.stores.codec import to_json
from domogate.stores.migrate import upgrade
from domogate.stores.opening import open_database
from domogate.stores.subject import reads
from domogate.stores.tables.feed import changes, changes_by_plant
from stores.test_store_feed import OTHER, OTHER_LAMP, TWO
from support.clocks import NOW, ManualClock
from support.examples import examples, is_long
from support.stores import HOUSE, LAMP, SMALL, OpenStore, observe_statements

_TOGETHER = 7
_POSITIONS = 20 if is_long() else 4
_LAMPS = {HOUSE.id: LAMP.id, OTHER.id: OTHER_LAMP.id}


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index gets changes often, so that a test has changes in the index and changes that are not in the index."""
    monkeypatch.setattr(sqlite, "INDEXED_TOGETHER", _TOGETHER)


@pytest.fixture
async def both(store: SqlStore) -> SqlStore:
    """A store with two plants."""
    await store.import_estate(SMALL, prune=False)
    await store.import_estate(TWO, prune=False)
    return store


async def switch(store: SqlStore, house: int, other: int) -> None:
    """Record this number of changes for each plant, in one commit."""
    wanted = [HOUSE.id] * house + [OTHER.id] * other
    states = (LightState(on=True, level=number % 100 + 1) for number in count(await store.newest_cursor()))
    await store.record([Report(plant, _LAMPS[plant], NOW, next(states)) for plant in wanted])


async def check_lists(store: SqlStore) -> None:
    """All changes of a plant are listed, from several positions, and no others."""
    everything = await store.list_changes(0, 10_000)
    positions = [0, *(change.cursor for change in everything[:: len(everything) // _POSITIONS + 1])]
    for plants in ([HOUSE.id], [OTHER.id], [HOUSE.id, OTHER.id]):
        wanted = [change for change in everything if getattr(change.event, "plant_id", None) in plants]
        for after in positions:
            for limit in (1, 4, 10_000):
                later = [change for change in wanted if change.cursor > after]
                assert list(await store.list_changes_of(plants, after, limit)) == later[:limit]
    for plant_id in (HOUSE.id, OTHER.id):
        wanted = [change for change in everything if getattr(change.event, "plant_id", None) == plant_id]
        for limit in (1, 5, 10_000):
            assert list(await store.list_newest_of(plant_id, limit)) == wanted[-limit:]


async def count_indexed(store: SqlStore) -> int:
    def count_rows(connection: Connection) -> int:
        return connection.execute(select(func.count()).where(changes_by_plant.c.plant_id != "")).scalar_one()

    return await reads(count_rows)(store)


class TestTheChangesOfAPlant:
    @settings(max_examples=examples(4), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(commits=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12))
    async def test_are_found_with_and_without_the_index(self, both: SqlStore, commits: list[tuple[int, int]]) -> None:
        for house, other in commits:
            await switch(both, house, other)
        await check_lists(both)

    async def test_are_found_after_older_changes_were_removed(self, both: SqlStore, clock: ManualClock) -> None:
        for _ in range(5):
            await switch(both, 3, 4)
        clock.at += 100
        for _ in range(3):
            await switch(both, 2, 1)
        await both.prune_changes(clock.now() - 50)
        assert len(await both.list_changes_of({HOUSE.id, OTHER.id}, 0, 100)) == 9
        await check_lists(both)
        clock.at += 100
        await both.prune_changes(clock.now() - 50)
        assert len(await both.list_changes(0, 100)) == 1, "only the newest change is left"
        assert await count_indexed(both) <= 1
        await switch(both, 9, 9)
        await check_lists(both)

    async def test_are_found_after_a_migration(self, open_store: OpenStore, empty_database_url: str) -> None:
        database = open_database(empty_database_url)
        event = StateChanged(HOUSE.id, LAMP.id, LightState(on=True), reachable=True, at=NOW)
        rows = [{"cursor": number, "at": NOW, "plant_id": HOUSE.id, "event": to_json(event)} for number in range(1, 20)]
        with database.writing.begin() as connection:
            upgrade(connection, "0030")
            connection.execute(insert(changes), rows)
        database.close()
        store = await open_store(empty_database_url)
        assert len(await store.list_changes_of({HOUSE.id}, 0, 100)) == 19
        await check_lists(store)


class TestTheIndex:
    @pytest.fixture
    def database_url(self, migrated_file: Path, tmp_path: Path) -> str:
        """Only SQLite: PostgreSQL has an ordinary index."""
        path = tmp_path / "domogate.db"
        path.write_bytes(migrated_file.read_bytes())
        return sqlite_url(path)

    async def test_gets_at_each_start_what_is_missing(self, both: SqlStore) -> None:
        await switch(both, _TOGETHER, _TOGETHER)
        await switch(both, 1, 1)
        missing = len(await both.list_changes_of({HOUSE.id, OTHER.id}, 0, 1_000)) - await count_indexed(both)
        assert missing > 0
        await both.stop()
        await both.start()
        await switch(both, 1, 0)
        assert await count_indexed(both) == len(await both.list_changes_of({HOUSE.id, OTHER.id}, 0, 1_000))

    async def test_gets_changes_only_after_some_number_of_them(self, both: SqlStore) -> None:
        await switch(both, _TOGETHER, 0)
        before = await count_indexed(both)
        for _ in range(_TOGETHER - 1):
            await switch(both, 1, 0)
        assert await count_indexed(both) == before
        await switch(both, 1, 0)
        assert await count_indexed(both) == before + _TOGETHER

    async def test_does_not_need_the_changes_of_an_earlier_version(self, both: SqlStore, tmp_path: Path) -> None:
        """A gateway of an earlier version does not know the index. The next commit adds its changes."""
        (newest,) = await both.list_newest_of(HOUSE.id, 1)
        with closing(sqlite3.connect(tmp_path / "domogate.db")) as connection, connection:
            row = connection.execute("SELECT at, plant_id, event FROM changes WHERE cursor = ?", (newest.cursor,)).fetchone()
            last = connection.execute("SELECT max(cursor) FROM changes").fetchone()[0]
            connection.executemany("INSERT INTO changes VALUES (?, ?, ?, ?)", [(last + n, *row) for n in range(1, 50)])
        await check_lists(both)
        await switch(both, 1, 1)
        assert await count_indexed(both) > 50
        await check_lists(both)

    async def test_is_used_among_very_many_changes(self, both: SqlStore) -> None:
        """A subscriber that resumes must not cause a scan of all changes."""
        plans: list[str] = []

        def explain(cursor: Any, statement: str, parameters: Any) -> None:
            if "UNION ALL" in statement and not statement.startswith("EXPLAIN"):
                plan = cursor.connection.cursor().execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
                plans.extend(row[3] for row in plan)

        with observe_statements(explain):
            await both.list_changes_of({HOUSE.id, OTHER.id}, 1, 10)
            await both.list_newest_of(HOUSE.id, 10)
        assert plans
        assert [step for step in plans if step.startswith("SCAN") and "changes" in step] == []
