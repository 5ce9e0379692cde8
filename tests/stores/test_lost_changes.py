"""A gateway finds that changes which it has not read yet are not stored any more."""

import asyncio

import pytest
from sqlalchemy import text

from domogate.domain.events import ChangesLost, UserChanged
from domogate.stores.opening import open_database
from support.clocks import ManualClock
from support.stores import ANNA, BRUNO, CARLA, OpenStore, record_changes

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("reads_first", [True, False], ids=["it reads first", "it writes first"])
async def test_a_gateway_that_fell_behind_is_told_so_and_then_goes_on(
    open_store: OpenStore, postgres_url: str, clock: ManualClock, reads_first: bool
) -> None:
    busy = await open_store(postgres_url, member=True)
    behind = await open_store(postgres_url, member=True, poll=3600.0)
    recorded = record_changes(behind)
    for user in (ANNA, CARLA):
        await busy.save_user(user)
    clock.at += 1
    await busy.prune_changes(clock.at)
    if reads_first:
        behind.poll_now()
        async with asyncio.timeout(60):
            while not recorded.changes:
                await asyncio.sleep(0.005)
        assert [type(event) for event in recorded.events] == [ChangesLost]
    await behind.save_user(BRUNO)
    await behind.save_user(CARLA)
    assert recorded.events == [ChangesLost(), UserChanged(user_id=BRUNO.id), UserChanged(user_id=CARLA.id)]
    assert recorded.cursors == sorted(recorded.cursors)
    assert behind.knowledge_age() < 3600


async def test_a_gateway_that_writes_to_an_older_copy_of_the_database_is_told_so(
    open_store: OpenStore, postgres_url: str
) -> None:
    store = await open_store(postgres_url, member=True, poll=3600.0)
    recorded = record_changes(store)
    await store.save_user(ANNA)
    # As on a standby that did not get the last transactions before it became the server.
    database = open_database(postgres_url)
    with database.writing.begin() as connection:
        connection.execute(text("DELETE FROM changes"))
        connection.execute(text("UPDATE feed SET cursor_offset = cursor_offset - 1000"))
    database.close()
    await store.save_user(BRUNO)
    assert recorded.events == [UserChanged(user_id=ANNA.id), ChangesLost(), UserChanged(user_id=BRUNO.id)]
