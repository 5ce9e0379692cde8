"""Members of a cluster tell each other what changed, so nobody waits for a timer."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from domogate.domain.ids import Id
from domogate.domain.shards import SHARDS
from domogate.ports import ClusterMember
from domogate.services.cluster import LeaseTimes
from support.cluster_setup import FakeLeases, TestCluster, loop_time

pytestmark = pytest.mark.usefixtures("virtual_time")


class TestTold:
    """Members that renew their leases rarely: everything that happens soon happens because a member was told."""

    @pytest.fixture
    async def cluster(self, leases: FakeLeases, virtual_time: None) -> AsyncIterator[TestCluster]:
        cluster = TestCluster(leases, LeaseTimes(lease=10_000, renewal=1_000))
        yield cluster
        await cluster.stop_all()
        assert cluster.devices.conflicts == []

    async def test_a_hand_over_waits_for_no_timer(self, cluster: TestCluster) -> None:
        members = [await cluster.start(name) for name in ("first", "second", "third")]
        await cluster.settle()
        await asyncio.sleep(1)
        start = loop_time()
        members[0].membership.begin_leave()
        for _ in range(100):
            await asyncio.sleep(0)
        assert sum(len(member.shards) for member in members[1:]) == SHARDS
        assert loop_time() == start

    async def test_shards_that_are_released_one_after_the_other_wait_at_most_one_pause(self, cluster: TestCluster) -> None:
        first, second = await cluster.start("first"), await cluster.start("second")
        await cluster.settle()
        await asyncio.sleep(1)
        first.driver.busy = {min(first.shards): 0.001}
        start = loop_time()
        await cluster.stop(first)
        while len(second.shards) < SHARDS:
            await asyncio.sleep(0.001)
        assert loop_time() - start < 0.06

    async def test_many_messages_do_not_cause_many_renewals(self, cluster: TestCluster) -> None:
        first = await cluster.start("first")
        before = len(first.link.calls)
        for _ in range(1_000):
            first.membership.wake()
            await asyncio.sleep(0.001)
        assert len(first.link.calls) - before <= 21

    async def test_the_others_learn_at_once_that_a_member_has_left(self, cluster: TestCluster) -> None:
        first, second = await cluster.start("first"), await cluster.start("second")
        await cluster.settle()
        seen: list[int] = []
        second.membership.on_members = lambda: seen.append(len(second.membership.members))
        await cluster.stop(first)
        await asyncio.sleep(0.1)
        assert seen[-1] == 1

    async def test_a_member_knows_its_id_before_the_others_can_read_it(
        self, cluster: TestCluster, leases: FakeLeases, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = await cluster.start("first")
        join = first.link.join

        async def look_and_join(member: ClusterMember, seconds: float) -> None:
            assert first.membership.known_as == member.id
            await join(member, seconds)

        monkeypatch.setattr(first.link, "join", look_and_join)
        former = first.membership.known_as
        leases.leases.clear()
        first.membership.wake()
        while first.membership.known_as == former or first.membership.member is None:
            await asyncio.sleep(0.01)

    async def test_no_shard_is_released_while_requests_for_it_may_arrive(
        self, cluster: TestCluster, leases: FakeLeases, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = await cluster.start("first")
        gone = asyncio.Event()
        monkeypatch.setattr(first.messenger, "wait_let_go", gone.wait)
        second = await cluster.start("second")
        await asyncio.sleep(1)
        assert second.shards == set()
        gone.set()
        await cluster.settle()
        assert second.shards == cluster.share(second)

    async def test_a_member_answers_for_itself_until_it_has_left(
        self, cluster: TestCluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = await cluster.start("first")
        known: list[bool] = []
        leave = first.link.leave

        async def look_and_leave(member_id: Id) -> None:
            known.append(first.membership.member is not None)
            await leave(member_id)

        monkeypatch.setattr(first.link, "leave", look_and_leave)
        await cluster.stop(first)
        assert (known, first.membership.member) == ([True], None)

    async def test_a_member_that_has_left_does_not_wait_for_itself(self, cluster: TestCluster) -> None:
        """Otherwise the answers to its last orders would be lost."""
        first, second = await cluster.start("first"), await cluster.start("second")
        await cluster.settle()
        assert second.membership.member is not None
        others = [second.membership.member.id]
        assert first.membership.list_others() == others
        await cluster.stop(first)
        assert first.membership.list_others() == others
