"""Leases on a real PostgreSQL server."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from domogate.domain.ids import new_id
from domogate.domain.shards import SHARDS
from domogate.ports import ClusterMember, LeaseEnded, OtherCluster
from domogate.stores.leases import PostgresLeases, open_leases
from domogate.stores.opening import open_database
from support.postgres import PostgresServer

pytestmark = pytest.mark.slow

LONG, SHORT = 60.0, 0.2


def a_member(name: str = "one", cluster: str = "north") -> ClusterMember:
    return ClusterMember(new_id(), name, f"https://{name}.example", "1.0", 1000.0, cluster)


OpenLeases = Callable[[], Awaitable[PostgresLeases]]


@pytest.fixture
async def open_another(postgres_url: str) -> AsyncIterator[OpenLeases]:
    async with AsyncExitStack() as stack:

        async def open_one() -> PostgresLeases:
            opened = open_leases(postgres_url)
            stack.push_async_callback(opened.stop)
            return opened

        yield open_one


@pytest.fixture
async def leases(open_another: OpenLeases) -> PostgresLeases:
    return await open_another()


async def joined(leases: PostgresLeases, name: str = "one", seconds: float = LONG) -> ClusterMember:
    member = a_member(name)
    await leases.join(member, seconds)
    return member


class TestMembers:
    async def test_a_renewal_shows_all_living_members_and_what_they_hold(self, leases: PostgresLeases) -> None:
        one, two = await joined(leases, "one"), await joined(leases, "two")
        await leases.acquire(one.id, [1, 2, 3])
        view = await leases.renew(two.id, LONG)
        assert {live.member: live.shards for live in view.members} == {one: 3, two: 0}
        assert all(LONG - 10 < live.lease_left <= LONG for live in view.members)
        assert view.held == {}
        assert (await leases.renew(one.id, LONG)).held == {1: 1, 2: 1, 3: 1}

    async def test_a_lease_that_ended_is_never_renewed(self, leases: PostgresLeases) -> None:
        member, other = await joined(leases, seconds=SHORT), await joined(leases, "two")
        await asyncio.sleep(SHORT + 0.05)
        with pytest.raises(LeaseEnded):
            await leases.renew(member.id, LONG)
        assert [live.member for live in (await leases.renew(other.id, LONG)).members] == [other]

    async def test_members_that_died_long_ago_are_removed(self, leases: PostgresLeases, postgres_url: str) -> None:
        dead = await joined(leases, "dead", seconds=-2 * 3600)
        await joined(leases)
        with psycopg.connect(postgres_url.replace("+psycopg", "")) as connection:
            found = connection.execute("SELECT id FROM leases").fetchall()
        assert dead.id not in {member_id for (member_id,) in found}
        assert len(found) == 1


class TestClustersOnOneDatabase:
    async def test_a_gateway_of_another_cluster_does_not_join(self, leases: PostgresLeases) -> None:
        member = await joined(leases)
        with pytest.raises(OtherCluster, match="the gateways one run on this database as the cluster 'north', but cluster is"):
            await leases.join(a_member("two", "south"), LONG)
        assert [live.member for live in (await leases.renew(member.id, LONG)).members] == [member]
        await leases.leave(member.id)
        await leases.join(a_member("two", "south"), LONG)

    async def test_of_two_that_join_at_the_same_time_at_most_one_stays(
        self, leases: PostgresLeases, open_another: OpenLeases
    ) -> None:
        other = await open_another()
        for _ in range(20):
            members = a_member("one", "north"), a_member("two", "south")
            results = await asyncio.gather(leases.join(members[0], LONG), other.join(members[1], LONG), return_exceptions=True)
            assert any(isinstance(result, OtherCluster) for result in results)
            for member in members:
                await leases.leave(member.id)


class TestShards:
    async def test_each_shard_is_given_to_one_member(self, leases: PostgresLeases) -> None:
        one, two = await joined(leases), await joined(leases, "two")
        assert await leases.acquire(one.id, range(SHARDS // 2)) == dict.fromkeys(range(SHARDS // 2), 1)
        taken = await leases.acquire(two.id, range(SHARDS))
        assert taken == dict.fromkeys(range(SHARDS // 2, SHARDS), 1)

    async def test_two_members_that_ask_at_once_share_nothing(self, open_another: OpenLeases) -> None:
        stores = [await open_another() for _ in range(4)]
        members = [await joined(store, str(number)) for number, store in enumerate(stores)]
        for round_ in range(5):
            taken = await asyncio.gather(
                *(store.acquire(member.id, range(SHARDS)) for store, member in zip(stores, members, strict=True))
            )
            assert sum(map(len, taken)) == len({shard for some in taken for shard in some}), round_
            rest = await asyncio.gather(
                *(
                    store.acquire(member.id, set(range(SHARDS)) - set().union(*taken))
                    for store, member in zip(stores, members, strict=True)
                )
            )
            assert sorted(shard for some in (*taken, *rest) for shard in some) == list(range(SHARDS))
            for store, member in zip(stores, members, strict=True):
                await store.release(member.id, range(SHARDS))

    async def test_shards_of_a_dead_member_are_free_and_their_epoch_grows(self, leases: PostgresLeases) -> None:
        dead, living = await joined(leases, "dead"), await joined(leases)
        await leases.acquire(dead.id, [7, 8])
        assert await leases.acquire(living.id, [7]) == {}
        await leases.renew(dead.id, SHORT)
        await asyncio.sleep(SHORT + 0.05)
        assert await leases.acquire(living.id, [7]) == {7: 2}
        assert await leases.acquire(dead.id, [8, 9]) == {}, "its own lease has ended"

    async def test_a_member_can_take_a_shard_again_whose_first_answer_was_lost(self, leases: PostgresLeases) -> None:
        member = await joined(leases)
        assert await leases.acquire(member.id, [5]) == {5: 1}
        assert await leases.acquire(member.id, [5]) == {5: 2}

    async def test_only_the_holder_releases_a_shard_and_its_epoch_grows(self, leases: PostgresLeases) -> None:
        one, two = await joined(leases), await joined(leases, "two")
        await leases.acquire(one.id, [5, 6])
        await leases.release(two.id, [5])
        assert await leases.acquire(two.id, [5]) == {}
        await leases.release(one.id, [5])
        assert await leases.acquire(two.id, [5, 6]) == {5: 3}

    async def test_a_member_that_leaves_gives_everything_back(self, leases: PostgresLeases) -> None:
        one, two = await joined(leases), await joined(leases, "two")
        await leases.acquire(one.id, range(SHARDS))
        await leases.leave(one.id)
        assert len(await leases.acquire(two.id, range(SHARDS))) == SHARDS
        assert [live.member for live in (await leases.renew(two.id, LONG)).members] == [two]

    async def test_a_shard_that_is_being_written_is_skipped_and_not_waited_for(
        self, leases: PostgresLeases, postgres_url: str
    ) -> None:
        member = await joined(leases)
        with psycopg.connect(postgres_url.replace("+psycopg", "")) as writing:
            writing.execute("SELECT epoch FROM shards WHERE shard = 3 FOR SHARE")
            assert await leases.acquire(member.id, [3, 4]) == {4: 1}
        assert await leases.acquire(member.id, [3]) == {3: 1}


class TestMap:
    async def test_it_shows_the_holder_of_each_shard(self, leases: PostgresLeases) -> None:
        one, two = await joined(leases), await joined(leases, "two")
        await leases.acquire(one.id, [3, 4])
        await leases.acquire(two.id, [5])
        await leases.release(one.id, [4])
        shown = await leases.read_map()
        assert shown.holders == {3: one.id, 5: two.id}
        assert [live.member for live in shown.members] == sorted([one, two], key=lambda member: member.id)


class TestConnection:
    async def test_leases_do_not_wait_for_a_long_write(self, leases: PostgresLeases, postgres_url: str) -> None:
        member = await joined(leases)
        database = open_database(postgres_url)
        try:
            with database.writing.begin() as connection:
                database.lock(connection)
                connection.execute(text("LOCK TABLE plants IN EXCLUSIVE MODE"))
                assert await leases.acquire(member.id, [1]) == {1: 1}
                await leases.renew(member.id, LONG)
        finally:
            database.close()

    async def test_a_lost_connection_is_replaced(self, leases: PostgresLeases, postgres: PostgresServer) -> None:
        member = await joined(leases)
        postgres.disconnect_all()
        with pytest.raises(DBAPIError):
            await leases.renew(member.id, LONG)
        await leases.renew(member.id, LONG)


class TestTheBeginningOfTheCluster:
    async def test_is_the_same_for_all_gateways_until_the_last_has_stopped(
        self, leases: PostgresLeases, postgres_url: str
    ) -> None:
        def let_pass(seconds: float) -> None:
            with psycopg.connect(postgres_url.replace("+psycopg", "")) as connection:
                connection.execute("UPDATE clock SET seen_at = seen_at - %s", (seconds,))

        first = await leases.find_beginning()
        assert abs(first - await leases.read_time()) < 60
        assert await leases.find_beginning() == first, "a second gateway that starts together with the first"
        one = await joined(leases, "one")
        let_pass(3600)
        assert await leases.find_beginning() == pytest.approx(first - 3600)
        await leases.leave(one.id)
        assert await leases.find_beginning() >= first
