import asyncio

import pytest

from domogate.domain.ids import Id, new_id
from domogate.domain.shards import SHARDS, choose_member
from domogate.services.cluster import HolderWatch, membership
from support.cluster_setup import FakeLeases, LeaseLink, TestCluster, loop_time

pytestmark = pytest.mark.usefixtures("virtual_time")

SHARD = 5


@pytest.fixture
async def cluster(virtual_time: None) -> TestCluster:
    cluster = TestCluster(FakeLeases())
    await cluster.start("first")
    await cluster.start("second")
    await cluster.settle()
    return cluster


@pytest.fixture
def link(cluster: TestCluster) -> LeaseLink:
    return LeaseLink(cluster.leases)


@pytest.fixture
def watch(link: LeaseLink) -> HolderWatch:
    return HolderWatch(link, monotonic=loop_time)


async def wait_until(watch: HolderWatch, moving: bool) -> float:
    """Ask as the fabric does. Return the seconds until the answer."""
    start = loop_time()
    while await watch.is_moving(SHARD) is not moving:
        assert loop_time() < start + 20
        await asyncio.sleep(0.1)
    return loop_time() - start


def find_id_that_takes(shard: int, cluster: TestCluster) -> Id:
    """The id of a new member that should hold the shard."""
    ids = [one.membership.member.id for one in cluster.members if one.membership.member is not None]
    while choose_member(shard, [*ids, taker := new_id()]) != taker:
        pass
    return taker


class TestAHolderThatDoesNotAnswer:
    async def test_and_lives_is_waited_for_until_it_renews(self, cluster: TestCluster, watch: HolderWatch) -> None:
        assert 1 < await wait_until(watch, False) < 2.5
        assert await wait_until(watch, False) < 0.2, "the next question needs not wait"
        await asyncio.sleep(3)
        assert await watch.is_moving(SHARD), "later it may have died"

    async def test_is_offline_at_once_if_no_member_gets_messages(self, cluster: TestCluster, watch: HolderWatch) -> None:
        cluster.connect(*cluster.members, is_cut=True)
        await asyncio.sleep(1.5)  # Each member has told the database the state of its connection.
        assert await wait_until(watch, False) == 0

    async def test_and_alone_gets_no_messages_is_waited_for_until_the_next_holder(
        self, cluster: TestCluster, watch: HolderWatch
    ) -> None:
        holder, other = sorted(cluster.members, key=lambda member: SHARD not in member.shards)
        cluster.connect(holder, is_cut=True)
        begun = loop_time()
        while SHARD not in other.shards:
            assert await watch.is_moving(SHARD)
            await asyncio.sleep(0.1)
        assert loop_time() - begun < 5

    async def test_and_died_is_waited_for_until_the_next_holder(self, cluster: TestCluster, watch: HolderWatch) -> None:
        holder, other = sorted(cluster.members, key=lambda member: SHARD not in member.shards)
        cluster.kill(holder)
        while SHARD not in other.shards:
            assert await watch.is_moving(SHARD)
            await asyncio.sleep(0.1)

    async def test_and_leaves_is_waited_for(self, cluster: TestCluster, watch: HolderWatch) -> None:
        holder, other = sorted(cluster.members, key=lambda member: SHARD not in member.shards)
        holder.driver.busy = {SHARD: 5.0}
        holder.membership.begin_leave()
        while SHARD not in other.shards:
            assert await watch.is_moving(SHARD)
            await asyncio.sleep(0.1)

    async def test_and_should_not_hold_the_shard_is_waited_for(
        self, cluster: TestCluster, watch: HolderWatch, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        holder = next(member for member in cluster.members if SHARD in member.shards)
        holder.driver.busy = {SHARD: 8.0}
        taker = find_id_that_takes(SHARD, cluster)
        monkeypatch.setattr(membership, "new_id", lambda: taker)
        await cluster.start("taker")
        assert SHARD not in cluster.share(holder)
        for _ in range(30):
            assert await watch.is_moving(SHARD)
            await asyncio.sleep(0.1)


class TestANewHolder:
    async def test_gets_time_to_receive_requests(self, cluster: TestCluster, watch: HolderWatch) -> None:
        """It renews its lease at once several times, because other members wake it."""
        holder, other = sorted(cluster.members, key=lambda member: SHARD not in member.shards)
        await wait_until(watch, False)
        holder.membership.begin_leave()
        while SHARD not in other.shards:
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.1)  # The holders that the watch has read are at most this old.
        for _ in range(5):
            other.membership.wake()
            assert await watch.is_moving(SHARD)


class TestTheDatabase:
    async def test_is_asked_once_for_many_requests(self, watch: HolderWatch, link: LeaseLink) -> None:
        await asyncio.gather(*(watch.is_moving(shard) for shard in range(SHARDS)))
        assert link.calls == ["read_map"]

    async def test_that_does_not_answer_means_that_no_shard_moves(self, watch: HolderWatch, link: LeaseLink) -> None:
        link.is_cut = True
        assert not await watch.is_moving(SHARD)
