"""Members of a cluster on virtual time."""

import asyncio
import random

import pytest

from domogate.domain.shards import SHARDS
from support.cluster_setup import FakeLeases, TestCluster

pytestmark = pytest.mark.usefixtures("virtual_time")


class TestJoining:
    async def test_the_first_member_holds_everything_when_it_has_started(self, cluster: TestCluster) -> None:
        first = await cluster.start("first")
        assert len(first.shards) == SHARDS
        assert cluster.is_settled
        assert first.messenger.held == first.shards

    async def test_a_second_member_takes_only_its_share_within_a_second(self, cluster: TestCluster) -> None:
        first = await cluster.start("first")
        kept_before = dict(first.held.epochs)
        second = await cluster.start("second")
        assert await cluster.settle() < 1
        assert second.shards == cluster.share(second)
        assert {shard: kept_before[shard] for shard in first.shards} == first.held.epochs, "the others were not touched"
        assert first.driver.dropped == []
        assert first.messenger.held == first.shards

    async def test_the_clocks_of_all_members_show_the_time_of_the_database(
        self, cluster: TestCluster, leases: FakeLeases
    ) -> None:
        members = [await cluster.start(name) for name in ("first", "second")]
        assert [member.clock.now() for member in members] == pytest.approx([await leases.read_time()] * 2)

    async def test_without_messages_shards_move_at_the_next_renewals(self, cluster: TestCluster) -> None:
        for name in ("first", "second"):
            (await cluster.start(name)).messenger.is_cut = True
        assert await cluster.settle() < 3.5

    async def test_a_running_order_ends_before_its_shard_moves(self, cluster: TestCluster, leases: FakeLeases) -> None:
        first = await cluster.start("first")
        first.driver.busy = dict.fromkeys(range(0, SHARDS, 2), 4.0)
        second = await cluster.start("second")
        await asyncio.sleep(1)
        assert second.shards == {shard for shard in cluster.share(second) if shard % 2}
        await asyncio.sleep(4)
        assert second.shards == cluster.share(second)

    async def test_no_member_joins_while_the_database_does_not_answer(self, cluster: TestCluster, leases: FakeLeases) -> None:
        first = await cluster.start("first")
        first.link.is_cut = True
        second = await cluster.start("second")
        await asyncio.sleep(20)
        assert first.shards == set()
        assert second.shards == set(range(SHARDS))
        first.link.is_cut = False
        await cluster.settle()
        assert first.shards == cluster.share(first)


class TestLeaving:
    async def test_the_others_drive_within_a_second(self, cluster: TestCluster) -> None:
        members = [await cluster.start(name) for name in ("first", "second", "third")]
        await cluster.settle()
        leaving = members[0]
        leaving.membership.begin_leave()
        remaining = members[1:]
        start = asyncio.get_running_loop().time()
        while sum(len(member.shards) for member in remaining) < SHARDS:
            await asyncio.sleep(0.01)
        assert asyncio.get_running_loop().time() - start < 1
        await cluster.stop(leaving)

    async def test_a_member_has_a_successor_if_another_member_stays(self, cluster: TestCluster) -> None:
        first = await cluster.start("first")
        found = [first.membership.has_successor]
        second = await cluster.start("second")
        await cluster.settle()
        found += [first.membership.has_successor, second.membership.has_successor]
        first.membership.begin_leave()
        await asyncio.sleep(2)
        found += [first.membership.has_successor, second.membership.has_successor]
        assert found == [False, True, True, True, False]
        await cluster.stop(first)

    async def test_shards_without_orders_do_not_wait_for_busy_shards(self, cluster: TestCluster) -> None:
        first, second = await cluster.start("first"), await cluster.start("second")
        await cluster.settle()
        busy = min(first.shards)
        first.driver.busy = {busy: 8.0}
        first.membership.begin_leave()
        await asyncio.sleep(1)
        assert second.shards == set(range(SHARDS)) - {busy}
        assert first.held.is_valid, "the lease is renewed until the last order has ended"
        await cluster.stop(first)
        await asyncio.sleep(1)
        assert second.shards == set(range(SHARDS))

    async def test_a_member_that_cannot_reach_the_database_stops_too(self, cluster: TestCluster) -> None:
        first = await cluster.start("first")
        first.link.is_cut = True
        async with asyncio.timeout(6):
            await cluster.stop(first)
        assert cluster.devices.driver_of == {}


class TestDying:
    async def test_the_others_drive_within_ten_seconds_after_a_crash(self, cluster: TestCluster) -> None:
        first = await cluster.start("first")
        await cluster.start("second")
        await cluster.settle()
        cluster.kill(first)
        assert 4 < await cluster.settle() < 8

    async def test_a_member_that_cannot_renew_stops_before_its_lease_ends(
        self, cluster: TestCluster, leases: FakeLeases
    ) -> None:
        first = await cluster.start("first")
        first.link.is_cut = True
        await asyncio.sleep(4.5)
        assert len(first.driver.dropped) == 0
        await asyncio.sleep(0.6)
        assert len(first.driver.dropped) == SHARDS
        assert all(until > asyncio.get_running_loop().time() for _, until, _, _ in leases.leases.values())

    async def test_it_stops_even_if_the_timers_of_the_event_loop_fire_early(
        self, cluster: TestCluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        loop = asyncio.get_running_loop()
        call_later = loop.call_later
        monkeypatch.setattr(loop, "call_later", lambda delay, *call, **more: call_later(max(0, delay - 0.005), *call, **more))
        first = await cluster.start("first")
        first.link.is_cut = True
        await asyncio.sleep(5.1)
        assert len(first.driver.dropped) == SHARDS
        assert first.messenger.held == set()

    async def test_it_drives_again_when_the_database_answers(self, cluster: TestCluster) -> None:
        first = await cluster.start("first")
        first.link.is_cut = True
        await asyncio.sleep(12)
        first.link.is_cut = False
        assert await cluster.settle() < 2
        assert min(first.held.epochs.values()) == 2

    async def test_a_short_interruption_changes_nothing(self, cluster: TestCluster) -> None:
        first = await cluster.start("first")
        first.link.is_cut = True
        await asyncio.sleep(4)
        first.link.is_cut = False
        await asyncio.sleep(3)
        assert first.driver.dropped == []
        assert set(first.held.epochs.values()) == {1}

    async def test_a_shard_whose_acquisition_was_not_answered_is_not_lost(self, cluster: TestCluster) -> None:
        first = await cluster.start("first")
        second = await cluster.start("second")
        second.link.loses_answers = True
        await asyncio.sleep(4)
        assert second.shards == set()
        third = await cluster.start("third")
        await asyncio.sleep(3)
        second.link.loses_answers = False
        await cluster.settle()
        assert third.shards == cluster.share(third)
        assert first.shards | second.shards | third.shards == set(range(SHARDS))


class TestWithoutMessages:
    @pytest.mark.slow
    async def test_one_member_gives_its_shards_to_the_others_until_it_is_connected_again(self, cluster: TestCluster) -> None:
        first, second, third = [await cluster.start(name) for name in ("first", "second", "third")]
        await cluster.settle()
        cluster.connect(first, is_cut=True)
        await asyncio.sleep(2.9)
        assert first.shards == cluster.share(first), "the connection may come back"
        await asyncio.sleep(1.3)  # After 3 s the shards are released, and one renewal later the others have them.
        assert first.shards == set()
        assert first.membership.is_cut_off
        assert not second.membership.is_cut_off
        assert second.shards | third.shards == set(range(SHARDS))
        assert first.driver.dropped == [], "running orders end first"
        cluster.connect(first, is_cut=False)
        assert await cluster.settle() < 2
        assert not first.membership.is_cut_off

    async def test_nobody_gives_shards_away_if_nobody_is_connected(self, cluster: TestCluster) -> None:
        members = [await cluster.start(name) for name in ("first", "second", "third")]
        await cluster.settle()
        before = [dict(member.held.epochs) for member in members]
        for back in (False, True):
            for member in members:
                cluster.connect(member, is_cut=not back)
                await asyncio.sleep(0.5)  # They do not notice it at the same time, but within one second.
            await asyncio.sleep(30)
            assert not any(member.membership.is_cut_off for member in members)
        assert [dict(member.held.epochs) for member in members] == before

    async def test_a_new_member_takes_no_shards_before_it_is_connected(self, cluster: TestCluster) -> None:
        first = await cluster.start("first")
        second = await cluster.start("second", is_cut=True)
        await asyncio.sleep(10)
        assert len(first.shards) == SHARDS
        assert set(first.held.epochs.values()) == {1}
        assert second.membership.is_cut_off
        second.messenger.is_cut = False
        await cluster.settle()

    async def test_the_first_member_drives_everything_although_it_was_never_connected(self, cluster: TestCluster) -> None:
        first = await cluster.start("first", is_cut=True)
        assert len(first.shards) == SHARDS
        assert not first.membership.is_cut_off

    async def test_the_last_member_drives_everything_although_it_is_cut_off(self, cluster: TestCluster) -> None:
        first, second = await cluster.start("first"), await cluster.start("second")
        await cluster.settle()
        first.messenger.is_cut = True
        await asyncio.sleep(8)
        assert first.membership.is_cut_off
        cluster.kill(second)
        await asyncio.sleep(8)
        assert first.shards == set(range(SHARDS))
        assert not first.membership.is_cut_off


class TestChaos:
    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(3))
    async def test_no_shard_is_driven_twice_and_all_are_driven_in_the_end(self, cluster: TestCluster, seed: int) -> None:
        chance = random.Random(seed)
        for number in range(3):
            await cluster.start(f"start {number}")
        for step in range(25):
            await asyncio.sleep(chance.uniform(0, 4))
            member = chance.choice(cluster.members)
            match chance.randrange(6):
                case 0 if len(cluster.members) > 1:
                    cluster.kill(member)
                case 1 if len(cluster.members) > 1:
                    await cluster.stop(member)
                case 2 if len(cluster.members) < 5:
                    await cluster.start(f"step {step}")
                case 3:
                    member.link.is_cut = not member.link.is_cut
                case 4:
                    member.messenger.is_cut = not member.messenger.is_cut
                case _:
                    member.driver.busy = dict.fromkeys(range(chance.randrange(SHARDS)), chance.uniform(0, 8))
        for member in cluster.members:
            member.link.is_cut = member.messenger.is_cut = False
        await cluster.settle(60)
        assert cluster.devices.conflicts == []
