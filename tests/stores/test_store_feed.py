"""Reading the changes of some plants from the feed."""

import msgspec

from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.events import StateChanged
from domogate.domain.states import LightState, Report
from domogate.stores import SqlStore
from support.clocks import NOW, ManualClock
from support.stores import ANNA, HOUSE, HOUSE_TOPOLOGY, LAMP, SMALL, an_id, record_changes

OTHER = msgspec.structs.replace(HOUSE, id=an_id(50), internal_id=an_id(51), allowed=(), invited=())
OTHER_LAMP = msgspec.structs.replace(LAMP, id=an_id(52), internal_id=an_id(53))
TWO = Estate(
    users=(ANNA,),
    plants=(EstatePlant(OTHER, msgspec.structs.replace(HOUSE_TOPOLOGY, floors=(), ambients=(), modules=(OTHER_LAMP,))),),
)


async def switch(store: SqlStore, times: int) -> None:
    for number in range(times):
        state = LightState(on=number % 2 == 0)
        await store.record([Report(HOUSE.id, LAMP.id, NOW, state), Report(OTHER.id, OTHER_LAMP.id, NOW, state)])


class TestTheChangesOfSomePlants:
    async def test_are_theirs_in_order_and_no_others(self, filled_store: SqlStore) -> None:
        await filled_store.import_estate(TWO, prune=False)
        recorded = record_changes(filled_store)
        start = await filled_store.newest_cursor()
        await switch(filled_store, 5)
        states = [(change, change.event) for change in recorded.changes]
        ours = [change for change, event in states if isinstance(event, StateChanged) and event.plant_id == HOUSE.id]
        assert list(await filled_store.list_changes_of({HOUSE.id}, start, 100)) == ours
        assert list(await filled_store.list_changes_of({HOUSE.id, OTHER.id}, start, 100)) == recorded.changes
        assert list(await filled_store.list_changes_of({HOUSE.id}, ours[1].cursor, 2)) == ours[2:4]
        assert list(await filled_store.list_changes_of({HOUSE.id}, ours[-1].cursor, 2)) == []
        assert list(await filled_store.list_changes_of((), 0, 10)) == []
        assert list(await filled_store.list_changes_of(None, start, 100)) == recorded.changes, "None means all plants"

    async def test_are_in_order_for_more_plants_than_one_statement_takes(self, filled_store: SqlStore) -> None:
        await filled_store.import_estate(TWO, prune=False)
        await switch(filled_store, 3)
        many = {an_id(number) for number in range(1_000, 2_200)} | {HOUSE.id, OTHER.id}
        found = await filled_store.list_changes_of(many, 0, 5)
        assert [change.cursor for change in found] == sorted(change.cursor for change in found)
        assert list(found) == list(await filled_store.list_changes_of({HOUSE.id, OTHER.id}, 0, 5))


class TestTheSpan:
    async def test_is_empty_before_anything_happened(self, store: SqlStore) -> None:
        assert await store.feed_span() == (0, 0)

    async def test_ends_with_the_newest_and_begins_with_the_oldest_that_is_kept(
        self, store: SqlStore, clock: ManualClock
    ) -> None:
        await store.import_estate(SMALL, prune=False)
        await switch(store, 3)
        newest = await store.newest_cursor()
        assert await store.feed_span() == (1, newest)
        clock.at += 100
        await switch(store, 1)
        await store.prune_changes(clock.now() - 50)
        assert await store.feed_span() == (newest + 1, await store.newest_cursor())
