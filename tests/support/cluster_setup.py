"""Members of a cluster in one process: leases in memory, on the time of the event loop, and drivers that watch each other."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence

import msgspec

from domogate.domain.ids import Id
from domogate.domain.shards import SHARDS, share_of
from domogate.ports import ClusterMember, ClusterView, LeaseEnded, LeaseStore, LiveMember, MessageLink, ShardMap
from domogate.services.cluster import ClusterClock, HeldShards, LeaseTimes, Membership
from support.clocks import NOON, ManualClock


def loop_time() -> float:
    return asyncio.get_running_loop().time()


class FakeLeases:
    """Implements LeaseStore, for all members."""

    def __init__(self) -> None:
        self.leases: dict[Id, tuple[ClusterMember, float, bool, MessageLink]] = {}
        self.holder: dict[int, Id | None] = dict.fromkeys(range(SHARDS))
        self.epoch: dict[int, int] = dict.fromkeys(range(SHARDS), 0)

    def _is_living(self, member_id: Id | None) -> bool:
        return member_id in self.leases and self.leases[member_id][1] > loop_time()

    async def join(self, member: ClusterMember, seconds: float) -> None:
        self.leases[member.id] = (member, loop_time() + seconds, False, MessageLink.CONNECTED)

    async def renew(
        self, member_id: Id, seconds: float, *, is_leaving: bool = False, link: MessageLink = MessageLink.CONNECTED
    ) -> ClusterView:
        if not self._is_living(member_id):
            raise LeaseEnded
        self.leases[member_id] = (self.leases[member_id][0], loop_time() + seconds, is_leaving, link)
        return ClusterView(
            (await self.read_map()).members,
            {shard: self.epoch[shard] for shard, holder in self.holder.items() if holder == member_id},
            await self.read_time(),
        )

    async def acquire(self, member_id: Id, shards: Collection[int]) -> Mapping[int, int]:
        if not self._is_living(member_id):
            return {}
        free = [shard for shard in shards if self.holder[shard] == member_id or not self._is_living(self.holder[shard])]
        for shard in free:
            self.holder[shard] = member_id
            self.epoch[shard] += 1
        return {shard: self.epoch[shard] for shard in free}

    async def release(self, member_id: Id, shards: Collection[int]) -> None:
        for shard in shards:
            if self.holder[shard] == member_id:
                self.holder[shard] = None
                self.epoch[shard] += 1

    async def read_map(self) -> ShardMap:
        living = tuple(
            LiveMember(member, until - loop_time(), is_leaving=leaving, link=link)
            for member, until, leaving, link in self.leases.values()
            if self._is_living(member.id)
        )
        return ShardMap(living, {shard: holder for shard, holder in self.holder.items() if holder is not None})

    async def read_time(self) -> float:
        return NOON + loop_time()

    async def find_beginning(self) -> float:
        return NOON

    async def leave(self, member_id: Id) -> None:
        await self.release(member_id, range(SHARDS))
        self.leases.pop(member_id, None)


class LeaseLink:
    """The connection of one member to the leases. It can be cut, and an answer can be lost."""

    def __init__(self, leases: LeaseStore) -> None:
        self._leases = leases
        self.is_cut = False
        self.loses_answers = False
        self.calls: list[str] = []

    async def join(self, member: ClusterMember, seconds: float) -> None:
        self._check("join")
        await self._leases.join(member, seconds)

    async def renew(
        self, member_id: Id, seconds: float, *, is_leaving: bool = False, link: MessageLink = MessageLink.CONNECTED
    ) -> ClusterView:
        self._check("renew")
        return await self._leases.renew(member_id, seconds, is_leaving=is_leaving, link=link)

    async def acquire(self, member_id: Id, shards: Collection[int]) -> Mapping[int, int]:
        self._check("acquire")
        acquired = await self._leases.acquire(member_id, shards)
        self._check_answer()
        return acquired

    async def release(self, member_id: Id, shards: Collection[int]) -> None:
        self._check("release")
        await self._leases.release(member_id, shards)

    async def read_map(self) -> ShardMap:
        self._check("read_map")
        return await self._leases.read_map()

    async def read_time(self) -> float:
        self._check("read_time")
        return await self._leases.read_time()

    async def find_beginning(self) -> float:
        self._check("find_beginning")
        return await self._leases.find_beginning()

    async def leave(self, member_id: Id) -> None:
        self._check("leave")
        await self._leases.leave(member_id)

    def _check(self, name: str) -> None:
        self.calls.append(name)
        if self.is_cut:
            raise ConnectionError("the connection is cut")

    def _check_answer(self) -> None:
        if self.loses_answers:
            raise ConnectionError("the answer was lost")


class Devices:
    """The devices of all shards. They note when two members drive the same shard."""

    def __init__(self) -> None:
        self.driver_of: dict[int, str] = {}
        self.conflicts: list[str] = []

    def drive(self, shard: int, name: str) -> None:
        other = self.driver_of.get(shard)
        if other is not None:
            self.conflicts.append(f"shard {shard}: {other} and {name}")
        self.driver_of[shard] = name

    def stop(self, shard: int, name: str) -> None:
        if self.driver_of.get(shard) == name:
            del self.driver_of[shard]


class FakeShardDriver:
    """Implements ShardDriver. `order_seconds`: how long the running order of each busy shard takes."""

    def __init__(self, name: str, devices: Devices) -> None:
        self._name = name
        self._devices = devices
        self.busy: dict[int, float] = {}
        self.dropped: list[int] = []

    def start_shards(self, shards: Collection[int]) -> None:
        for shard in shards:
            self._devices.drive(shard, self._name)

    async def hand_over(self, shards: Collection[int]) -> AsyncIterator[Sequence[int]]:
        for busy in (False, True):
            ended = [shard for shard in shards if (shard in self.busy) is busy]
            if busy and ended:
                await asyncio.sleep(max(self.busy[shard] for shard in ended))
            for shard in ended:
                self._devices.stop(shard, self._name)
            if ended:
                yield ended

    def drop_shards(self, shards: Collection[int]) -> None:
        self.dropped += shards
        for shard in shards:
            self._devices.stop(shard, self._name)


class Messenger:
    """Implements ShardMessenger. Wakes all members unless it is cut."""

    def __init__(self) -> None:
        self.members: list[Membership] = []
        self.is_cut = False
        self.held: set[int] = set()

    @property
    def is_connected(self) -> bool:
        return not self.is_cut

    def hold(self, shards: Collection[int]) -> None:
        self.held.update(shards)

    def let_go(self, shards: Collection[int]) -> None:
        self.held.difference_update(shards)

    async def wait_let_go(self) -> None:
        pass

    def publish_shards(self) -> None:
        if not self.is_cut:
            for member in self.members:
                member.wake()


class TestMember(msgspec.Struct):
    """One gateway of the cluster."""

    __test__ = False

    name: str
    link: LeaseLink
    held: HeldShards
    driver: FakeShardDriver
    messenger: Messenger
    membership: Membership
    clock: ClusterClock

    @property
    def shards(self) -> set[int]:
        return set(self.held.epochs)


class TestCluster:
    """Members on the same leases."""

    __test__ = False

    def __init__(self, leases: LeaseStore, times: LeaseTimes | None = None) -> None:
        self.leases = leases
        self.devices = Devices()
        self.members: list[TestMember] = []
        self._waking: list[Membership] = []
        self._times = times

    async def start(self, name: str, *, is_cut: bool = False) -> TestMember:
        """With `is_cut`, the new member gets no messages."""
        link, held, driver, messenger = (
            LeaseLink(self.leases),
            HeldShards(loop_time),
            FakeShardDriver(name, self.devices),
            Messenger(),
        )
        # The clock of the machine is wrong by some years.
        clock = ClusterClock(ManualClock(), loop_time)
        membership = Membership(
            link, held, driver, messenger, clock, name=name, url=f"https://{name}.example", version="1.0",
            cluster="north", times=self._times, monotonic=loop_time,
        )  # fmt: skip
        messenger.members, messenger.is_cut = self._waking, is_cut
        self._waking.append(membership)
        member = TestMember(name, link, held, driver, messenger, membership, clock)
        self.members.append(member)
        await membership.start()
        return member

    async def stop(self, member: TestMember) -> None:
        await member.membership.stop()
        self._forget(member)

    def kill(self, member: TestMember) -> None:
        """The process ends: it drives nothing any more, and its lease is not renewed."""
        member.link.is_cut = True
        member.messenger.is_cut = True
        for shard in member.shards:
            self.devices.stop(shard, member.name)
        self._forget(member)

    def _forget(self, member: TestMember) -> None:
        self.members.remove(member)
        self._waking.remove(member.membership)

    async def stop_all(self) -> None:
        for member in tuple(self.members):
            await self.stop(member)

    def connect(self, *members: TestMember, is_cut: bool) -> None:
        """Cut these members off from messages, or connect them again. They notice it at once."""
        for member in members:
            member.messenger.is_cut = is_cut
            member.membership.wake()

    def share(self, member: TestMember) -> frozenset[int]:
        """The shards that the member should hold."""
        ids = [one.membership.member.id for one in self.members if one.membership.member is not None]
        return frozenset() if member.membership.member is None else share_of(member.membership.member.id, ids)

    @property
    def is_settled(self) -> bool:
        """Whether all shards are driven, each by the member that should hold it."""
        return len(self.devices.driver_of) == SHARDS and all(member.shards == self.share(member) for member in self.members)

    async def settle(self, seconds: float = 30.0) -> float:
        """Wait until all shards are driven. Return the number of seconds."""
        start = loop_time()
        while not self.is_settled:
            assert loop_time() < start + seconds, [len(member.shards) for member in self.members]
            await asyncio.sleep(0.01)
        return loop_time() - start
